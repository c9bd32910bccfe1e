#include "tests/lab/agent_process.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"

namespace pinion::lab {
namespace {

constexpr Milliseconds kAnswer{5000};

}  // namespace

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

Result<AgentStatus> AgentProcess::status() const {
  const std::string path = state_dir_ + "/status.sock";
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return sys_failure("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failure(Errc::kInvalid, "too long: " + path);
  path.copy(&address.sun_path[0], path.size());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return sys_failure("connect " + path);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patient(kAnswer));
  const timeval limit{.tv_sec = seconds.count(), .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t count = ::read(socket.get(), buffer.data(), buffer.size());
    if (count < 0) return sys_failure("read " + path);
    if (count == 0) return parse_agent_status(text);
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace pinion::lab
