// A program that the lab starts: output to a log file, ended by the lab, and at the latest by the
// guard (guard_main.cpp), which knows it by the environment variable PINION_LAB.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "tests/lab/files.h"

namespace pinion::lab {

struct Command {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH when it has no '/'
  std::map<std::string, std::string> env;  // added to the caller's own
  std::string log;                         // stdout and stderr are appended here; "" : the caller's
  int mount_namespace = -1;                // fd of a /proc/PID/ns/mnt to enter; -1: the caller's
  int standard_input = -1;                 // fd; -1: /dev/null
};

class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }

  // Errors: kNotFound when the program is missing, or as of fork and the log file.
  static Result<Process> start(const Command& command);

  [[nodiscard]] int pid() const { return pid_; }  // 0: none, or already waited for
  [[nodiscard]] bool running();

  // Waits for its end. The exit status as a shell gives it (128 + signal), or not set after
  // `limit`.
  std::optional<int> wait(Milliseconds limit);
  void signal(int number) const;
  // SIGTERM, then wait. Error: kUnavailable when it still ran after `limit` (it is killed then).
  Result<int> stop(Milliseconds limit);
  void kill();  // SIGKILL and wait

 private:
  int pid_ = 0;
  std::optional<int> status_;
  Fd pidfd_;
};

// Runs to its end. The output of both streams; error: kInternal with it when the status is not 0,
// kUnavailable after `limit`. Command::log says where the output goes on the way; it must be set.
Result<std::string> run(const Command& command, Milliseconds limit);

}  // namespace pinion::lab
