// What is to be done, from what Slurm and the API server say now. Nothing else is remembered: who
// does half of it and starts anew goes on from there.
//
// A job of ours is held from its submission on, then:
//
//   held, no placeholders       -> they are made, all of them, for nodes where Slurm can start it
//   held, all of them run       -> the job is pinned to their nodes, and released
//   held, too few nodes left    -> its placeholders are deleted
//   released, and lacks some    -> held again
//   runs, and lacks one         -> requeued and held, or cancelled where it cannot run again
//   over, requeued or cancelled -> its placeholders are deleted
//
// A job that may have more nodes or fewer gets a NodeCount first, and then as many placeholders as
// that says. While it runs:
//
//   fewer are wanted            -> it leaves nodes, they are deleted, the extender hears of it
//   more are wanted             -> they are made; as each runs, a job of ours gives it their node
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/slurm/action.h"
#include "cluster/slurm/job.h"
#include "cluster/slurm/node.h"
#include "cluster/slurm/node_count.h"
#include "cluster/slurm/placeholder.h"
#include "cluster/slurm/shape.h"

namespace pinion::slurm {

struct Rules {
  std::string cluster = "slurm";  // begins the placeholders' names
  ShapeRules shape = {};
  // Jobs with placeholders that wait at one time, and of one user a quarter; the rest queue in
  // Slurm. Those that fit no node count by themselves, as they would keep all others out. None gets
  // placeholders while those that wait name 2,000,000 nodes: each names all that it may go to.
  int most_waiting = 100;
  std::int64_t start_limit_s = 120;  // from a job's release to its start, else it is placed anew
  std::int64_t retry_s = 30;         // pause after the second failed attempt; grows with each
  bool elastic = false;              // the extender may choose numbers of nodes
};

struct View {
  std::vector<Job> jobs;
  std::vector<Node> nodes;
  std::vector<Placeholder> placeholders;
  std::vector<NodeCount> counts = {};
  std::string keeps_size = {};       // why no job can change its size while it runs; empty: it can
  bool placeholders_current = true;  // false: the API server is not reached; nothing is placed
  std::int64_t now_s = 0;            // since 1970
};

// For a job of which the API server refuses a placeholder, by a quota or a policy. What it has is
// given back, so that jobs do not wait for each other's for ever; it is tried again later.
// Precondition: read_mark() knows the job.
[[nodiscard]] Hold given_up(const Rules& rules, const Job& job, const std::string& why,
                            std::int64_t now_s);

// For a job whose nodes Slurm refuses each time. It gives them back, and is placed anew after a
// pause that grows. Precondition: as given_up().
[[nodiscard]] Hold not_placed(const Rules& rules, const Job& job, const std::string& why,
                              std::int64_t now_s);

// In the order in which they are to be done: jobs in the order of their submission, then
// placeholders that no job has. No action is there twice.
[[nodiscard]] std::vector<Action> decide(const Rules& rules, const View& view);

}  // namespace pinion::slurm
