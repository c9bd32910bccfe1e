// A job as Slurm tells of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pinion::slurm {

struct Job {
  enum class State {
    kPending,
    kRunning,  // or suspended: it keeps its cores
    kEnding,   // or in a state that is not known: it keeps what it has
    kOver
  };

  std::uint32_t id = 0;
  std::int64_t submit_s = 0;  // since 1970; a requeue is a new submission
  int restarts = 0;
  State state = State::kPending;
  bool held = false;         // its priority is 0
  bool dependent = false;    // waits for another job
  bool batch = false;        // it has a script, which runs on batch_host
  bool requeues = false;     // it may be run again: a batch job without --no-requeue
  std::int64_t begin_s = 0;  // not before; 0: at once
  std::string reason;        // why it is pending: "JobHeldUser"
  std::string user;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string account;
  std::string comment;
  std::string admin_comment;  // ours, see mark.h

  // What it wants; 0: not said.
  int nodes = 1;      // at least
  int max_nodes = 0;  // at most
  int cpus = 1;
  int tasks = 0;
  int cpus_per_task = 0;
  int tasks_per_node = 0;
  int cpus_per_node = 0;  // at least
  std::int64_t memory_per_node_mib = 0;
  std::int64_t memory_per_cpu_mib = 0;
  bool exclusive = false;  // whole nodes
  bool heterogeneous = false;
  std::string constraint;               // on the features of its nodes
  std::vector<std::string> partitions;  // any of these; empty: whichever
  std::vector<std::string> excluded;    // nodes

  std::vector<std::string> pinned;  // the nodes that it may only run on
  std::vector<std::string> on;      // the nodes that it runs on
  std::string batch_host;           // of these, the one that it cannot leave

  // Elements of an array. What is not told apart yet is one job with the list of their numbers.
  std::uint32_t array = 0;  // 0: no array
  std::optional<int> element;
  std::string elements;   // "0,2-9%4"
  int most_elements = 0;  // that run at one time; 0: no limit
};

}  // namespace pinion::slurm
