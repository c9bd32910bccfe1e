// A small client of the Container Runtime Interface: what a kubelet says to containerd. Blocking;
// every call has a deadline; may be used by several threads at once.
// Errors of all calls: the code that fits the gRPC status best, and the runtime's own text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/files.h"
#include "tests/lab/pod.h"

namespace pinion::lab {

enum class ContainerState { kCreated, kRunning, kExited, kUnknown };

struct ContainerStatus {
  ContainerState state = ContainerState::kUnknown;
  int exit_code = 0;
  std::string reason;
  std::string message;
};

struct ListedContainer {
  std::string id;
  std::string pod_id;
  std::string name;
  ContainerState state = ContainerState::kUnknown;
};

struct ExecResult {
  int exit_code = 0;
  std::string output;  // stdout
  std::string errors;  // stderr
};

// What CreateContainer needs to know of the pod beside its id.
struct PodPlace {
  std::string cgroup_parent;
  std::string log_directory;
};

class CriClient {
 public:
  // Does not connect yet: the first call does, within its deadline.
  explicit CriClient(const std::string& socket);
  CriClient(CriClient&& other) noexcept;
  CriClient& operator=(CriClient&& other) noexcept;
  CriClient(const CriClient&) = delete;
  CriClient& operator=(const CriClient&) = delete;
  ~CriClient();

  // "containerd 1.7.24"; fails at once when nobody listens.
  Result<std::string> version(Milliseconds limit);

  // Whether the CRI plugin knows an image of this name.
  Result<bool> has_image(const std::string& name);

  // With the host's network, so without CNI. Answers the sandbox's id.
  Result<std::string> run_pod(const PodSpec& pod, const PodPlace& place);
  Status stop_pod(const std::string& pod_id);
  Status remove_pod(const std::string& pod_id);
  Result<std::vector<std::string>> list_pods();

  Result<std::string> create_container(const std::string& pod_id, const PodSpec& pod,
                                       const PodPlace& place, const ContainerSpec& container);
  Status start_container(const std::string& id);
  // SIGTERM and, when it still runs after the grace period, SIGKILL; without one SIGKILL at once.
  Status stop_container(const std::string& id, std::chrono::seconds grace = {});
  Status remove_container(const std::string& id);
  Result<std::vector<ListedContainer>> list_containers();
  Result<ContainerStatus> container_status(const std::string& id);
  // Fields that are 0 are not sent: the runtime leaves them.
  Status update_resources(const std::string& id, const LinuxResources& resources);
  Result<ExecResult> exec(const std::string& id, const std::vector<std::string>& command);

  // The limit of every call but version(); 30 s unless set.
  void set_limit(Milliseconds limit) { limit_ = limit; }

 private:
  struct Stub;  // keeps gRPC out of this header
  std::unique_ptr<Stub> stub_;
  Milliseconds limit_{30000};
};

// The name of the image that the lab imports.
inline constexpr const char* kImage = "pinion.local/lab:1";

}  // namespace pinion::lab
