#include "base/process/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/support/own_process.h"

namespace pinion {
namespace {

// Of /proc/self/status; -1: it is not there.
long kib_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = -1;
    if (word == name + ":" && status >> kib) return kib;
  }
  return -1;
}

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::array<unsigned char, 4 * kMiB> kConstants{1, 2, 3};
std::array<unsigned char, kMiB> variables{1};

unsigned sum_of_constants() {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kConstants.size(); i += 512) {
    sum += *const_cast<const volatile unsigned char*>(&kConstants[i]);
  }
  return sum;
}

TEST(Memory, FilesOfTheProgramAreUnmappedAndComeBack) {
  const auto check = []() -> std::string {
    variables[5000] = 7;
    const unsigned before = sum_of_constants();
    const long mapped = kib_of("RssFile");
    give_back_memory();
    const long left = kib_of("RssFile");
    if (left + 3000 > mapped) {
      return std::to_string(mapped) + " KiB before, " + std::to_string(left) + " after";
    }
    if (sum_of_constants() != before) return "constants have changed";
    return variables[0] == 1 && variables[5000] == 7 ? "" : "variables have changed";
  };
  EXPECT_EQ(test_support::in_own_process(check), "");
}

// With another one above it glibc keeps freed memory.
TEST(Memory, FreeHeapGoesBackToTheKernel) {
  const auto check = []() -> std::string {
    std::vector<std::unique_ptr<std::array<char, 4096>>> blocks(16 * kMiB / 4096);
    for (auto& block : blocks) {
      block = std::make_unique<std::array<char, 4096>>();
      block->fill('x');
    }
    if (mallinfo2().uordblks < 16 * kMiB) return "";  // a sanitizer's allocator, not glibc's
    const auto above = std::make_unique<std::array<char, 4096>>();
    blocks.clear();
    const long held = kib_of("RssAnon");
    give_back_memory();
    const long left = kib_of("RssAnon");
    if (left + 8000 <= held) return "";
    return std::to_string(held) + " KiB before, " + std::to_string(left) + " after";
  };
  EXPECT_EQ(test_support::in_own_process(check), "");
}

}  // namespace
}  // namespace pinion
