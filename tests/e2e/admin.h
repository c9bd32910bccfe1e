// What tests do to a cluster through its API server, with the product's own client.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/http.h"
#include "cluster/extender/kube/pods.h"

namespace pinion::e2e {

struct NodeShape {
  int cpus = 32;
  int memory_gib = 64;
  int pods = 250;
};

// A pod of a container named "main", and more. Guaranteed unless it says otherwise.
struct PodShape {
  std::string name;
  int milli_cpus = 1000;
  int memory_mib = 64;
  // Milli CPUs of further containers: "side-0" and so on; those that start before "main" and stay,
  // "sidecar-0"; and those that end before it, "init-0".
  std::vector<int> sides = {};
  std::vector<int> sidecars = {};
  std::vector<int> inits = {};
  std::map<std::string, std::string> annotations = {};
  std::map<std::string, std::string> labels = {};
  bool burstable = false;           // requests without limits
  std::string priority_class = {};  // empty: none
  std::string scheduler = {};       // empty: the default one
  int deadline_s = 0;               // activeDeadlineSeconds; 0: none
  std::string pod_group = {};       // of scheduling.k8s.io; empty: none
  bool gated = false;               // the scheduler does not look at it before open_pod()
  bool gang_gate = false;           // nor before the extender opens it
};

nlohmann::json node_object(const std::string& name);
nlohmann::json pod_object(const PodShape& shape);

class Admin {
 public:
  // Throws std::runtime_error for an access that makes no sense.
  explicit Admin(const kube::Access& access);

  [[nodiscard]] kube::Api& api() { return *api_; }

  // Ready, and without the taint that admission gives to each new node.
  Status add_node(const std::string& name, const NodeShape& shape);
  // In the namespace "default".
  Result<kube::PodRef> add_pod(const PodShape& shape);
  Status open_pod(const std::string& name);
  Status say_ready(const std::string& name);  // its phase is Running, and it is Ready
  // The container is not created, for this reason: as the kubelet tells of a runtime's refusal.
  Status say_refused(const std::string& name, const std::string& container, const std::string& why);
  // To the extender: may do so with these, as nodes or pods/resize. What the chart gives with a
  // setting alone.
  Status let_extender(const std::vector<std::string>& verbs, const std::string& resource,
                      const std::string& group = {});
  Status let_extender_resize_jobs();  // of all kinds: setting `elastic`
  Status add_priority_class(const std::string& name, int value);
  // With no time to end: it is gone when this returns, unless a finalizer keeps it.
  Status remove_pod(const std::string& name);
  // As users do: who runs it is told first.
  Status ask_pod_to_end(const std::string& name);
  Status remove(const std::string& path);  // any object
  Result<nlohmann::json> pod(const std::string& name);

 private:
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<kube::Http> http_;  // for what the product never does
  kube::Cancel never_;
};

}  // namespace pinion::e2e
