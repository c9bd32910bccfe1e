#include "agent/release/release.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "agent/cgroup/quota_files.h"
#include "agent/kept_file.h"
#include "agent/noise/kernel_noise.h"
#include "agent/release/cgroups.h"
#include "base/state_lock.h"
#include "base/usual_paths.h"
#include "metrics/proc_files.h"

namespace pinion::agent {
namespace {

constexpr std::chrono::seconds kPatience{10};  // with systemd; nobody waits for us here

Result<cgroup::Released> release_cgroups(const std::string& host_root) {
  const auto hierarchy = cgroup::find_hierarchy(host_root, "cpuset");
  if (!hierarchy) return failure(hierarchy.error());
  cgroup::SliceProperties slices(systemd::manager_addresses(host_root), {.limit = kPatience});
  return cgroup::release(*hierarchy, slices);
}

// An agent with another state directory has another lock, and fences the same groups.
Status check_no_agent(const std::string& root) {
  const auto agents = metrics::processes_named(root, "pinion-agent");
  if (!agents) return failure(agents.error().within("look for agents"));
  if (agents->empty()) return {};
  std::string pids;
  for (const int pid : *agents) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  return failure(Errc::kExhausted,
                 "pinion-agent runs on this node, with whatever state directory: "
                 "process " +
                     pids + "; stop it first");
}

}  // namespace

Result<NodeReleased> release_node(const std::string& host_root, const std::string& state_dir) {
  // The lock would make the folder, and itself in one that is not an agent's.
  if (std::error_code none; !std::filesystem::exists(state_dir + "/agent.lock", none)) {
    return failure(Errc::kNotFound, "there is no " + state_dir +
                                        "/agent.lock, which an agent leaves there: its stateDir is "
                                        "to be named with --state-dir");
  }
  const auto lock = lock_state_dir(state_dir);
  if (!lock) return failure(lock.error());
  const std::string root = host_root == "/" ? "" : host_root;
  if (auto none = check_no_agent(root); !none) return failure(none.error());
  // One whose process is not seen from here, or that starts meanwhile.
  RuntimeLock beside(root + kUsualNriSocket);
  if (auto alone = beside.hold(); !alone) return failure(alone.error());
  noise::Pass noise = noise::restore({.proc = root + "/proc", .sys = root + "/sys"},
                                     state_dir + "/" + noise::kSavedName);
  NodeReleased done{.as_before = std::move(noise.written),
                    .not_as_before = std::move(noise.failed)};
  // Pods keep nothing any more.
  if (const auto saved = save_kept(state_dir + "/" + kKeptFile, {}); !saved) {
    done.not_released.push_back(saved.error().text);
  }
  if (const auto cpu = cgroup::find_hierarchy(host_root, "cpu")) {
    cgroup::RestoredQuotas quotas = cgroup::restore_quotas(*cpu);
    done.quotas = std::move(quotas.groups);
    done.not_released.insert(done.not_released.end(), quotas.failed.begin(), quotas.failed.end());
  }
  auto cgroups = release_cgroups(host_root);
  if (!cgroups) {
    done.cgroups = failure(cgroups.error());
    return done;
  }
  done.partitions = std::move(cgroups->partitions);
  done.widened = std::move(cgroups->widened);
  done.not_released.insert(done.not_released.end(), cgroups->failed.begin(), cgroups->failed.end());
  return done;
}

}  // namespace pinion::agent
