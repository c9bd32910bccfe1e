#include "tests/lab/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX declares it nowhere

namespace pinion::lab {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (added.count(text.substr(0, text.find('='))) == 0) result.push_back(text);
  }
  for (const auto& [key, value] : added) result.push_back(key + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Between fork and exec only system calls: another thread may have held any lock.
[[noreturn]] void become(char* const* argv, char* const* envp, int in, int out, int mount_ns) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  if (mount_ns >= 0 && ::setns(mount_ns, CLONE_NEWNS) != 0) ::_exit(126);
  // A terminal's Ctrl-C is for the program in front; the lab ends its children itself.
  ::setpgid(0, 0);
  ::dup2(in, STDIN_FILENO);
  if (out >= 0) {
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
  }
  ::execvpe(argv[0], argv, envp);
  ::_exit(127);
}

}  // namespace

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), status_(other.status_), pidfd_(std::move(other.pidfd_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, 0);
    status_ = other.status_;
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

Result<Process> Process::start(const Command& command) {
  const std::string& program = command.argv.at(0);
  if (program.find('/') != std::string::npos && ::access(program.c_str(), X_OK) != 0) {
    return sys_failure("start " + program);
  }
  Fd log;
  if (!command.log.empty()) {
    log = Fd(::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log.valid()) return sys_failure("open " + command.log);
  }
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int in = command.standard_input >= 0 ? command.standard_input : null.get();
  auto arguments = command.argv;
  auto environment = environment_with(command.env);
  const auto argv = pointers_to(arguments);
  const auto envp = pointers_to(environment);
  const int pid = ::fork();
  if (pid < 0) return sys_failure("fork for " + program);
  if (pid == 0) become(argv.data(), envp.data(), in, log.get(), command.mount_namespace);
  Process process;
  process.pid_ = pid;
  process.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd_.valid()) return sys_failure("pidfd_open for " + program);
  return process;
}

bool Process::running() {
  return pid_ != 0 && !wait(Milliseconds(0));
}

std::optional<int> Process::wait(Milliseconds limit) {
  if (pid_ == 0) return status_;
  pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, static_cast<int>(patient(limit).count())) <= 0) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  pid_ = 0;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void Process::signal(int number) const {
  if (pid_ != 0) ::kill(pid_, number);
}

Result<int> Process::stop(Milliseconds limit) {
  signal(SIGTERM);
  if (const auto status = wait(limit)) return *status;
  kill();
  return failure(Errc::kUnavailable,
                 "still running " + std::to_string(limit.count()) + " ms after SIGTERM");
}

void Process::kill() {
  signal(SIGKILL);
  while (pid_ != 0) wait(Milliseconds(1000));
}

Result<std::string> run(const Command& command, Milliseconds limit) {
  auto process = Process::start(command);
  if (!process) return failure(process.error());
  const auto status = process->wait(limit);
  if (!status) {
    return failure(Errc::kUnavailable,
                   command.argv[0] + ": not done after " + std::to_string(limit.count()) + " ms");
  }
  auto output = read_file(command.log);
  if (!output) return failure(output.error());
  if (*status != 0) {
    return failure(Errc::kInternal,
                   command.argv[0] + ": status " + std::to_string(*status) + ": " + *output);
  }
  return output;
}

}  // namespace pinion::lab
