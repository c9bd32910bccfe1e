// What a look at all elastic jobs costs, which the leading extender takes about every second:
// 10,000 jobs of 4 CPUs a worker on 1,000 nodes of 128 CPUs, of which those that run hold
// everything.
#include <benchmark/benchmark.h>

#include <random>

#include "cluster/extender/elastic/controller.h"
#include "tests/bench/percentile.h"

namespace pinion::cluster::elastic {
namespace {

constexpr std::int64_t kNow = 1'795'532'400'000;
constexpr std::int64_t kDay = 86'400'000;
constexpr std::int64_t kCpus = 128'000;

// `waiting_ms`: so long at most have those waited that do not run.
std::map<std::string, ElasticObject> jobs_of(int count, std::int64_t waiting_ms) {
  std::mt19937 random(7);
  const auto from = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  std::map<std::string, ElasticObject> jobs;
  std::int64_t held = 0;
  for (int i = 0; i < count; ++i) {
    ElasticObject job;
    job.uid = "uid-" + std::to_string(i);
    job.name = "job-" + std::to_string(i);
    job.name_space = "users-" + std::to_string(i % 50);
    job.change = Change::kMalleable;
    job.min_workers = from(1, 8);
    job.max_workers = job.min_workers * from(1, 8);
    job.priority = from(0, 3);
    job.cpus = 4;
    job.run_s = from(60, 36'000);
    job.on_fleet.room = 0;
    job.on_fleet.room_at_best = 1000;
    const int workers = from(job.min_workers, job.max_workers);
    job.suspended = held + workers * job.cpus > kCpus;
    job.stated = workers;
    job.submitted_ms = kNow - from(1, static_cast<int>(job.suspended ? waiting_ms : kDay));
    if (!job.suspended) {
      held += workers * job.cpus;
      job.ready = job.active = workers;
      job.rescaled_ms = job.submitted_ms;
    }
    jobs.emplace(job.uid, std::move(job));
  }
  return jobs;
}

// Of so many jobs, those that wait have waited for so many seconds at most.
void look_at_jobs(benchmark::State& state, ElasticPolicy policy) {
  const auto jobs = jobs_of(static_cast<int>(state.range(0)), state.range(1) * 1000);
  Controller controller(policy);
  bench::Percentile times;
  std::size_t actions = 0;
  for (auto _ : state) {
    times.turn([&] { actions = controller.step(jobs, 0, kNow).actions.size(); });
  }
  times.report(state);
  state.counters["actions"] = static_cast<double>(actions);
}
BENCHMARK_CAPTURE(look_at_jobs, elastic, ElasticPolicy::kElastic)
    ->Args({10'000, 86'400})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(look_at_jobs, ours, ElasticPolicy::kOurs)
    ->Args({1'000, 1'800})
    ->Args({10'000, 1'800})
    ->Args({10'000, 86'400})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinion::cluster::elastic
