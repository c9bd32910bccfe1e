#include <array>
#include <charconv>
#include <limits>

#include "ctl/requests_file.h"

namespace pinion::ctl {
namespace {

using topology::Bytes;

struct Suffix {
  std::string_view text;
  Bytes factor;
};

constexpr std::array<Suffix, 13> kSuffixes{{{"", 1},
                                            {"k", 1000ULL},
                                            {"M", 1000'000ULL},
                                            {"G", 1000'000'000ULL},
                                            {"T", 1000'000'000'000ULL},
                                            {"P", 1000'000'000'000'000ULL},
                                            {"E", 1000'000'000'000'000'000ULL},
                                            {"Ki", 1ULL << 10},
                                            {"Mi", 1ULL << 20},
                                            {"Gi", 1ULL << 30},
                                            {"Ti", 1ULL << 40},
                                            {"Pi", 1ULL << 50},
                                            {"Ei", 1ULL << 60}}};
constexpr std::size_t kMaxDecimals = 9;
constexpr std::size_t kMaxQuantityShown = 64;

tl::unexpected<Error> not_a_quantity(std::string_view text) {
  return failure(Errc::kInvalid, "'" + std::string(text.substr(0, kMaxQuantityShown)) +
                                     "' is not a quantity of bytes (as 512Mi, 4Gi, 1.5Gi or 2G)");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the digits off the front.
std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

}  // namespace

Result<Bytes> parse_quantity(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole_digits = take_digits(rest);
  Bytes whole = 0;
  const auto [end, error] =
      std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  if (error != std::errc() || end != whole_digits.data() + whole_digits.size()) {
    return not_a_quantity(text);
  }
  std::string_view decimals;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    decimals = take_digits(rest);
    if (decimals.empty() || decimals.size() > kMaxDecimals) return not_a_quantity(text);
  }
  for (const Suffix& suffix : kSuffixes) {
    if (rest != suffix.text) continue;
    if (whole > std::numeric_limits<Bytes>::max() / suffix.factor) return not_a_quantity(text);
    Bytes bytes = whole * suffix.factor;
    // Digit by digit from the last: what is carried stays below the factor.
    Bytes part = 0;
    for (std::size_t i = decimals.size(); i-- > 0;) {
      const Bytes tenth = suffix.factor * static_cast<Bytes>(decimals[i] - '0') + part;
      part = tenth / 10 + (tenth % 10 != 0 ? 1 : 0);
    }
    if (bytes > std::numeric_limits<Bytes>::max() - part) return not_a_quantity(text);
    bytes += part;
    return bytes;
  }
  return not_a_quantity(text);
}

}  // namespace pinion::ctl
