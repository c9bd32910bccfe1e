// A pod that holds the cores of one Slurm job on one node.
#pragma once

#include <cstdint>
#include <string>

namespace pinion::slurm {

struct Placeholder {
  enum class Phase {
    kWaiting,  // for a node, or for its start there
    kRunning,
    kLost,  // evicted, failed or being deleted: its cores are on their way to others
  };

  std::string name;
  std::string uid;
  std::uint32_t job = 0;
  std::string attempt;  // attempt_of() of the job that it was made for
  int index = 0;        // 0 .. size - 1
  int size = 1;         // how many the job has; 0: an elastic job, which has now more, now fewer
  int cpus = 1;
  std::string partition;  // of Slurm, that its job was to run in; empty: whichever
  std::string list;       // short for the nodes that it may go to; empty: not known
  Phase phase = Phase::kWaiting;
  bool leaving = false;  // it is being deleted already
  std::string node;      // in Slurm's words; empty: none yet
  std::string cpu_list;  // of that node, "0-3,8"; empty: not known
  std::string why;       // it waits, as the scheduler or the kubelet says
  bool never = false;    // it fits no node, not even an idle one

  bool operator==(const Placeholder&) const = default;
};

}  // namespace pinion::slurm
