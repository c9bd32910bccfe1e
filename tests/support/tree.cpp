#include "tests/support/tree.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include "topology/cpuset.h"

namespace pinion::test_support {
namespace {

using topology::CpuSet;

constexpr std::string_view kMask = "mask ";

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "7", "n", "n+4", "n-4", "n%4" or "n/4".
std::optional<int> value_of(std::string_view text, int n) {
  if (text.empty() || text.front() != 'n') return number(text);
  if (text.size() == 1) return n;
  const auto operand = number(text.substr(2));
  if (!operand) return std::nullopt;
  switch (text[1]) {
    case '+':
      return n + *operand;
    case '-':
      return n - *operand;
    case '%':
      return *operand == 0 ? std::nullopt : std::optional(n % *operand);
    case '/':
      return *operand == 0 ? std::nullopt : std::optional(n / *operand);
    default:
      return std::nullopt;
  }
}

// "A,B,C..D" as a set.
std::optional<CpuSet> set_of(std::string_view text, int n) {
  CpuSet set;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const auto dots = part.find("..");
    const auto first = value_of(part.substr(0, dots), n);
    const auto last = dots == std::string_view::npos ? first : value_of(part.substr(dots + 2), n);
    if (!first || !last || *first < 0 || *last >= CpuSet::kCapacity) return std::nullopt;
    set |= CpuSet::range(*first, *last);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return set;
}

// 32 bits to a group, the highest group first, as in the kernel's *_cpus and cpumap files.
std::string kernel_mask(const CpuSet& set) {
  int last = 0;
  for (const int cpu : set) last = cpu;
  std::string text;
  for (int group = last / 32; group >= 0; --group) {
    unsigned bits = 0;
    for (int bit = 0; bit < 32; ++bit) {
      if (set.contains(group * 32 + bit)) bits |= 1U << bit;
    }
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", bits);
    text += (text.empty() ? "" : ",") + std::string(digits.data());
  }
  return text;
}

// The line with every {...} replaced.
std::optional<std::string> expand(std::string_view line, int n) {
  std::string text;
  while (true) {
    const auto open = line.find('{');
    text += line.substr(0, open);
    if (open == std::string_view::npos) return text;
    const auto close = line.find('}', open);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inside = line.substr(open + 1, close - open - 1);
    if (inside.substr(0, kMask.size()) == kMask) {
      const auto set = set_of(inside.substr(kMask.size()), n);
      if (!set) return std::nullopt;
      text += kernel_mask(*set);
    } else {
      const auto value = value_of(inside, n);
      if (!value) return std::nullopt;
      text += std::to_string(*value);
    }
    line.remove_prefix(close + 1);
  }
}

using Files = std::map<std::string, std::string>;

// "PATH = LINE" into the files it stands for.
Status add_line(std::string_view line, Files& files) {
  const auto equals = line.find(" =");
  if (equals == std::string_view::npos) return failure(Errc::kInvalid, "no ' =' in it");
  const std::string_view path = line.substr(0, equals);
  std::string_view value = line.substr(equals + 2);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  const auto open = path.find('[');
  const auto close = path.find(']');
  const bool many = open != std::string_view::npos && close != std::string_view::npos;
  const auto numbers =
      many ? CpuSet::parse(path.substr(open + 1, close - open - 1)) : Result<CpuSet>(CpuSet{0});
  if (!numbers) return failure(numbers.error());
  for (const int n : *numbers) {
    const auto expanded = expand(value, n);
    if (!expanded) return failure(Errc::kInvalid, "cannot compute '" + std::string(value) + "'");
    std::string name(path.substr(0, open));
    if (many) name += std::to_string(n) + std::string(path.substr(close + 1));
    files[name] += *expanded + "\n";
  }
  return {};
}

}  // namespace

Status write_tree(std::string_view text, const std::filesystem::path& directory) {
  Files files;
  for (int at = 1; !text.empty(); ++at) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (const auto added = add_line(line, files); !added) {
      return failure(added.error().within("line " + std::to_string(at)));
    }
  }
  std::filesystem::path made;  // neighbours are written one after another
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = directory / name;
    std::error_code error;
    if (path.parent_path() != made) std::filesystem::create_directories(path.parent_path(), error);
    made = path.parent_path();
    std::ofstream file(path);
    file << content;
    if (error || !file.flush()) {
      return failure(Errc::kUnavailable, "cannot write " + path.string());
    }
  }
  return {};
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "pinion-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pinion::test_support
