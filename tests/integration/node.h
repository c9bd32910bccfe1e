// A node for one test: a private containerd and the agent beside it, and the questions that the
// tests ask. Helpers answer Result values; the tests assert on them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/lab/agent_process.h"
#include "tests/lab/containerd_lab.h"
#include "topology/topology.h"

namespace pinion::topology {

// So that a failed comparison shows CPU lists.
inline void PrintTo(const CpuSet& cpus, std::ostream* out) {
  *out << "'" << cpus.to_string() << "'";
}

}  // namespace pinion::topology

namespace pinion::integration {

using lab::Milliseconds;
using topology::CpuSet;

// One container in a pod of its own, started.
struct Running {
  lab::RunningPod pod;
  std::string id;
  std::string cgroup;  // path
};

// As many CPUs as one of this machine's cores has, so that a rank of that size gets a whole core.
struct Machine {
  topology::Topology topology;
  CpuSet reserved;  // the first core
  int width = 1;    // CPUs of a rank
  int ranks = 1;    // how many ranks of that width fit
};
Result<Machine> this_machine();

// The containerds that cases run against: folders of scripts/runtime.sh, the last by its --v24.
inline auto every_containerd() {
  return testing::Values("1.7", "2.1", "2.4");
}
// "v21" of "2.1".
inline std::string version_word(std::string version) {
  std::erase(version, '.');
  return "v" + version;
}
inline std::string version_name(const testing::TestParamInfo<std::string>& param) {
  return version_word(param.param);
}

// Every case runs against each containerd, each time a new one unless open_lab() says otherwise.
// Skips, with the reason, where no lab can run.
class NodeTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;
  virtual Result<std::shared_ptr<lab::ContainerdLab>> open_lab(const lab::LabOptions& options);
  virtual Status close_lab() { return lab_->close(); }

  [[nodiscard]] lab::ContainerdLab& node() { return *lab_; }
  [[nodiscard]] const lab::ContainerdLab& node() const { return *lab_; }
  [[nodiscard]] lab::AgentProcess& agent() { return agent_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }

  Status start_agent(const lab::AgentOptions& more = {});

  Result<Running> run(const lab::PodSpec& spec);
  Status remove(const Running& container) { return lab_->remove_pod(container.pod); }
  // A rank (Guaranteed, `width` CPUs, of a job, so alignment is required) and two kinds of noise;
  // all spin.
  [[nodiscard]] lab::PodSpec rank_spec(const std::string& name) const;
  Result<Running> run_rank(const std::string& name) { return run(rank_spec(name)); }
  Result<Running> run_burstable(const std::string& name);
  Result<Running> run_best_effort(const std::string& name);

  // What its cgroup's file says; the empty set when it cannot be read.
  [[nodiscard]] CpuSet file(const Running& container) const;
  // CPUs on which its threads were seen to run within `duration`.
  [[nodiscard]] CpuSet ran_on(const Running& container, Milliseconds duration) const;
  // Every task's Cpus_allowed_list equals `cpus`.
  testing::AssertionResult tasks_allowed(const Running& container, const CpuSet& cpus) const;
  // The rank has `width` CPUs, none of them in any of the others' files, and the agent says the
  // same as the files.
  testing::AssertionResult is_pinned(const Running& rank, const std::vector<Running>& others);
  // The same, as soon as it holds, within `limit`.
  testing::AssertionResult becomes_pinned(const Running& rank, const std::vector<Running>& others,
                                          Milliseconds limit);
  // For every container the agent knows: its cgroup's file says what the agent decided.
  testing::AssertionResult no_drift();

  std::string logs() const;  // tails, for a failure's message

 private:
  [[nodiscard]] Result<CpuSet> file_of(const lab::AgentContainer& container) const;
  // As is_pinned() and no_drift(), at this moment.
  testing::AssertionResult agent_says(const Running& rank, const CpuSet& cpus) const;
  testing::AssertionResult nothing_drifted() const;

  Machine machine_;
  std::shared_ptr<lab::ContainerdLab> lab_;
  lab::AgentProcess agent_;
};

template <class T>
testing::AssertionResult ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().text;
}

}  // namespace pinion::integration
