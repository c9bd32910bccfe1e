// A fixed piece of work that is no part of the product: how long it takes tells how fast the
// machine is just now.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pinion::bench {

// Sorts 2,048 integers, fills and reads a map of 256 strings, and follows a chain of 4,096 links
// through 256 KiB: branches, small allocations and caches. The integers are others each time, as
// CPUs learn the branches of an array that they have seen. Do not change it: every ratio to it in
// docs/benchmarks.md would have to be recorded anew.
class ReferenceLoop {
 public:
  ReferenceLoop();
  // Once all of it; the sum of what it found, so that nothing is optimised away.
  std::uint64_t turn();

 private:
  std::mt19937 random_{1};
  std::vector<std::uint32_t> numbers_;
  std::vector<std::string> words_;
  std::vector<std::uint32_t> chain_;  // the next place, for each place: one circle through all
};

}  // namespace pinion::bench
