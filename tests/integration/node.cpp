#include "tests/integration/node.h"

#include <algorithm>

#include "metrics/proc_files.h"
#include "tests/lab/usage.h"
#include "topology/discover/discover.h"

namespace pinion::integration {
namespace {

// The agent shows its state a moment after it has answered the runtime.
constexpr Milliseconds kShown{30'000};

// The last answer of `holds`, which is asked until it is a success, or that long.
template <class Holds>
testing::AssertionResult soon(Milliseconds limit, Holds holds) {
  testing::AssertionResult last = testing::AssertionFailure();
  lab::eventually(limit, [&]() -> bool {
    last = holds();
    return static_cast<bool>(last);
  });
  return last;
}

}  // namespace

Result<Machine> this_machine() {
  auto topology = topology::discover(topology::Source{});
  if (!topology) return failure(topology.error());
  Machine machine;
  machine.topology = std::move(*topology);
  const auto& cores = machine.topology.cores;
  machine.reserved = cores.front().cpus;
  machine.width = cores.front().cpus.count();
  for (const auto& core : cores) machine.width = std::min(machine.width, core.cpus.count());
  machine.ranks = static_cast<int>(cores.size()) - 1;
  return machine;
}

void NodeTest::SetUp() {
  lab::LabOptions options{.containerd = GetParam()};
  if (const std::string why = lab::why_no_lab(options); !why.empty()) GTEST_SKIP() << why;
  auto machine = this_machine();
  ASSERT_TRUE(ok(machine));
  if (machine->ranks < 1) GTEST_SKIP() << "this machine has one core only";
  machine_ = std::move(*machine);
  auto lab = open_lab(options);
  ASSERT_TRUE(ok(lab));
  lab_ = std::move(*lab);
}

Result<std::shared_ptr<lab::ContainerdLab>> NodeTest::open_lab(const lab::LabOptions& options) {
  return lab::ContainerdLab::start(options);
}

void NodeTest::TearDown() {
  if (!lab_) return;
  if (HasFailure()) std::printf("%s\n", logs().c_str());
  if (agent_.running()) {  // so that what it says of leaks is heard
    const auto ended = agent_.stop();
    EXPECT_TRUE(ok(ended));
    EXPECT_EQ(ended.value_or(0), 0) << logs();
  }
  EXPECT_TRUE(ok(close_lab())) << "left behind";
}

std::string NodeTest::logs() const {
  return "--- agent\n" + agent_.log_tail(60) + "--- containerd\n" +
         lab::tail_of(lab_->containerd_log(), 12);
}

Status NodeTest::start_agent(const lab::AgentOptions& more) {
  lab::AgentOptions options = more;
  if (options.reserved_cpus.empty()) options.reserved_cpus = machine_.reserved.to_string();
  auto agent = lab::AgentProcess::start(*lab_, options);
  if (!agent) return failure(agent.error());
  agent_ = std::move(*agent);
  return agent_.wait_ready();
}

Result<Running> NodeTest::run(const lab::PodSpec& spec) {
  auto pod = lab_->run_pod(spec);
  if (!pod) return failure(pod.error());
  auto id = lab_->start_container(*pod, spec.containers.front());
  if (!id) {
    Status removed = lab_->remove_pod(*pod);
    return failure(id.error());
  }
  return Running{.pod = *pod, .id = *id, .cgroup = lab::ContainerdLab::cgroup_of(*pod, *id)};
}

lab::PodSpec NodeTest::rank_spec(const std::string& name) const {
  auto spec = lab::guaranteed_pod(name, machine_.width, lab::spin(machine_.width));
  spec.annotations["pinion.dev/job"] = "job";
  return spec;
}

Result<Running> NodeTest::run_burstable(const std::string& name) {
  return run(lab::burstable_pod(name, 200, lab::spin(2)));
}

Result<Running> NodeTest::run_best_effort(const std::string& name) {
  return run(lab::best_effort_pod(name, lab::spin(1)));
}

CpuSet NodeTest::file(const Running& container) const {
  const auto cpus = lab_->cgroups().cpus(container.cgroup);
  return cpus ? *cpus : CpuSet();
}

CpuSet NodeTest::ran_on(const Running& container, Milliseconds duration) const {
  const auto uses = lab::measure(lab_->cgroups(), {container.cgroup}, duration, Milliseconds(2));
  CpuSet cpus;
  for (const auto& thread : uses.front().threads) cpus |= thread.ran_on;
  return cpus;
}

testing::AssertionResult NodeTest::tasks_allowed(const Running& container,
                                                 const CpuSet& cpus) const {
  const auto pids = lab_->cgroups().processes(container.cgroup);
  if (pids.empty()) return testing::AssertionFailure() << "no processes in " << container.cgroup;
  for (const int pid : pids) {
    const auto status = metrics::read_task_status("", pid, pid);
    if (!status || !status->cpus_allowed) continue;  // ended meanwhile
    if (*status->cpus_allowed == cpus) continue;
    return testing::AssertionFailure()
           << "process " << pid << " is allowed " << status->cpus_allowed->to_string() << ", not "
           << cpus.to_string();
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult NodeTest::is_pinned(const Running& rank,
                                             const std::vector<Running>& others) {
  const CpuSet cpus = file(rank);
  if (cpus.count() != machine_.width) {
    return testing::AssertionFailure() << rank.pod.spec.name << " has CPUs '" << cpus.to_string()
                                       << "', wanted " << machine_.width;
  }
  for (const auto& other : others) {
    if (file(other).empty() || file(other).intersects(cpus)) {
      return testing::AssertionFailure()
             << other.pod.spec.name << " has CPUs '" << file(other).to_string() << "', "
             << rank.pod.spec.name << " has " << cpus.to_string();
    }
  }
  return soon(kShown, [&] { return agent_says(rank, cpus); });
}

testing::AssertionResult NodeTest::agent_says(const Running& rank, const CpuSet& cpus) const {
  const auto status = agent_.status();
  if (!status) return testing::AssertionFailure() << status.error().text;
  const auto* known = status->find(rank.id);
  if (known == nullptr) return testing::AssertionFailure() << "the agent does not know it";
  if (known->exclusive && known->decided == cpus) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "the file says " << cpus.to_string() << ", the agent "
         << (known->exclusive ? "exclusive '" : "shared '") << known->decided.to_string() << "'";
}

testing::AssertionResult NodeTest::becomes_pinned(const Running& rank,
                                                  const std::vector<Running>& others,
                                                  Milliseconds limit) {
  return soon(limit, [&] { return is_pinned(rank, others); });
}

// Whatever the container's QoS class is.
Result<CpuSet> NodeTest::file_of(const lab::AgentContainer& container) const {
  Result<CpuSet> cpus = failure(Errc::kNotFound, "not asked");
  for (const char* qos : {"", "/burstable", "/besteffort"}) {
    cpus = lab_->cgroups().cpus(lab_->cgroup_root() + "/kubepods" + qos + "/poduid-" +
                                container.pod + "/" + container.id);
    if (cpus) break;
  }
  return cpus;
}

testing::AssertionResult NodeTest::no_drift() {
  return soon(kShown, [&] { return nothing_drifted(); });
}

testing::AssertionResult NodeTest::nothing_drifted() const {
  const auto status = agent_.status();
  if (!status) return testing::AssertionFailure() << status.error().text;
  std::string wrong;
  for (const auto& container : status->containers) {
    const auto cpus = file_of(container);
    if (!container.trouble.empty()) wrong += "\n" + container.pod + ": " + container.trouble;
    if (!cpus) {
      wrong += "\n" + container.pod + ": " + cpus.error().text;
    } else if (container.decided != *cpus) {
      wrong += "\n" + container.pod + ": its file says " + cpus->to_string() + ", decided was '" +
               container.decided.to_string() + "'";
    }
  }
  if (wrong.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << wrong;
}

}  // namespace pinion::integration
