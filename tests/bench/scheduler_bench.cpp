// How many decisions a second the core takes: 100,000 jobs of 1 to 16 members through 1,000
// imagined nodes of 64 CPUs on a virtual clock, more than the nodes can take, so that the queue is
// never empty; without gang_plan.h's search, which costs some milliseconds for each gang. A
// decision is a job placed, or a look at the fleet that found no room for one. Beside it the same
// jobs placed by first fit, and in the order of the queue alone.
#include <benchmark/benchmark.h>

#include <memory>
#include <queue>
#include <random>

#include "cluster/core/scheduler.h"
#include "tests/support/machine.h"

namespace pinion::cluster {
namespace {

constexpr int kNodes = 1000;
constexpr int kJobs = 100'000;

class Play {
 public:
  explicit Play(const SchedulerSettings& settings) : scheduler_(settings), random_(1) {
    const auto machine = std::make_shared<const topology::Topology>(
        test_support::machine({.packages = 2,
                               .l3s_per_node = 4,
                               .cores_per_l3 = 8,
                               .memory_per_node = 256 * test_support::kGiB}));
    for (int node = 0; node < kNodes; ++node) {
      NodeReport report;
      report.name = "node-" + std::to_string(node);
      report.topology = machine;
      report.reserved = topology::CpuSet{0};
      if (!scheduler_.report(std::move(report), 0)) std::abort();
    }
  }

  // Returns the simulated time.
  std::int64_t run() {
    std::int64_t next_arrival = 0;
    int submitted = 0;
    while (submitted < kJobs || !ends_.empty()) {
      const bool arrives =
          submitted < kJobs && (ends_.empty() || next_arrival <= ends_.top().first);
      now_ = arrives ? next_arrival : ends_.top().first;
      if (arrives) {
        submit(submitted++);
        next_arrival += 1 + static_cast<std::int64_t>(random_() % 560);
      } else {
        scheduler_.end("job-" + std::to_string(ends_.top().second), now_);
        ends_.pop();
      }
      scheduler_.run(now_);
      for (const JobNews& news : scheduler_.take_news()) {
        if (news.kind == JobNews::Kind::kReserved) begin(news.job);
      }
    }
    return now_;
  }

  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }

 private:
  void submit(int number) {
    const JobId id = "job-" + std::to_string(number);
    JobSpec spec;
    spec.owner = {.name_space = "team-" + std::to_string(random_() % 8), .kind = "Job", .name = id};
    spec.size = random_() % 2 == 0 ? 1 : 1 + static_cast<int>(random_() % 16);
    const std::int64_t run_ms = 60'000 + static_cast<std::int64_t>(random_() % 1'800'000);
    topology::Request request;
    request.cpus = 1 + static_cast<int>(random_() % 16);
    request.memory = 2 * test_support::kGiB;
    scheduler_.submit(id, spec, now_);
    for (int member = 0; member < spec.size; ++member) {
      const MemberId name = id + "-" + std::to_string(member);
      request.id = name + "/main";
      scheduler_.join(id, name, {request}, now_, {.run_ms = run_ms});
    }
  }

  void begin(const JobId& id) {
    const Job& job = *scheduler_.book().find(id);
    for (const auto& [name, member] : job.members) {
      scheduler_.start(name, now_);
      scheduler_.started(name, true, now_);
    }
    // The job's own time is a limit; most end before.
    const std::int64_t limit = job.members.begin()->second.terms.run_ms;
    const std::int64_t run = 1 + limit * static_cast<std::int64_t>(random_() % 100) / 100;
    ends_.emplace(now_ + run, std::stoi(id.substr(4)));
  }

  using End = std::pair<std::int64_t, int>;

  Scheduler scheduler_;
  std::mt19937_64 random_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::int64_t now_ = 0;
};

void jobs_through_the_core(benchmark::State& state, const SchedulerSettings& settings) {
  double decisions = 0;
  for (auto _ : state) {
    Play play(settings);
    const std::int64_t time = play.run();
    const auto& counters = play.scheduler().counters();
    if (counters.placed < kJobs) state.SkipWithError("some jobs have not run");
    decisions = static_cast<double>(counters.placed + counters.refused);
    state.counters["placed"] = static_cast<double>(counters.placed);
    state.counters["refused"] = static_cast<double>(counters.refused);
    state.counters["hours"] = static_cast<double>(time) / 3'600'000;
  }
  state.counters["decisions_per_s"] =
      benchmark::Counter(decisions, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr std::int64_t kForever = std::int64_t{1} << 60;

BENCHMARK_CAPTURE(jobs_through_the_core, backfill,
                  SchedulerSettings{.plan_steps = 0, .keep_ms = kForever, .confirm_ms = kForever})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(jobs_through_the_core, first_fit,
                  SchedulerSettings{.placement = PlacementPolicy::kFirstFit,
                                    .keep_ms = kForever,
                                    .confirm_ms = kForever})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(jobs_through_the_core, in_order,
                  SchedulerSettings{.backfill = false,
                                    .plan_steps = 0,
                                    .keep_ms = kForever,
                                    .confirm_ms = kForever})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

}  // namespace
}  // namespace pinion::cluster

BENCHMARK_MAIN();
