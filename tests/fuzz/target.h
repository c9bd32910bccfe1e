// A fuzz target, and what its file needs. A program holds the targets of one area; which of them it
// runs is in the name it was started by: TARGET_fuzz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace pinion::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

// Lists a target for chosen(): by PINION_FUZZ_TARGET, before main().
struct Listed {
  Listed(std::string_view name, Target target);
};

// The target in the name of the program. If it holds no such target, it says which it holds and
// ends with 2.
Target chosen(std::string_view program);

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace pinion::fuzz

// Begins the function of a target with the parameters `data` and `size`, as libFuzzer calls it. In
// a namespace of the file's own: files are compiled several at once.
#define PINION_FUZZ_TARGET(name)                                         \
  static int name##_runs(const std::uint8_t* data, std::size_t size);    \
  static const ::pinion::fuzz::Listed name##_listed(#name, name##_runs); \
  static int name##_runs(const std::uint8_t* data, std::size_t size)
