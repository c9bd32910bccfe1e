// A private containerd with NRI on: own folder, sockets, mounts and cgroup root, nothing of the
// machine's own touched, everything removed when it ends, in whatever way it ends (guard.h).
// Needs root.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "tests/lab/cgroup_tree.h"
#include "tests/lab/cri_client.h"
#include "tests/lab/files.h"
#include "tests/lab/guard.h"
#include "tests/lab/pod.h"
#include "tests/lab/process.h"

namespace pinion::lab {

struct LabOptions {
  std::string containerd = "1.7";  // or "2.1": a folder of scripts/runtime.sh
  std::string runtime = {};        // that script's folder; "": see default_runtime()
  std::string logs = {};           // an existing folder; "": inside the lab, removed with it
  // NRI's, see ContainerdConfig. The runtime goes on without a plugin that is later than that: long
  // enough for an agent with sanitizers beside compilers.
  Milliseconds registration_timeout{15'000};
  Milliseconds request_timeout{10'000};
  std::string required_plugin = {};
};

// $PINION_RUNTIME, or where scripts/runtime.sh puts it. Errors: made_by()'s.
Result<std::string> default_runtime();

// "" when a lab can run here, else why not: not root, no runtime, no cpuset hierarchy.
std::string why_no_lab(const LabOptions& options);

struct RunningPod {
  PodSpec spec;
  std::string id;      // the sandbox
  std::string cgroup;  // path
};

class ContainerdLab {
 public:
  // Starts containerd and imports the image; ready to run pods. The error has the log's tail.
  static Result<std::unique_ptr<ContainerdLab>> start(const LabOptions& options);
  // Removes everything; close() says what went wrong with that, the destructor prints it.
  ~ContainerdLab() = default;
  ContainerdLab(const ContainerdLab&) = delete;
  ContainerdLab& operator=(const ContainerdLab&) = delete;
  Status close();

  [[nodiscard]] const std::string& dir() const { return dir_; }
  [[nodiscard]] const std::string& logs() const { return logs_; }
  [[nodiscard]] const std::string& cgroup_root() const { return cgroup_root_; }
  [[nodiscard]] std::string nri_socket() const { return dir_ + "/nri.sock"; }
  [[nodiscard]] std::string cri_socket() const { return dir_ + "/containerd.sock"; }
  [[nodiscard]] std::string containerd_log() const { return logs_ + "/containerd.log"; }
  [[nodiscard]] CriClient& cri() { return *cri_; }
  [[nodiscard]] const CgroupTree& cgroups() const { return cgroups_; }
  // The environment by which the guard knows the lab's processes.
  [[nodiscard]] std::map<std::string, std::string> environment() const;

  // Containers live on without containerd, as in production.
  Status stop_containerd();   // SIGTERM
  void kill_containerd();     // SIGKILL
  Status start_containerd();  // waits until it serves

  // As a kubelet: makes the cgroups, then the sandbox. May be called by several threads.
  Result<RunningPod> run_pod(const PodSpec& spec);
  // The container's id.
  Result<std::string> create_container(const RunningPod& pod, const ContainerSpec& container);
  // create_container and start; a container that cannot start is removed.
  Result<std::string> start_container(const RunningPod& pod, const ContainerSpec& container);
  // Stops and removes its containers and the sandbox, then the pod's cgroup.
  Status remove_pod(const RunningPod& pod);
  [[nodiscard]] PodPlace place_of(const PodSpec& spec) const;
  [[nodiscard]] static std::string cgroup_of(const RunningPod& pod, const std::string& container) {
    return pod.cgroup + "/" + container;
  }

 private:
  ContainerdLab(LabOptions options, CgroupTree cgroups)
      : options_(std::move(options)), cgroups_(std::move(cgroups)) {}
  Status make_folder();
  Status make_cgroups();
  Status import_image();
  Status add_burstable(std::int64_t shares);
  [[nodiscard]] std::string bin(const std::string& name) const;

  LabOptions options_;
  CgroupTree cgroups_;
  std::string dir_;
  std::string logs_;
  std::string cgroup_root_;
  Guard guard_;
  Process containerd_;
  std::unique_ptr<CriClient> cri_;
  std::mutex mutex_;
  std::int64_t burstable_shares_ = 0;  // of all Burstable pods together
};

}  // namespace pinion::lab
