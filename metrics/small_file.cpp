#include "metrics/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pinion::metrics {
namespace {

constexpr std::size_t kFirstSize = 8192;

}  // namespace

bool SmallFile::grow() {
  if (buffer_.size() >= kLimit) return false;
  buffer_.resize(std::max(kFirstSize, buffer_.size() * 2));
  return true;
}

int SmallFile::read(int dir, const char* name) {
  const Fd file(::openat(dir, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  std::size_t length = 0;
  // The kernel may hand a text out in pieces of any size: only 0 is the end.
  for (;;) {
    if (length == buffer_.size() && !grow()) return EFBIG;
    const ssize_t count = ::read(file.get(), buffer_.data() + length, buffer_.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  length_ = length;
  return 0;
}

int SmallFile::read_record(int file) {
  if (buffer_.empty()) buffer_.resize(kFirstSize);
  for (;;) {
    const ssize_t count = ::pread(file, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    // A full buffer may have cut the text: again, as a whole.
    if (static_cast<std::size_t>(count) == buffer_.size()) {
      if (!grow()) return EFBIG;
      continue;
    }
    length_ = static_cast<std::size_t>(count);
    return 0;
  }
}

bool means_absent(int sys_errno) {
  // ENODEV: a file of a group that was removed after the open. ESRCH: likewise of a task.
  return sys_errno == ENOENT || sys_errno == ENODEV || sys_errno == ESRCH ||
         sys_errno == EOPNOTSUPP;
}

}  // namespace pinion::metrics
