// Reads small files of /proc and cgroups, again and again, into one buffer. For this folder alone,
// and not base/whole_file.h, because a sample reads hundreds of them: no text is allocated for
// each, files that stay open are read by one system call, and what is absent is an errno, not a
// phrase.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::metrics {

class SmallFile {
 public:
  // Texts longer than this many bytes are refused (EFBIG): nothing that is read here is so long.
  static constexpr std::size_t kLimit = std::size_t{4} << 20;

  // Reads all of the file `name` below the directory `dir` (or AT_FDCWD). Returns 0 or an errno.
  [[nodiscard]] int read(int dir, const char* name);

  // The same of an open file, from its beginning, with one system call where it fits. For files of
  // which the kernel writes the whole text at once (it hands lists out in pieces: tasks,
  // cgroup.threads, cgroup.procs).
  [[nodiscard]] int read_record(int file);

  // What the last successful read() found; valid until the next one.
  [[nodiscard]] std::string_view text() const { return {buffer_.data(), length_}; }

 private:
  [[nodiscard]] bool grow();  // false: at the limit

  std::string buffer_;  // its size is what there is room for
  std::size_t length_ = 0;
};

// Does this errno mean that the file, its group or its task is not there, or not any more, or that
// the kernel has the feature switched off (EOPNOTSUPP: PSI)? Then its figures are simply not known.
[[nodiscard]] bool means_absent(int sys_errno);

}  // namespace pinion::metrics
