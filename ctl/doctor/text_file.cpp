#include "ctl/doctor/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/whole_file.h"

namespace pinion::ctl::doctor {

constexpr std::size_t kLimit = std::size_t{4} << 20U;

Result<std::string> read_text(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return sys_failure("read " + path);
  struct stat kind = {};
  if (fstat(file.get(), &kind) != 0) return sys_failure("read " + path);
  if (!S_ISREG(kind.st_mode)) return failure(Errc::kInvalid, path + " is no regular file");
  auto text = read_whole(file, path, kLimit);
  if (!text) return failure(std::move(text.error()));
  if (!*text) return failure(Errc::kInvalid, path + " is larger than 4 MiB");
  return **std::move(text);
}

}  // namespace pinion::ctl::doctor
