// The CPUs of QoS classes' slices by systemd. Where a slice's unit has the property AllowedCPUs,
// systemd writes it into the slice's group at every start of a unit below: there systemd is told to
// change the property, and what it said before is a limit to what is set.
//
// Waits for systemd: a change takes it 14 to 33 ms in an emulated guest, and while it does not
// answer (it reloads) only the manager's own limit ends the wait. So never on the thread that
// answers the runtime, see slice_thread.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/engine/engine.h"
#include "agent/systemd/manager.h"
#include "base/error.h"

namespace pinion::cgroup {

// What a slice is to have.
struct SliceTarget {
  engine::CpuSet cpus;
  std::vector<engine::CpuSet> below;  // as Enforce::below

  bool operator==(const SliceTarget&) const = default;
};

// What came of it.
struct SliceAnswer {
  std::optional<engine::CpuSet> limit;  // what the property was before it was first changed here
  std::string error;                    // why systemd could not be asked or told
  bool told = false;                    // systemd has changed the property, and written the group

  bool operator==(const SliceAnswer&) const = default;
};

// The unit of the group at `path`; empty for a group that is none of systemd's slices.
[[nodiscard]] std::string unit_of(const std::string& path);

// For one thread.
class SliceProperties {
 public:
  // Without addresses systemd is reached nowhere.
  explicit SliceProperties(std::vector<systemd::Address> addresses, systemd::Timing timing = {})
      : manager_(std::move(addresses), timing) {}

  // Asks for the unit's property; where it is set, brings it to the target as far as the limit
  // allows. `group`: a descriptor of the unit's group, whose files are not written here.
  SliceAnswer bring(int group, const std::string& unit, const SliceTarget& target);

  // Puts a slice's property back as it was before it was first changed here. False: it never was,
  // or is not set any more. What somebody else has set since stays. Errors: as the manager's.
  Result<bool> restore(int group, const std::string& path);

 private:
  struct Slice {
    engine::CpuSet property;              // as systemd last said; empty: not set
    std::optional<engine::CpuSet> limit;  // what it was before it was changed here
  };

  Status ask(int group, const std::string& unit, Slice& slice);
  Status tell(int group, const std::string& unit, const engine::CpuSet& cpus, Slice& slice);

  systemd::Manager manager_;
  std::map<std::string, Slice> slices_;  // by unit; as many as there are QoS classes
};

}  // namespace pinion::cgroup
