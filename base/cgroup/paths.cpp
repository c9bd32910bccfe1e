#include "base/cgroup/paths.h"

#include "base/utf8.h"

namespace pinion::cgroup {
namespace {

bool has_parent_component(std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
  return false;
}

// "a-b-c.slice" lies in a.slice/a-b.slice: systemd's naming rule.
Result<std::string> expand_slice(std::string_view slice) {
  constexpr std::string_view suffix = ".slice";
  if (!slice.ends_with(suffix) || slice.size() == suffix.size() || slice.front() == '-') {
    return failure(Errc::kInvalid, "not a systemd slice: '" + std::string(slice) + "'");
  }
  const std::string_view stem = slice.substr(0, slice.size() - suffix.size());
  std::string path;
  for (auto dash = stem.find('-'); dash != std::string_view::npos;
       dash = stem.find('-', dash + 1)) {
    path += '/' + std::string(stem.substr(0, dash)) + std::string(suffix);
  }
  return path + '/' + std::string(slice);
}

bool lists(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const auto comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

Result<std::string> path_of(std::string_view cgroups_path) {
  if (cgroups_path.empty()) return failure(Errc::kInvalid, "the runtime told no cgroup path");
  if (has_parent_component(cgroups_path)) {
    return failure(Errc::kInvalid, "cgroup path '" + std::string(cgroups_path) + "' leads upwards");
  }
  const auto first = cgroups_path.find(':');
  if (first == std::string_view::npos) {
    const bool bare = cgroups_path.find('/') == std::string_view::npos;
    if (bare && cgroups_path.ends_with(".slice")) return expand_slice(cgroups_path);
    return (cgroups_path.front() == '/' ? "" : "/") + std::string(cgroups_path);
  }
  const auto second = cgroups_path.find(':', first + 1);
  // systemd's names are no paths: "slice::../x" would lead upwards once it is put together.
  if (second == std::string_view::npos || cgroups_path.find('/') != std::string_view::npos) {
    return failure(Errc::kInvalid, "cgroup path '" + std::string(cgroups_path) +
                                       "' is neither a path nor 'slice:prefix:name'");
  }
  auto slice = expand_slice(cgroups_path.substr(0, first));
  if (!slice) return slice;
  const auto prefix = cgroups_path.substr(first + 1, second - first - 1);
  const auto name = cgroups_path.substr(second + 1);
  return *slice + '/' + (prefix.empty() ? "" : std::string(prefix) + '-') + std::string(name) +
         ".scope";
}

std::optional<std::string> path_in_proc(std::string_view proc_cgroup, int version,
                                        std::string_view controller) {
  while (!proc_cgroup.empty()) {
    const auto end = proc_cgroup.find('\n');
    const std::string_view line = proc_cgroup.substr(0, end);
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second != std::string_view::npos) {
      const auto controllers = line.substr(first + 1, second - first - 1);
      const bool ours = version == 2 ? line.substr(0, first) == "0" && controllers.empty()
                                     : lists(controllers, controller);
      const auto path = line.substr(second + 1);
      if (ours && path.starts_with('/') && !has_parent_component(path)) return std::string(path);
    }
    if (end == std::string_view::npos) break;
    proc_cgroup.remove_prefix(end + 1);
  }
  return std::nullopt;
}

Status check_path(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos ||
      has_parent_component(path)) {
    return failure(Errc::kInvalid, "no path of a cgroup: " + quoted_value(path));
  }
  return {};
}

}  // namespace pinion::cgroup
