#include "tests/lab/mpi_rounds.h"

#include <sched.h>

#include <algorithm>

#include "tests/lab/agent_process.h"

namespace pinion::lab {
namespace {

constexpr Milliseconds kSettle{10000};
constexpr Milliseconds kFigures{3000};  // the agent counts once a second

// Keeps the calling thread on some CPUs for as long as this lives; what it starts inherits them.
class StayOn {
 public:
  explicit StayOn(const topology::CpuSet& cpus) {
    saved_ = ::sched_getaffinity(0, sizeof(before_), &before_) == 0;
    cpu_set_t wanted{};
    for (const topology::CpuId cpu : cpus) {
      if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    }
    // Where this is not allowed, the runs have a little more noise and all else stays true.
    if (saved_) saved_ = ::sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
  }
  ~StayOn() {
    if (saved_) ::sched_setaffinity(0, sizeof(before_), &before_);
  }
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  cpu_set_t before_{};
  bool saved_ = false;
};

class Alternation {
 public:
  Alternation(ContainerdLab& lab, const Job& noise, const MpiJob& job)
      : lab_(lab), noise_(noise), job_(job) {}

  Result<Rounds> run(int rounds, const Progress& progress);

 private:
  Status run_alone();
  Status start_noise();
  Status stop_noise();
  Status run_one(int round, bool pinned, const Progress& progress);
  Result<Round> run_pinned();
  Result<Round> run_unpinned();
  Result<AgentFigures> ask(const AgentProcess& agent, const MpiRun& run);
  [[nodiscard]] std::string next_name() { return "hpcc-" + std::to_string(runs_++); }
  [[nodiscard]] bool noise_may_run_on(const topology::CpuSet& cpus) const;
  [[nodiscard]] bool noise_keeps_off(const topology::CpuSet& cpus) const;

  ContainerdLab& lab_;
  const Job& noise_;
  const MpiJob& job_;
  int runs_ = 0;
  topology::CpuSet all_;  // where a container may run when nobody pins
  std::vector<RunningPod> pods_;
  std::vector<std::string> cgroups_;
  Rounds result_;
};

Status Alternation::run_alone() {
  auto run = run_mpi(lab_, job_, next_name(), [](const MpiRun&) -> Status { return {}; });
  if (!run) return failure(run.error().within("alone"));
  all_ = run->cpuset;
  result_.alone = std::move(*run);
  return {};
}

Status Alternation::start_noise() {
  for (const auto* group : {&noise_.noise_before, &noise_.noise_after}) {
    for (const auto& spec : *group) {
      const auto pod = lab_.run_pod(spec);
      if (!pod) return failure(pod.error().within("pod " + spec.name));
      pods_.push_back(*pod);
      const auto id = lab_.start_container(*pod, spec.containers.front());
      if (!id) return failure(id.error().within("pod " + spec.name));
      cgroups_.push_back(ContainerdLab::cgroup_of(*pod, *id));
    }
  }
  const auto loops = static_cast<std::size_t>(noise_.loops_per_noise);
  const bool working = eventually(kSettle, [&] {
    return std::all_of(cgroups_.begin(), cgroups_.end(), [&](const std::string& cgroup) {
      return is_at_work(lab_.cgroups(), cgroup, loops);
    });
  });
  if (!working) return failure(Errc::kUnavailable, "the noise did not come to run within 10 s");
  return {};
}

Status Alternation::stop_noise() {
  Status done;
  for (const auto& pod : pods_) {
    Status removed = lab_.remove_pod(pod);
    if (done) done = removed;
  }
  return done;
}

bool Alternation::noise_may_run_on(const topology::CpuSet& cpus) const {
  return std::all_of(cgroups_.begin(), cgroups_.end(), [&](const std::string& cgroup) {
    const auto now = lab_.cgroups().cpus(cgroup);
    return now && *now == cpus;
  });
}

bool Alternation::noise_keeps_off(const topology::CpuSet& cpus) const {
  return std::all_of(cgroups_.begin(), cgroups_.end(), [&](const std::string& cgroup) {
    const auto now = lab_.cgroups().cpus(cgroup);
    return now && !now->intersects(cpus);
  });
}

topology::CpuSet ran_on(const MpiRun& run) {
  topology::CpuSet cpus;
  for (const auto& thread : run.use.threads) cpus |= thread.ran_on;
  return cpus;
}

Result<AgentFigures> Alternation::ask(const AgentProcess& agent, const MpiRun& run) {
  const AgentApi api(agent.api_socket());
  // An agent without the interface: not even a socket.
  auto figures = api.figures_after(run.container, run.use.cpu_seconds(), kFigures);
  if (!figures) return figures;
  if (const auto why = api.why_not_counted("l3-misses")) result_.why_no_l3_misses = *why;
  return figures;
}

Result<Round> Alternation::run_pinned() {
  auto agent = AgentProcess::start(lab_, {.reserved_cpus = noise_.reserved.to_string()});
  if (!agent) return failure(agent.error());
  if (Status ready = agent->wait_ready(); !ready) return failure(ready.error());
  Round round;
  auto run = run_mpi(lab_, job_, next_name(), [&](const MpiRun& now) -> Status {
    if (now.cpuset.count() != job_.cpus || !noise_keeps_off(now.cpuset) ||
        !ran_on(now).is_subset_of(now.cpuset)) {
      return failure(Errc::kInternal, "it was not alone on CPUs " + now.cpuset.to_string() +
                                          "; it ran on " + ran_on(now).to_string());
    }
    if (auto figures = ask(*agent, now)) round.agent = *figures;
    const auto held = std::chrono::steady_clock::now() - now.begun;
    round.held_seconds = std::chrono::duration<double>(held).count();
    return {};
  });
  if (!run) return failure(run.error().within("pinned"));
  round.run = std::move(*run);
  // Its cores go back to the others; until then the next run would not be an unpinned one.
  const bool given_back = eventually(kSettle, [&] { return noise_may_run_on(all_); });
  if (!given_back) return failure(Errc::kInternal, "the noise did not get the job's cores back");
  if (const auto status = agent->stop(); !status) return failure(status.error().within("agent"));
  return round;
}

Result<Round> Alternation::run_unpinned() {
  auto run = run_mpi(lab_, job_, next_name(), [&](const MpiRun& now) -> Status {
    if (now.cpuset == all_ && noise_may_run_on(all_)) return {};
    return failure(Errc::kInternal, "it ran on CPUs " + now.cpuset.to_string() + ", not on all");
  });
  if (!run) return failure(run.error().within("unpinned"));
  Round round;
  round.run = std::move(*run);
  return round;
}

Status Alternation::run_one(int round, bool pinned, const Progress& progress) {
  auto one = pinned ? run_pinned() : run_unpinned();
  if (!one) return failure(one.error().within("round " + std::to_string(round)));
  progress(round, pinned, one->run);
  (pinned ? result_.pinned : result_.unpinned).push_back(std::move(*one));
  return {};
}

Result<Rounds> Alternation::run(int rounds, const Progress& progress) {
  const StayOn stay(noise_.reserved);
  Status done = run_alone();
  if (done) done = start_noise();
  for (int round = 1; done && round <= rounds; ++round) {
    const bool pinned_first = round % 2 == 1;
    done = run_one(round, pinned_first, progress);
    if (done) done = run_one(round, !pinned_first, progress);
  }
  if (done) done = stop_noise();
  if (!done) return failure(done.error());
  return std::move(result_);
}

}  // namespace

Result<Rounds> run_rounds(ContainerdLab& lab, const Job& noise, const MpiJob& job, int rounds,
                          const Progress& progress) {
  return Alternation(lab, noise, job).run(rounds, progress);
}

}  // namespace pinion::lab
