// Trees of small files for tests, written as text: a machine's /sys in a page instead of in a
// thousand files.
//
//   # two cores with two threads each
//   sys/devices/system/cpu/online = 0-3
//   sys/devices/system/cpu/cpu[0-1]/topology/core_cpus = {mask n,n+2}
//   sys/devices/system/cpu/cpu[0-3]/topology/core_id = {n%2}
//
// PATH = LINE puts a line into a file (an empty one after a bare "PATH ="); the same path again
// appends one. A path may hold one
// [LIST] in the kernel's list format: a file for each number n of it. In a line, {n}, {n+4}, {n-4},
// {n%4} and {n/4} are computed from that number, and {mask A,B,C..D} is the kernel's hexadecimal
// mask ("00000000,0000000f") of numbers and ranges, which may be computed too. Blank lines and
// lines that begin with '#' are skipped.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::test_support {

// Writes the files below `directory`. Errors: kInvalid, naming the line.
Status write_tree(std::string_view text, const std::filesystem::path& directory);

// A directory of its own for one test, removed with all its contents at the end.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pinion::test_support
