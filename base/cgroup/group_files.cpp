#include "base/cgroup/group_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

constexpr std::size_t kMaxText = 65'536;

bool is_group(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info = {};
  return ::fstatat(directory, &entry.d_name[0], &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

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

std::optional<std::string> next_group(DIR& listing) {
  while (const dirent* entry = readdir(&listing)) {
    if (entry->d_name[0] != '.' && is_group(dirfd(&listing), *entry)) return entry->d_name;
  }
  return std::nullopt;
}

Result<std::vector<std::string>> child_groups(int directory) {
  // A directory without sub-directories has two links, on cgroup file systems as on most others;
  // that spares nearly every container a walk over its files.
  struct stat info = {};
  if (::fstat(directory, &info) != 0) return sys_failure("list group");
  if (info.st_nlink == 2) return std::vector<std::string>();
  Fd copy = open_directory(directory, ".");
  if (!copy.valid()) return sys_failure("open group");
  const std::unique_ptr<DIR, CloseDir> dir(fdopendir(copy.get()));
  if (!dir) return sys_failure("list group");
  (void)copy.release();  // owned by `dir` from here on
  std::vector<std::string> names;
  while (auto name = next_group(*dir)) names.push_back(*std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

Status for_each_child(int directory, const std::function<bool(const Fd&, const char*)>& visit) {
  const auto names = child_groups(directory);
  if (!names) return failure(names.error());
  Status all;
  for (const std::string& name : *names) {
    const Fd child = open_directory(directory, name.c_str());
    if (child.valid()) {
      if (!visit(child, name.c_str())) break;
    } else if (errno != ENOENT && all) {
      all = sys_failure("open " + name);
    }
  }
  return all;
}

void note_unvisited(const Status& visited, const std::string& path,
                    std::vector<std::string>& failed) {
  if (visited || visited.error().sys_errno == ENOENT) return;
  failed.push_back((path.empty() ? "/" : path) + ": " + visited.error().text);
}

}  // namespace pinion::cgroup
