// pinion-agent as a process beside a lab's containerd.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/agent_api.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/process.h"

namespace pinion::lab {

// The fence of agents whose test asks for none in particular: $PINION_TEST_FENCE, else "leaf".
std::string default_fence();

struct AgentOptions {
  std::string program = {};    // "": $PINION_BIN_DIR/pinion-agent, else beside the running program
  std::string name = "agent";  // of its state folder, for several in one lab
  std::string log_name = {};   // of its log and ready file; "": as name
  std::string reserved_cpus = {};  // kernel list; "": the flag is not given
  std::string fence = default_fence();
  std::vector<std::string> more = {};  // further flags
};

class AgentProcess {
 public:
  // Starts it; does not wait. State folder: LAB/NAME; log: LOGS/LOG_NAME.log, appended to by each
  // start.
  static Result<AgentProcess> start(const ContainerdLab& lab, const AgentOptions& options);

  // Waits for the ready file, which says that the runtime has synchronized with it.
  // Error: kUnavailable with the log's tail when it ended or `limit` passed.
  Status wait_ready(Milliseconds limit = Milliseconds(30'000));

  // What it says of itself. Errors: as AgentApi::status().
  [[nodiscard]] Result<AgentStatus> status() const { return AgentApi(api_socket()).status(); }

  Result<int> stop() { return process_.stop(Milliseconds(5000)); }  // SIGTERM; its exit status
  void kill() { process_.kill(); }                                  // SIGKILL
  std::optional<int> wait(Milliseconds limit) { return process_.wait(limit); }
  [[nodiscard]] bool running() { return process_.running(); }
  [[nodiscard]] int pid() const { return process_.pid(); }
  // Where its interface is served unless a flag says otherwise.
  [[nodiscard]] std::string api_socket() const { return state_dir_ + "/agent.sock"; }
  // Made when it is ready; holds the addresses that it serves at.
  [[nodiscard]] const std::string& ready_file() const { return ready_; }
  [[nodiscard]] const std::string& log() const { return log_; }
  [[nodiscard]] std::string log_tail(int lines = 15) const { return tail_of(log_, lines); }

 private:
  Process process_;
  std::string state_dir_;
  std::string ready_;
  std::string log_;
};

// Where AgentOptions::program is to be found when it is "".
std::string default_agent();

}  // namespace pinion::lab
