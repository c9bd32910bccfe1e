// Writes the CPUs of QoS classes' groups. Where a group is a slice whose unit has the property
// AllowedCPUs, systemd writes that into the group at every start of a unit below: there systemd is
// told to change the property, and what it said before is a limit to what is written. Everywhere
// else, and where systemd cannot be told, the group's file is written directly.
//
// This is done while the runtime waits for its answer: a group must be narrow before a rank's
// program starts. A change takes systemd 14 to 33 ms in an emulated guest, which is ten to twenty
// times slower than a machine. While it does not answer (it reloads), the manager's own limit ends
// the wait, the file is written, and the next audit tells systemd again.
#pragma once

#include <map>
#include <string>

#include "agent/engine/engine.h"
#include "agent/systemd/manager.h"
#include "base/error.h"

namespace pinion::cgroup {

class QosWriter {
 public:
  // Without addresses the files are always written directly.
  explicit QosWriter(std::vector<systemd::Address> addresses, systemd::Timing timing = {})
      : manager_(std::move(addresses), timing) {}

  // Brings a group (its descriptor, and its path below the mount) to the wanted CPUs as far as its
  // limit allows. In `result`, `found` has to be what stands there; sets `written`, `limit` and
  // `slice_error`. Errors: of the system, where the file had to be written and could not.
  Status bring(int group, const std::string& path, const engine::Enforce& wanted,
               engine::Enforced& result);

  // Puts a slice's property back as it was before it was first changed here. False: it never was,
  // or is not set any more. What somebody else has set since stays. Errors: as the manager's.
  Result<bool> restore(int group, const std::string& path);

 private:
  struct Slice {
    bool known = false;                   // `property` and `limit` are as systemd last said
    engine::CpuSet property;              // empty: not set
    std::optional<engine::CpuSet> limit;  // what the property was before it was changed here
    engine::CpuSet left;                  // the group's CPUs as they were left
  };

  Status ask(int group, const std::string& unit, Slice& slice);
  Status tell(int group, const std::string& unit, const engine::CpuSet& cpus, Slice& slice);

  systemd::Manager manager_;
  std::map<std::string, Slice> slices_;  // by unit; as many as there are QoS classes
};

}  // namespace pinion::cgroup
