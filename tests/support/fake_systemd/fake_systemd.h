// A fake of systemd's manager on a test's own bus: slices with the property AllowedCPUs, which it
// writes into their groups' files as systemd does.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "topology/cpuset.h"

struct sd_bus;
struct sd_bus_message;

namespace pinion::test_support {

class FakeSystemd {
 public:
  // Has the manager's name on the bus at `address` when this returns; stops the test otherwise.
  explicit FakeSystemd(const std::string& address);
  // Listens itself at a socket that is made here, as systemd does at /run/systemd/private.
  explicit FakeSystemd(const std::filesystem::path& socket);
  ~FakeSystemd();
  FakeSystemd(const FakeSystemd&) = delete;
  FakeSystemd& operator=(const FakeSystemd&) = delete;

  // A unit; an empty `allowed` is a property that is not set. `group`: a folder with a file
  // cpuset.cpus, or none.
  void set(const std::string& slice, const topology::CpuSet& allowed,
           const std::filesystem::path& group = {});
  // As a start below the slice does: its property, if set, is written into its group.
  void start_below(const std::string& slice);
  [[nodiscard]] topology::CpuSet allowed(const std::string& slice);
  // How often SetUnitProperties was obeyed, and calls have come at all.
  [[nodiscard]] int sets() const { return sets_; }
  [[nodiscard]] int calls() const { return calls_; }

  // From now on it takes calls and answers none.
  void fall_silent() { silent_ = true; }
  // From now on it takes calls and answers none before it is let go.
  void hold() { held_ = true; }
  void let_go() {
    held_ = false;
    held_.notify_all();
  }
  // From now on it answers each call with this D-Bus error.
  void refuse(const std::string& error);
  // From now on it takes properties and writes no files.
  void leave_groups_alone() { writes_ = false; }

 private:
  struct Slice {
    topology::CpuSet allowed;
    std::filesystem::path group;
  };

  // Until the test or the other side ends it.
  void serve(sd_bus* bus);
  void serve_all();
  // False: the test is over.
  [[nodiscard]] bool wait_for(int fd, int events) const;
  int answer(sd_bus_message* call);
  int get_unit(sd_bus_message* call);
  int get_property(sd_bus_message* call);
  int set_properties(sd_bus_message* call);
  void write(const Slice& slice) const;

  std::mutex mutex_;
  std::map<std::string, Slice> slices_;
  std::string refusal_;
  std::atomic<int> sets_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> silent_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<bool> writes_ = true;
  Fd stop_;
  Fd listening_;
  sd_bus* bus_ = nullptr;
  std::thread thread_;
};

}  // namespace pinion::test_support
