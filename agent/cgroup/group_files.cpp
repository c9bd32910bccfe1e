#include "agent/cgroup/group_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

constexpr std::size_t kMaxText = 65'536;

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

}  // namespace

Fd open_directory(int at, const char* path) {
  return Fd(openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Result<std::string> read_file(int directory, const char* name) {
  const Fd file(openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure(std::string("open ") + name);
  auto text = read_whole(file, name, kMaxText - 1);
  if (!text) return failure(std::move(text.error()));
  if (*text) return **std::move(text);
  return failure(Errc::kInvalid,
                 std::string(name) + " is longer than " + std::to_string(kMaxText) + " bytes");
}

Status write_file(int directory, const char* name, const std::string& value) {
  const Fd file(openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure(std::string("open ") + name);
  if (::write(file.get(), value.data(), value.size()) < 0) {
    return sys_failure("write '" + value + "' to " + name);
  }
  return {};
}

Status for_each_child(int directory, const std::function<bool(const Fd&, const char*)>& visit) {
  Fd copy = open_directory(directory, ".");
  if (!copy.valid()) return sys_failure("open group");
  const std::unique_ptr<DIR, CloseDir> dir(fdopendir(copy.get()));
  if (!dir) return sys_failure("list group");
  (void)copy.release();  // owned by `dir` from here on
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    const Fd child = open_directory(directory, entry->d_name);
    if (child.valid() && !visit(child, entry->d_name)) break;
  }
  return {};
}

}  // namespace pinion::cgroup
