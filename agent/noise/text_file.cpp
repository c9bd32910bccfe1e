#include "agent/noise/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/whole_file.h"

namespace pinion::noise {
namespace {

Status write_all(const Fd& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0) return sys_failure("write " + path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t limit) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("open " + path);
  auto text = read_whole(file, path, limit);
  if (!text) return failure(std::move(text.error()));
  if (*text) return **std::move(text);
  return failure(Errc::kInvalid, path + " is longer than " + std::to_string(limit) + " bytes");
}

Status write_text(const std::string& path, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return sys_failure("open " + path);
  if (::write(file.get(), text.data(), text.size()) < 0) {
    return sys_failure("write '" + text + "' to " + path);
  }
  return {};
}

Status replace_text(const std::string& path, const std::string& text, bool synced) {
  const std::string fresh = path + ".new";
  {
    const Fd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.valid()) return sys_failure("open " + fresh);
    if (auto written = write_all(file, text, fresh); !written) return written;
    if (synced && fsync(file.get()) != 0) return sys_failure("sync " + fresh);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return sys_failure("rename " + fresh);
  return {};
}

}  // namespace pinion::noise
