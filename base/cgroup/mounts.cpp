#include "base/cgroup/mounts.h"

#include <array>
#include <utility>

namespace pinion::cgroup {

Result<Mounts> mounts_of(const std::function<Result<Hierarchy>(const char* controller)>& find,
                         const std::string& bare_unified) {
  Mounts mounts;
  if (!bare_unified.empty()) mounts.unified = {.directory = bare_unified, .version = 2};
  const std::array<std::pair<const char*, Mount*>, 5> controllers{
      std::pair{"cpu", &mounts.cpu}, std::pair{"cpuacct", &mounts.cpuacct},
      std::pair{"memory", &mounts.memory}, std::pair{"pids", &mounts.pids},
      std::pair{"perf_event", &mounts.perf}};
  for (const auto& [controller, mount] : controllers) {
    const auto hierarchy = find(controller);
    if (!hierarchy && hierarchy.error().code != Errc::kNotFound) return failure(hierarchy.error());
    if (!hierarchy) continue;
    *mount = {.directory = hierarchy->mount, .version = hierarchy->version};
    if (mount->version == 2) mounts.unified = *mount;
  }
  bool any = mounts.unified.found();
  for (const auto& [controller, mount] : controllers) {
    any = any || mount->found();
    if (!mount->found()) *mount = mounts.unified;
  }
  if (!any) return failure(Errc::kNotFound, "no cgroup file system is mounted");
  return mounts;
}

Result<Mounts> find_mounts(const std::string& host_root) {
  auto mounts =
      mounts_of([&](const char* controller) { return find_hierarchy(host_root, controller); },
                find_bare_unified(host_root));
  if (!mounts) return failure(mounts.error().within("under '" + host_root + "'"));
  return mounts;
}

}  // namespace pinion::cgroup
