// Containers of a snapshot in the orders in which they are shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/pinion/v1/node.pb.h"
#include "topology/cpuset.h"

namespace pinion::ctl {

// "namespace/pod/container", safe for a terminal.
std::string full_name(const v1::Container& container);

// The CPUs that nobody else has while it lives; empty for a shared or finished container.
topology::CpuSet held_cpus(const v1::Container& container);

// The live containers with CPUs of their own, ascending by their lowest CPU: by that order they are
// given marks and colours. They live as long as the snapshot.
std::vector<const v1::Container*> by_cores(const v1::Snapshot& snapshot);

enum class SortKey {
  kCpu,
  kMpki,
  kL3Misses,
  kIpc,
  kMigrations,
  kSwitches,
  kRemote,
  kIntrusion,
  kName
};

// "cpu", "mpki", "l3-misses", "ipc", "migrations", "switches", "remote", "intrusion", "name".
std::string_view to_string(SortKey key);
std::optional<SortKey> sort_key_of(std::string_view word);

// What the key sorts by, where the container has it; never for kName.
std::optional<double> value_of(const v1::Container& container, SortKey key);

// The largest value first, those without one last, equals by name. Names ascend as people order
// them: "rank-2" before "rank-10".
void sort_by(std::vector<const v1::Container*>& containers, SortKey key);

// All containers as a table, by name.
std::string containers_table(const v1::Snapshot& snapshot, bool with_finished);

}  // namespace pinion::ctl
