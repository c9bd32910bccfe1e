#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace pinion {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kMaxDigits = 19;  // the most that always fit into 64 bits
constexpr std::size_t kMaxText = 256;
constexpr int kMaxExponent = 1'000'000;  // far beyond anything that is not 0, tiny or too large

enum class Beyond { kRefused, kCapped };  // of what does not fit

struct Scale {
  int ten = 0;  // times 10^ten
  int two = 0;  // times 2^two
};

struct Number {
  bool negative = false;
  std::uint64_t digits = 0;
  Scale scale;
};

struct Suffix {
  std::string_view text;
  Scale scale;
};

constexpr std::array kSuffixes{
    Suffix{"", {0, 0}},    Suffix{"n", {-9, 0}},  Suffix{"u", {-6, 0}},  Suffix{"m", {-3, 0}},
    Suffix{"k", {3, 0}},   Suffix{"M", {6, 0}},   Suffix{"G", {9, 0}},   Suffix{"T", {12, 0}},
    Suffix{"P", {15, 0}},  Suffix{"E", {18, 0}},  Suffix{"Ki", {0, 10}}, Suffix{"Mi", {0, 20}},
    Suffix{"Gi", {0, 30}}, Suffix{"Ti", {0, 40}}, Suffix{"Pi", {0, 50}}, Suffix{"Ei", {0, 60}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

tl::unexpected<Error> wrong(std::string_view text, const char* why) {
  return failure(Errc::kInvalid, "quantity " + quoted_value(text) + ": " + why);
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// Of "e3", "E+3", "e-3". An exponent that no integer holds is as good as kMaxExponent.
std::optional<Scale> exponent(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  int value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{}) value = kMaxExponent;
  value = std::min(value, kMaxExponent);
  return Scale{.ten = negative ? -value : value, .two = 0};
}

std::optional<Scale> suffix(std::string_view text) {
  for (const Suffix& one : kSuffixes) {
    if (one.text == text) return one.scale;
  }
  return exponent(text);
}

// The digits without zeros at either end; what the dropped ones stand for goes into `scale`.
std::string significant(std::string_view whole, std::string_view fraction, Scale& scale) {
  std::string digits(whole);
  digits += fraction;
  scale.ten -= static_cast<int>(fraction.size());
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++scale.ten;
  }
  return digits;
}

Result<Number> parse(std::string_view text, Beyond beyond) {
  if (text.size() > kMaxText) return wrong(text, "too long");
  Number number;
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    number.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole.empty() && fraction.empty()) return wrong(text, "no digits");
  const auto scale = suffix(rest);
  if (!scale) return wrong(text, "no number with a suffix as in 500m, 2Gi or 1e3");
  number.scale = *scale;
  const std::string digits = significant(whole, fraction, number.scale);
  const std::size_t kept = std::min(digits.size(), kMaxDigits);
  const bool cut = kept < digits.size();
  if (cut && beyond == Beyond::kRefused) return wrong(text, "more than 19 significant digits");
  std::from_chars(digits.data(), digits.data() + kept, number.digits);
  if (cut) ++number.digits;
  number.scale.ten += static_cast<int>(digits.size() - kept);
  return number;
}

// value * 10^power, rounded up; nothing when it is above `limit`.
std::optional<Wide> scaled(Wide value, int power, Wide limit) {
  bool rest = false;
  for (; power < 0 && value > 0; ++power) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  if (rest) ++value;
  for (; power > 0 && value > 0; --power) {
    if (value > limit / 10) return std::nullopt;
    value *= 10;
  }
  if (value > limit) return std::nullopt;
  return value;
}

Result<std::int64_t> quantity(std::string_view text, int extra_power, Beyond beyond) {
  const auto number = parse(text, beyond);
  if (!number) return failure(number.error());
  constexpr Wide limit = std::numeric_limits<std::int64_t>::max();
  const Wide unscaled = static_cast<Wide>(number->digits)
                        << static_cast<unsigned>(number->scale.two);
  const auto value = scaled(unscaled, number->scale.ten + extra_power, limit);
  if (!value && beyond == Beyond::kRefused) return wrong(text, "too large");
  const auto signed_value = static_cast<std::int64_t>(value.value_or(limit));
  return number->negative ? -signed_value : signed_value;
}

}  // namespace

Result<std::int64_t> milli_quantity(std::string_view text) {
  return quantity(text, 3, Beyond::kRefused);
}

Result<std::int64_t> whole_quantity(std::string_view text) {
  return quantity(text, 0, Beyond::kRefused);
}

Result<std::int64_t> capped_milli_quantity(std::string_view text) {
  return quantity(text, 3, Beyond::kCapped);
}

Result<std::int64_t> capped_whole_quantity(std::string_view text) {
  return quantity(text, 0, Beyond::kCapped);
}

Result<std::uint64_t> byte_quantity(std::string_view text) {
  const auto bytes = whole_quantity(text);
  if (!bytes) return failure(bytes.error());
  if (*bytes < 0) return wrong(text, "below zero");
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace pinion
