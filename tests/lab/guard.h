// The lab's other half: a small process (guard_main.cpp) that outlives whoever started the lab,
// however that ends, and removes everything. It also holds the mount namespace in which containerd
// runs, so no mount of the lab is ever seen by the machine.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "tests/lab/process.h"

namespace pinion::lab {

class Guard {
 public:
  Guard() = default;
  Guard(Guard&& other) noexcept = default;
  Guard& operator=(Guard&& other) noexcept = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // Makes `dir` the guard's to remove, with every process whose environment has PINION_LAB=dir and
  // everything below the cgroup path `cgroup`. Its own messages go to `log`.
  static Result<Guard> start(const std::string& dir, const std::string& cgroup,
                             const std::string& log);

  // The namespace to start containerd in: see Command::mount_namespace.
  [[nodiscard]] int mount_namespace() const { return mount_namespace_.get(); }

  // Removes everything and waits until that is done. Error: kInternal with what is left.
  Status finish();

 private:
  Process process_;
  Fd lifeline_;  // its end is the guard's signal to begin
  Fd mount_namespace_;
  std::string log_;
};

// On SIGINT, SIGTERM and SIGHUP from now on: every guard of this process does its work, then the
// process ends by that signal. Without this the guards work too, but nobody waits for them.
void clean_up_on_signals();

}  // namespace pinion::lab
