// The runtimes of a test's nodes, and what of their kubelets runs pods: one process of the program
// in tests/e2e/nodes, which calls plugins with containerd's own library.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "policy/policy.h"
#include "tests/lab/process.h"

namespace pinion::e2e {

struct ContainerToRun {
  std::string id;
  std::string name;
  policy::Resources resources;
  bool ends = false;  // before the next begins: an init container
};

class NodeRuntime {
 public:
  // Something has happened, as the program says it; called by one thread.
  using OnEvent = std::function<void(const nlohmann::json& event)>;

  // Errors: kNotFound where scripts/kube.sh has not built the program.
  static Status built();
  static Result<std::unique_ptr<NodeRuntime>> start(const std::string& log, OnEvent on_event);
  NodeRuntime(const NodeRuntime&) = delete;
  NodeRuntime& operator=(const NodeRuntime&) = delete;
  ~NodeRuntime();

  // A node with NRI at this socket, soon: agents try again until it is there.
  void open(const std::string& node, const std::string& socket);
  void run(const std::string& node, const policy::Pod& pod,
           const std::vector<ContainerToRun>& containers);
  void end(const std::string& node, const std::string& pod_id);

 private:
  explicit NodeRuntime(OnEvent on_event) : on_event_(std::move(on_event)) {}
  void order(const nlohmann::json& order);
  void listen();

  OnEvent on_event_;
  Fd socket_;
  lab::Process process_;
  std::mutex mutex_;  // one order at a time
  std::thread listener_;
};

}  // namespace pinion::e2e
