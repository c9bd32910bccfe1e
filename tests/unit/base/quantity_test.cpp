// Values as k8s.io/apimachinery's resource.Quantity gives them with MilliValue() and Value().
#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace pinion {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct QuantityCase {
  const char* name;
  const char* text;
  std::int64_t milli;
  std::int64_t whole;
};

class Quantity : public testing::TestWithParam<QuantityCase> {};

TEST_P(Quantity, IsWhatKubernetesReads) {
  const auto milli = milli_quantity(GetParam().text);
  ASSERT_TRUE(milli) << milli.error().text;
  EXPECT_EQ(*milli, GetParam().milli);
  const auto whole = whole_quantity(GetParam().text);
  ASSERT_TRUE(whole) << whole.error().text;
  EXPECT_EQ(*whole, GetParam().whole);
}

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, Quantity,
    testing::Values(
        QuantityCase{"zero", "0", 0, 0}, QuantityCase{"zero_of_something", "0Gi", 0, 0},
        QuantityCase{"zero_with_huge_exponent", "0e999999999999999999999", 0, 0},
        QuantityCase{"one", "1", 1000, 1}, QuantityCase{"a_tenth", "0.1", 100, 1},
        QuantityCase{"milli", "100m", 100, 1}, QuantityCase{"milli_whole", "2000m", 2000, 2},
        QuantityCase{"milli_fraction", "0.5m", 1, 1}, QuantityCase{"micro", "1500u", 2, 1},
        QuantityCase{"nano_rounds_up", "100n", 1, 1}, QuantityCase{"nano_exact", "1000000n", 1, 1},
        QuantityCase{"just_above", "1000001n", 2, 1}, QuantityCase{"kilo", "3k", 3'000'000, 3000},
        QuantityCase{"mega", "1M", 1'000'000'000, 1'000'000},
        QuantityCase{"giga", "1G", 1'000'000'000'000, 1'000'000'000},
        QuantityCase{"tera", "1T", 1'000'000'000'000'000, 1'000'000'000'000},
        QuantityCase{"peta", "1P", 1'000'000'000'000'000'000, 1'000'000'000'000'000},
        QuantityCase{"kibi", "1Ki", 1'024'000, 1024},
        QuantityCase{"mebi", "64Mi", 67'108'864'000, 67'108'864},
        QuantityCase{"gibi_fraction", "1.5Gi", 1'610'612'736'000, 1'610'612'736},
        QuantityCase{"gibi_tenth_rounds_up", "0.1Gi", 107'374'182'400, 107'374'183},
        QuantityCase{"tebi", "1Ti", 1'099'511'627'776'000, 1'099'511'627'776},
        QuantityCase{"pebi", "1Pi", 1'125'899'906'842'624'000, 1'125'899'906'842'624},
        QuantityCase{"exponent", "1e3", 1'000'000, 1000},
        QuantityCase{"capital_exponent", "1E3", 1'000'000, 1000},
        QuantityCase{"plus_exponent", "12e+2", 1'200'000, 1200},
        QuantityCase{"minus_exponent", "1500e-3", 1500, 2}, QuantityCase{"tiny", "1e-400", 1, 1},
        QuantityCase{"tiny_beyond_integers", "1e-99999999999999999999", 1, 1},
        QuantityCase{"plus", "+1", 1000, 1}, QuantityCase{"minus", "-1", -1000, -1},
        QuantityCase{"minus_rounds_away_from_zero", "-0.0001", -1, -1},
        QuantityCase{"leading_zeros", "000000000000000000000000012", 12'000, 12},
        QuantityCase{"trailing_zeros", "1.500000000000000000000000000", 1500, 2},
        QuantityCase{"many_zeros_of_little", "10000000000000000000000n", 10'000'000'000'000'000,
                     10'000'000'000'000},
        QuantityCase{"point_at_the_end", "1.", 1000, 1}, QuantityCase{"point_first", ".5", 500, 1},
        QuantityCase{"milli_of_memory", "128974848000m", 128'974'848'000, 128'974'848}),
    [](const auto& one) { return one.param.name; });

TEST(Quantity, HoldsTheLargestIntegers) {
  EXPECT_EQ(whole_quantity("9223372036854775807").value(), kMost);
  EXPECT_EQ(whole_quantity("-9223372036854775807").value(), -kMost);
  EXPECT_EQ(milli_quantity("9223372036854775807m").value(), kMost);
  EXPECT_EQ(whole_quantity("7Ei").value(), std::int64_t{7} << 60);
  EXPECT_EQ(whole_quantity("9E").value(), 9'000'000'000'000'000'000);
}

struct Wrong {
  const char* name;
  std::string text;
  const char* says;
};

class WrongQuantity : public testing::TestWithParam<Wrong> {};

TEST_P(WrongQuantity, IsRefusedWithTheReason) {
  for (const auto parse : {milli_quantity, whole_quantity}) {
    const auto value = parse(GetParam().text);
    ASSERT_FALSE(value) << *value;
    EXPECT_EQ(value.error().code, Errc::kInvalid);
    EXPECT_THAT(value.error().text, testing::HasSubstr(GetParam().says));
    EXPECT_LT(value.error().text.size(), 120U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongQuantity,
    testing::Values(
        Wrong{"empty", "", "no digits"}, Wrong{"sign_only", "-", "no digits"},
        Wrong{"point_only", ".", "no digits"}, Wrong{"suffix_only", "Gi", "no digits"},
        Wrong{"two_points", "1.1.1", "no number"}, Wrong{"two_signs", "--1", "no digits"},
        Wrong{"sign_inside", "1+1", "no number"}, Wrong{"blank", "1 ", "no number"},
        Wrong{"blank_first", " 1", "no digits"}, Wrong{"unknown_suffix", "1mi", "no number"},
        Wrong{"kilo_is_small", "1K", "no number"}, Wrong{"half_a_suffix", "1i", "no number"},
        Wrong{"exponent_without_digits", "1e", "no number"},
        Wrong{"exponent_with_sign_only", "1e-", "no number"},
        Wrong{"exponent_and_suffix", "1e3k", "no number"},
        Wrong{"fraction_in_exponent", "1e1.5", "no number"},
        Wrong{"hexadecimal", "0x10", "no number"}, Wrong{"words", "a lot", "no digits"},
        Wrong{"above_64_bits", "9223372036854775808E", "too large"},
        Wrong{"exbibytes", "8000Ei", "too large"},
        Wrong{"huge_exponent", "1e99999999999", "too large"},
        Wrong{"digits", "1.2345678901234567891", "significant digits"},
        Wrong{"long_text", std::string(300, '1'), "too long"}),
    [](const auto& one) { return one.param.name; });

TEST(Quantity, OfBytesIsNotBelowZero) {
  EXPECT_EQ(byte_quantity("1.5Gi").value(), std::uint64_t{3} << 29);
  EXPECT_EQ(byte_quantity("0.1Ki").value(), 103U);
  EXPECT_EQ(byte_quantity("0").value(), 0U);
  for (const char* text : {"-1", "lots", "16Ei"}) EXPECT_FALSE(byte_quantity(text)) << text;
}

TEST(Quantity, OfAnApiServerIsCapped) {
  for (const char* text : {"1Ei", "9e18", "1e30", "99999999999999999999", "8000Ei"}) {
    EXPECT_EQ(capped_milli_quantity(text).value(), kMost) << text;
    EXPECT_EQ(capped_milli_quantity(std::string("-") + text).value(), -kMost) << text;
  }
  EXPECT_EQ(capped_whole_quantity("9223372036854775808").value(), kMost);
  EXPECT_EQ(capped_whole_quantity("1Ei").value(), std::int64_t{1} << 60);
  EXPECT_EQ(capped_milli_quantity("1.00000000000000000001").value(), 1001);
  EXPECT_EQ(capped_whole_quantity("12345678901.0000000001").value(), 12'345'678'902);
  EXPECT_FALSE(capped_milli_quantity("a lot"));
}

TEST(Quantity, TooLargeForThousandthsMayStillBeWhole) {
  EXPECT_FALSE(milli_quantity("9223372036854775807"));
  EXPECT_FALSE(milli_quantity("10P"));
  EXPECT_FALSE(whole_quantity("9223372036854775808"));
  EXPECT_EQ(whole_quantity("10P").value(), 10'000'000'000'000'000);
}

}  // namespace
}  // namespace pinion
