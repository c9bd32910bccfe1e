#include "extender/kube/small_file.h"

#include <fcntl.h>

#include <array>

#include "base/fd.h"

namespace pinion::kube {
namespace {

constexpr std::size_t kMaxBytes = 1U << 20U;

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("read " + path);
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t n = ::read(file.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return sys_failure("read " + path);
    if (n == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() > kMaxBytes) {
      return failure(Errc::kInvalid, path + " is larger than 1 MiB");
    }
  }
}

}  // namespace pinion::kube
