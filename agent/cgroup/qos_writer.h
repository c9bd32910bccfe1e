// Writes the CPUs of QoS classes' groups: the group's file at once, since a group must be narrow
// before a rank's program starts and the runtime waits for that. Where the group is a slice,
// systemd is asked and told by a thread that may wait; what it has answered changes what is written
// when the group is looked at the next time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/cgroup/slice_thread.h"

namespace pinion::cgroup {

class QosWriter {
 public:
  // Without addresses nobody is asked, and the files are written.
  explicit QosWriter(std::vector<systemd::Address> addresses, systemd::Timing timing = {});

  // Brings a group (its descriptor, and its path below the mount) to the wanted CPUs as far as its
  // limit allows: what systemd has said; before it has said anything, what an earlier agent has
  // recorded, else what the group has. In `result`, `found` has to be what stands there; sets
  // `written`, `limit`, `systemd_writes` and `slice_error`. Errors: of the system, where the file
  // had to be written and could not.
  Status bring(int group, const std::string& path, const engine::Enforce& wanted,
               engine::Enforced& result);

  // See qos_groups.h; what comes of it is news.
  [[nodiscard]] Status widen_narrowed(const Hierarchy& hierarchy);

  // Readable when there is news; -1 while there can be none.
  [[nodiscard]] int news_fd() const;
  struct News {
    std::vector<std::string> groups;  // ids of those to be looked at again
    std::optional<Widened> widened;
  };
  [[nodiscard]] News take_news();
  // Systemd is asked nothing, and all that it has answered was taken.
  [[nodiscard]] bool quiet() const { return thread_->quiet(); }

 private:
  struct Slice {
    std::string id;       // of the Enforce
    SliceTarget target;   // the last one
    engine::CpuSet left;  // the group's CPUs as they were left; empty: never seen
    std::optional<SliceAnswer> answer;
  };

  void ask(int group, const std::string& unit, const engine::Enforce& wanted, Slice& slice,
           engine::Enforced& result);

  bool asks_;
  std::unique_ptr<SliceThread> thread_;
  std::map<std::string, Slice> slices_;  // by unit; as many as there are QoS classes
};

}  // namespace pinion::cgroup
