// The whole of a file as text, up to a limit.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace pinion {

// What is left to read of an open file; nullopt where that is more than `limit` bytes. Errors: of
// the system, as "read NAME: ...".
inline Result<std::optional<std::string>> read_whole(const Fd& file, const std::string& name,
                                                     std::size_t limit) {
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= limit) {
    const ssize_t n = ::read(file.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return sys_failure("read " + name);
    if (n == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return std::nullopt;
}

// The file at that path, of at most `mib` MiB. Errors: of the system, as "read PATH: ..."; kInvalid
// for a larger one.
inline Result<std::string> read_file(const std::string& path, std::size_t mib) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("read " + path);
  auto text = read_whole(file, path, mib << 20U);
  if (!text) return failure(std::move(text.error()));
  if (!*text) {
    return failure(Errc::kInvalid, path + " is larger than " + std::to_string(mib) + " MiB");
  }
  return **std::move(text);
}

}  // namespace pinion
