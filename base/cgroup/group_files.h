// The small files of one cgroup, below a descriptor of its directory.
#pragma once

#include <dirent.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::cgroup {

// Groups nested deeper than this below the first one are not followed.
inline constexpr int kMaxGroupDepth = 256;

// A directory to open files below. Invalid where it cannot be opened; errno says why.
[[nodiscard]] Fd open_directory(int at, const char* path);

// The whole of a file of at most 64 KiB: a list of 4,096 CPUs, every second one, takes 20.
// Errors: of the system; kInvalid where it is longer.
Result<std::string> read_file(int directory, const char* name);

// The IdSet in a file.
template <class Set>
Result<Set> read_set(int directory, const char* name) {
  const auto text = read_file(directory, name);
  if (!text) return failure(text.error());
  auto set = Set::parse(*text);
  if (!set) return failure(set.error().within(name));
  return *set;
}

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

// The next group directly inside one that is being listed, by name; nullopt: there is no other.
[[nodiscard]] std::optional<std::string> next_group(DIR& listing);

// The names of the groups directly inside, ascending. Errors: the group cannot be listed.
Result<std::vector<std::string>> child_groups(int directory);

// Calls visit(child's descriptor, its name) for each group directly inside, in the order of
// their names; false ends it. Groups that vanish meanwhile are passed over. Errors: the group
// cannot be listed, or one inside not opened, which does not keep it from the others.
Status for_each_child(int directory, const std::function<bool(const Fd&, const char*)>& visit);

// Adds "path: why" to `failed` where that went wrong, but for a group that is gone.
void note_unvisited(const Status& visited, const std::string& path,
                    std::vector<std::string>& failed);

}  // namespace pinion::cgroup
