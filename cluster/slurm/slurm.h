// Slurm by its own commands: squeue, scontrol and scancel, as who runs them. They are found in
// PATH, and Slurm's configuration by SLURM_CONF or where Slurm looks for it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/action.h"
#include "cluster/slurm/job.h"
#include "cluster/slurm/node.h"

namespace pinion::slurm {

class Slurm {
 public:
  explicit Slurm(std::chrono::milliseconds limit) : limit_(limit) {}

  // All jobs that it knows, those that ended in the last minutes (MinJobAge) too. A call that fails
  // is made a second time: connections get lost while slurmctld is busy. Errors: kNotFound where
  // there is no squeue, kUnavailable.
  Result<std::vector<Job>> jobs();

  // A few words of each job, which change when one comes, goes, starts, ends, or waits for
  // something else: for a fraction of what a list of jobs costs. As jobs().
  Result<std::string> outline();
  // All nodes that it knows. Later versions' sinfo tells of groups of them; then scontrol is asked,
  // and from then on it alone. As jobs().
  Result<std::vector<Node>> nodes();

  // `job` is what the action's number means, of the list that it was decided on. Errors:
  // kUnavailable with Slurm's own words.
  Status hold(const Job& job, const Hold& what);
  Status place(const Job& job, const Place& what);
  Status requeue(const Job& job);
  Status cancel(const Job& job, const Cancel& what);
  Status say(const Job& job, const Say& what);
  Status split(const Job& job, const Split& what);
  Status shrink(const Job& job, const Shrink& what);
  // In the name of the job's user, so as root. Its node is there at once, or it fails.
  Status grow(const Job& job, const Grow& what);
  Status join(const Join& what);

  // Why no job that runs can have other nodes; empty: it can. As jobs().
  Result<std::string> keeps_size();

 private:
  Result<std::string> ask(const std::vector<std::string>& argv);
  Status update(const std::string& job, std::vector<std::string> changes);
  Status run(std::vector<std::string> argv);

  std::chrono::milliseconds limit_;  // of each command
  bool sinfo_tells_groups_ = false;
};

}  // namespace pinion::slurm
