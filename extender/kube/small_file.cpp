#include "extender/kube/small_file.h"

#include <fcntl.h>

#include "base/whole_file.h"

namespace pinion::kube {
namespace {

constexpr std::size_t kMaxBytes = 1U << 20U;

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("read " + path);
  auto text = read_whole(file, path, kMaxBytes);
  if (!text) return failure(std::move(text.error()));
  if (!*text) return failure(Errc::kInvalid, path + " is larger than 1 MiB");
  return **std::move(text);
}

}  // namespace pinion::kube
