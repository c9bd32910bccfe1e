// What people and tools may see of the pod scheduler: taken in a moment, turned into JSON
// afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/extender/scheduling/pod_scheduler.h"

namespace pinion::cluster {

struct NodeRow {
  struct Numa {
    int id = 0;    // the kernel's number
    int cpus = 0;  // without reserved ones
    int free = 0;
    topology::Bytes memory = 0;
    topology::Bytes free_memory = 0;  // not promised to containers with cores of their own

    bool operator==(const Numa&) const = default;
  };
  std::string name;
  std::vector<Numa> numa;  // those with CPUs
  int containers = 0;      // with cores, promised ones too
  int largest_numa = 0;    // CPUs that one container aligned to a NUMA node could get
  int largest_l3 = 0;
  bool stale = false;
  std::int64_t heard_ms = 0;  // when its agent was heard, by the pod scheduler's clock
};
// All nodes, by name.
[[nodiscard]] std::vector<NodeRow> fleet_rows(const PodScheduler& scheduler);

struct JobRow {
  std::string name;           // NAMESPACE/JOB, or NAMESPACE/POD for a pod by itself
  int size = 0;               // pods that belong together
  int members = 0;            // of them, that exist
  int kept = 0;               // places kept
  int held = 0;               // bindings that wait for the others
  int bound = 0;              // made, or under way
  std::string why;            // it waits: what the scheduler was told last
  std::int64_t since_ms = 0;  // waits since, by the pod scheduler's clock

  bool operator==(const JobRow&) const = default;
};
// Gangs, and pods by themselves that wait; by name.
[[nodiscard]] std::vector<JobRow> job_rows(const PodScheduler& scheduler);

struct ElasticRow {
  std::string name;  // NAMESPACE/JOB
  std::string kind;  // "Job", "MPIJob"
  std::string change;
  std::string state;  // "waits", "starts", "runs", "shrinks", "expands", "ends"
  int workers = 0;    // that its spec has now; 0: it is suspended
  int ready = 0;
  int least = 1;
  int most = 1;
  std::optional<int> wanted{};     // a rescale is under way
  std::optional<int> requested{};  // its user wishes so many
  std::optional<int> asked{};      // its application does
  std::string why{};  // it waits, its wish is not met, or its application is waited for
  struct Step {
    std::string at;  // RFC 3339
    std::string what;
    std::string why;

    bool operator==(const Step&) const = default;
  };
  std::vector<Step> history{};  // the newest first
  // What was seen of it.
  struct Speed {
    std::string measure;                          // "progress", "instructions", "" for none
    std::vector<std::pair<int, double>> rates{};  // by workers: work of that each second
    std::optional<double> shrink_s{};             // seconds that a shrink takes it, the mean
    std::optional<double> expand_s{};

    bool operator==(const Speed&) const = default;
  };
  Speed speed{};

  bool operator==(const ElasticRow&) const = default;
};

// What was learnt of a job's earlier runs.
struct ProfileRow {
  std::string name;          // NAMESPACE/JOB
  std::string profile = {};  // "cpu", "memory", "network"; empty: nothing can be said yet
  int runs = 0;
  std::string last;  // the day on which the last one ended: "2026-11-20"
  std::string why;

  bool operator==(const ProfileRow&) const = default;
};

// Those of JobRow, ElasticRow or ProfileRow in that namespace; empty: all.
template <class Row>
[[nodiscard]] std::vector<Row> of_namespace(std::string_view name_space, std::vector<Row> rows) {
  if (name_space.empty()) return rows;
  const std::string start = std::string(name_space) + "/";
  std::erase_if(rows, [&start](const Row& row) { return !row.name.starts_with(start); });
  return rows;
}

// `now_ms`: the pod scheduler's clock at the moment of the rows.
[[nodiscard]] std::string fleet_json(const std::vector<NodeRow>& rows, std::int64_t now_ms);
// The first so many rows of each list; "notShown" says of each how many more there are, if any.
inline constexpr std::size_t kMostRowsShown = 2'000;
[[nodiscard]] std::string jobs_json(const std::vector<JobRow>& rows, std::int64_t now_ms,
                                    const std::vector<ElasticRow>& elastic = {},
                                    const std::vector<ProfileRow>& profiles = {});

}  // namespace pinion::cluster
