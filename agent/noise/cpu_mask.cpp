#include "agent/noise/cpu_mask.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/utf8.h"

namespace pinion::noise {
namespace {

using topology::CpuSet;

constexpr int kWordBits = 32;
constexpr int kDigitBits = 4;
constexpr std::size_t kWordDigits = 8;

std::optional<std::uint32_t> parse_word(std::string_view digits) {
  if (digits.empty() || digits.size() > kWordDigits) return std::nullopt;
  std::uint32_t value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value, 16);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

// False where a CPU is past what a set can hold.
bool add_word(CpuSet& cpus, std::uint32_t word, int first) {
  for (int bit = 0; bit < kWordBits; ++bit) {
    if ((word >> static_cast<unsigned>(bit) & 1U) == 0) continue;
    if (first + bit >= CpuSet::kCapacity) return false;
    cpus.add(first + bit);
  }
  return true;
}

std::uint32_t word_of(const CpuSet& cpus, int first) {
  std::uint32_t word = 0;
  for (int bit = 0; bit < kWordBits; ++bit) {
    if (cpus.contains(first + bit)) word |= std::uint32_t{1} << static_cast<unsigned>(bit);
  }
  return word;
}

// With all its digits unless it is the first one.
std::string digits_of(std::uint32_t word, bool first) {
  std::string digits;
  for (int shift = kWordBits - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const auto digit = word >> static_cast<unsigned>(shift) & 0xfU;
    if (first && digits.empty() && digit == 0 && shift > 0) continue;
    digits += "0123456789abcdef"[digit];
  }
  return digits;
}

}  // namespace

Result<CpuSet> parse_mask(std::string_view mask) {
  if (mask.ends_with('\n')) mask.remove_suffix(1);
  CpuSet cpus;
  std::string_view rest = mask;
  for (int first = 0;; first += kWordBits) {
    const auto comma = rest.rfind(',');
    const auto word = parse_word(comma == std::string_view::npos ? rest : rest.substr(comma + 1));
    if (!word || first > CpuSet::kCapacity || !add_word(cpus, *word, first)) {
      return failure(Errc::kInvalid,
                     "not a CPU mask in the kernel's format ('0000000f'): " + quoted_value(mask));
    }
    if (comma == std::string_view::npos) return cpus;
    rest = rest.substr(0, comma);
  }
}

std::string to_mask(const CpuSet& cpus) {
  std::string mask;
  for (int first = CpuSet::kCapacity - kWordBits; first >= 0; first -= kWordBits) {
    const std::uint32_t word = word_of(cpus, first);
    if (mask.empty() && word == 0 && first > 0) continue;
    if (mask.empty()) {
      mask = digits_of(word, true);
    } else {
      mask += ',' + digits_of(word, false);
    }
  }
  return mask;
}

}  // namespace pinion::noise
