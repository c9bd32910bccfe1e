#include "tests/lab/agent_process.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace pinion::lab {

std::string default_agent() {
  const char* folder = std::getenv("PINION_BIN_DIR");
  const std::string bin = folder != nullptr && *folder != '\0' ? folder : program_folder();
  return bin + "/pinion-agent";
}

std::string default_fence() {
  const char* fence = std::getenv("PINION_TEST_FENCE");
  return fence != nullptr && *fence != '\0' ? fence : "leaf";
}

Result<AgentProcess> AgentProcess::start(const ContainerdLab& lab, const AgentOptions& options) {
  const std::string log_name = options.log_name.empty() ? options.name : options.log_name;
  AgentProcess agent;
  agent.state_dir_ = lab.dir() + "/" + options.name;
  agent.ready_ = lab.dir() + "/" + log_name + ".ready";
  agent.log_ = lab.logs() + "/" + log_name + ".log";
  std::error_code error;
  std::filesystem::create_directories(agent.state_dir_, error);
  std::filesystem::remove(agent.ready_, error);
  Command command{.argv = {options.program.empty() ? default_agent() : options.program,
                           "--nri-socket", lab.nri_socket(), "--state-dir", agent.state_dir_,
                           "--fence", options.fence, "--ready-file", agent.ready_},
                  .env = lab.environment(),
                  .log = agent.log_};
  if (!options.reserved_cpus.empty()) {
    command.argv.insert(command.argv.end(), {"--reserved-cpus", options.reserved_cpus});
  }
  command.argv.insert(command.argv.end(), options.more.begin(), options.more.end());
  auto process = Process::start(command);
  if (!process) return failure(process.error().within("agent"));
  agent.process_ = std::move(*process);
  return agent;
}

Status AgentProcess::wait_ready(Milliseconds limit) {
  const bool done =
      eventually(limit, [&] { return ::access(ready_.c_str(), F_OK) == 0 || !process_.running(); });
  if (!process_.running()) {
    return failure(Errc::kUnavailable, "agent ended:\n" + log_tail());
  }
  if (!done) return failure(Errc::kUnavailable, "agent is not ready:\n" + log_tail());
  return {};
}

}  // namespace pinion::lab
