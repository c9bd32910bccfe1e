// Files as whole texts.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

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

// What is left of an open file, at most `mib` MiB. Errors: as read_file().
inline Result<std::string> read_file(const Fd& file, const std::string& path, std::size_t mib) {
  if (!file.valid()) return sys_failure("read " + path);
  auto text = read_whole(file, path, mib << 20U);
  if (!text) return failure(std::move(text.error()));
  if (!*text) {
    return failure(Errc::kInvalid, path + " is larger than " + std::to_string(mib) + " MiB");
  }
  return **std::move(text);
}

// The file at that path, which may be a pipe, of at most `mib` MiB. Errors: of the system, as
// "read PATH: ..."; kInvalid for a larger one.
inline Result<std::string> read_file(const std::string& path, std::size_t mib) {
  return read_file(Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, mib);
}

// The same where only a plain file may stand: whoever puts a pipe there is not waited for. Errors:
// as read_file(); kInvalid for anything else.
inline Result<std::string> read_plain_file(const std::string& path, std::size_t mib) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat what {};
  if (!file.valid() || fstat(file.get(), &what) != 0) return sys_failure("read " + path);
  if (!S_ISREG(what.st_mode)) return failure(Errc::kInvalid, path + " is no plain file");
  return read_file(file, path, mib);
}

// False: not all was written, errno says why.
[[nodiscard]] inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// One write to a file that exists, below `directory` or at a path (AT_FDCWD): the kernel takes or
// refuses the text as a whole. `flags`: O_TRUNC, where it may be a plain file as well. Errors: of
// the system, as "open NAME: ..." or "write 'TEXT' to ...".
inline Status write_file(int directory, const char* name, const std::string& text, int flags = 0) {
  const Fd file(openat(directory, name, O_WRONLY | O_CLOEXEC | flags));
  if (!file.valid()) return sys_failure(std::string("open ") + name);
  if (::write(file.get(), text.data(), text.size()) < 0) {
    return sys_failure("write '" + text + "' to " + name);
  }
  return {};
}

// All of the new text or all of the old one, whatever ends the process meanwhile; where `synced`,
// also when the machine loses power, which may wait for a disk. "PATH.new" is its alone, and its
// directory exists. Only its owner may read it. Errors: of the system.
inline Status replace_file(const std::string& path, std::string_view text, bool synced) {
  const std::string fresh = path + ".new";
  {
    (void)::unlink(fresh.c_str());  // what a killed process has left, or a link to elsewhere
    const Fd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return sys_failure("open " + fresh);
    if (!write_all(file.get(), text)) return sys_failure("write " + fresh);
    if (synced && fsync(file.get()) != 0) return sys_failure("sync " + fresh);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return sys_failure("rename " + fresh);
  return {};
}

}  // namespace pinion
