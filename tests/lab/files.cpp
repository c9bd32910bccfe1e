#include "tests/lab/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/whole_file.h"

namespace pinion::lab {
namespace {

Status write_with(const std::string& path, const std::string& text, int flags) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644));
  if (!file.valid()) return sys_failure("open " + path);
  if (!write_all(file.get(), text)) return sys_failure("write '" + text + "' to " + path);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("open " + path);
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0) return sys_failure("read " + path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Status write_file(const std::string& path, const std::string& text) {
  return write_with(path, text, O_CREAT | O_TRUNC);
}

Status write_existing(const std::string& path, const std::string& text) {
  return write_with(path, text, 0);
}

std::string tail_of(const std::string& path, int lines) {
  const auto text = read_file(path);
  if (!text) return {};
  std::size_t from = text->size();
  for (int seen = 0; from > 0 && seen <= lines; --from) {
    if ((*text)[from - 1] == '\n' && from != text->size() && ++seen == lines) break;
  }
  return text->substr(from);
}

Milliseconds patient(Milliseconds limit) {
  const char* factor = std::getenv("PINION_PATIENCE");
  return factor == nullptr ? limit
                           : std::chrono::duration_cast<Milliseconds>(limit * std::atof(factor));
}

bool eventually(Milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patient(limit);
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(Milliseconds(4));
  }
}

std::string program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace pinion::lab
