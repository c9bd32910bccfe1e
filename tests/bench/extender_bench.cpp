// What the extender's decisions cost on a fleet of 5,000 nodes of 128 CPUs (2 packages of 2 NUMA
// nodes of 4 L3 domains of 4 cores with 2 threads) that is two thirds full, no two machines alike,
// and what its plans are worth. Beside each, in the same run, the plain way: asking the allocator
// of every node for a pod, first fit for a gang.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "cluster/core/auto_granularity.h"
#include "cluster/core/gang_plan.h"
#include "cluster/core/task_groups.h"
#include "tests/bench/busy_fleet.h"
#include "tests/bench/percentile.h"
#include "tests/support/machine.h"

namespace pinion::cluster {
namespace {

using bench::busy_request;
using bench::Percentile;
using bench::thread_us;
using test_support::kGiB;
using test_support::kMiB;
using topology::Decision;
using topology::Request;

constexpr int kNodes = 5000;

// `kinds`: of machines.
void fill(Fleet& fleet, int nodes, unsigned seed, int kinds = kNodes) {
  bench::report_busy_nodes(nodes, seed, kinds, [&](NodeReport report) {
    if (!fleet.report(std::move(report), 0)) std::abort();
  });
}

const Fleet& large_fleet() {
  static const Fleet* const kFleet = [] {
    auto* fleet = new Fleet();
    fill(*fleet, kNodes, 1);
    return fleet;
  }();
  return *kFleet;
}

// The names that a scheduler would send.
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, node] : large_fleet().by_name()) all.push_back(name);
  return all;
}

// Filter and prioritize of one pod: which of the 5,000 named nodes take it, and how well.
void pod_filter_and_prioritize(benchmark::State& state) {
  const Fleet& fleet = large_fleet();
  const std::vector<std::string> sent = names();
  const Request request = busy_request("pod", static_cast<int>(state.range(0)));
  Percentile times;
  std::size_t fitting = 0;
  for (auto _ : state) {
    times.turn([&] {
      std::vector<std::pair<NodeIndex, int>> scored;
      for (const std::string& name : sent) {
        const NodeIndex node = fleet.find(name);
        if (node < 0 || !fleet.fits(node, request)) continue;
        scored.emplace_back(node, fleet.hole_score(node, request));
      }
      fitting = scored.size();
      benchmark::DoNotOptimize(scored);
    });
  }
  times.report(state);
  state.counters["fitting"] = static_cast<double>(fitting);
}
BENCHMARK(pod_filter_and_prioritize)
    ->Arg(2)
    ->Arg(8)
    ->Arg(24)
    ->Arg(32)
    ->Unit(benchmark::kMicrosecond);

// The node for one pod, by the index.
void pod_best_node(benchmark::State& state) {
  const Fleet& fleet = large_fleet();
  const Request request = busy_request("pod", static_cast<int>(state.range(0)));
  Percentile times;
  for (auto _ : state) times.turn([&] { benchmark::DoNotOptimize(fleet.best_node(request)); });
  times.report(state);
}
BENCHMARK(pod_best_node)->Arg(2)->Arg(8)->Arg(24)->Arg(32)->Unit(benchmark::kMicrosecond);

// The worst for the index: every node has the CPUs and none the memory.
void pod_best_node_without_memory(benchmark::State& state) {
  const Fleet& fleet = large_fleet();
  Request request = busy_request("pod", 2);
  request.memory = 1000 * kGiB;
  Percentile times;
  for (auto _ : state) times.turn([&] { benchmark::DoNotOptimize(fleet.best_node(request)); });
  times.report(state);
}
BENCHMARK(pod_best_node_without_memory)->Unit(benchmark::kMicrosecond);

// The baseline of the three above: every node's allocator is asked.
void baseline_pod_full_scan(benchmark::State& state) {
  const Fleet& fleet = large_fleet();
  const Request request = busy_request("pod", static_cast<int>(state.range(0)));
  Percentile times;
  for (auto _ : state) {
    times.turn([&] {
      int fitting = 0;
      for (NodeIndex index = 0; index < fleet.size(); ++index) {
        const FleetNode& node = fleet.node(index);
        const auto outcome = topology::allocate(node.topology(), node.ledger, request);
        fitting += std::holds_alternative<Decision>(outcome) ? 1 : 0;
      }
      benchmark::DoNotOptimize(fitting);
    });
  }
  times.report(state);
}
BENCHMARK(baseline_pod_full_scan)->Arg(2)->Arg(8)->Arg(24)->Arg(32)->Unit(benchmark::kMicrosecond);

void promise_and_release(benchmark::State& state) {
  static Fleet fleet;
  if (fleet.size() == 0) fill(fleet, 100, 2);
  const Request request = busy_request("pod", 2);
  const NodeIndex node = fleet.best_node(request);
  for (auto _ : state) {
    if (!fleet.promise(node, request, 1)) state.SkipWithError("not promised");
    fleet.release("pod");
  }
}
BENCHMARK(promise_and_release)->Unit(benchmark::kMicrosecond);

// 256 workers in so many groups; the sizes are of one half of the workers each.
Gang gang_of(int workers, int groups, int large, int small, Profile profile) {
  Gang gang;
  for (int i = 0; i < workers; ++i) {
    Request request = busy_request("job-" + std::to_string(i), i < workers / 2 ? large : small);
    request.job = "job";
    request.profile = profile;
    gang.push_back(std::move(request));
  }
  join_groups("job", groups, {}, gang);
  return gang;
}

void plan(benchmark::State& state, const Gang& gang, int steps) {
  const Fleet& fleet = large_fleet();
  Percentile times;
  GangOutcome outcome;
  for (auto _ : state) times.turn([&] { outcome = plan_gang(fleet, gang, {.steps = steps}); });
  times.report(state);
  state.counters["steps"] =
      std::holds_alternative<GangPlan>(outcome) ? std::get<GangPlan>(outcome).steps : -1;
}

// (groups, steps of the search)
void gang_sizes(benchmark::internal::Benchmark* bench) {
  for (const int groups : {1, 64, 256}) bench->Args({groups, 0});
  for (const int steps : {500, 2000}) bench->Args({64, steps});
  bench->Unit(benchmark::kMillisecond);
}

void gang_256_alike(benchmark::State& state) {
  const auto groups = static_cast<int>(state.range(0));
  plan(state, gang_of(256, groups, 8, 8, Profile::kCpu), static_cast<int>(state.range(1)));
}
BENCHMARK(gang_256_alike)->Apply(gang_sizes);

void gang_256_uneven(benchmark::State& state) {
  const auto groups = static_cast<int>(state.range(0));
  plan(state, gang_of(256, groups, 10, 8, Profile::kMemory), static_cast<int>(state.range(1)));
}
BENCHMARK(gang_256_uneven)->Apply(gang_sizes);

void gang_256_refused(benchmark::State& state) {
  plan(state, gang_of(256, 64, 34, 34, Profile::kCpu), 500);
}
BENCHMARK(gang_256_refused)->Unit(benchmark::kMillisecond);

// So many tasks of one CPU on all nodes. Copying the free holes, which is done under the lock that
// the scheduler's calls take, by itself. There are about 200,000 free CPUs, and a million fit
// nowhere.
void granularity_auto(benchmark::State& state) {
  const JobShape job{.tasks = static_cast<int>(state.range(0)),
                     .cpus_per_task = 1,
                     .memory_per_task = kGiB,
                     .profile = Profile::kCpu};
  const Fleet& fleet = large_fleet();
  std::vector<double> under_lock;
  for (auto _ : state) {
    const double begin = thread_us();
    const std::vector<FreeNode> nodes = free_nodes(fleet);
    under_lock.push_back(thread_us() - begin);
    auto chosen = choose_by_fleet(job, kNodes, nodes, 10'000);
    if (!chosen) state.SkipWithError(chosen.error().text.c_str());
    benchmark::DoNotOptimize(chosen);
  }
  std::sort(under_lock.begin(), under_lock.end());
  state.counters["lock_us"] = under_lock[under_lock.size() / 2];
}
BENCHMARK(granularity_auto)
    ->Arg(1024)
    ->Arg(50'000)
    ->Arg(250'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

// The baseline of a plan: each worker in turn on the first node, by name, that takes it.
bool first_fit(Fleet& fleet, const Gang& gang) {
  std::vector<std::string> held;
  for (const Request& request : gang) {
    bool placed = false;
    for (const auto& [name, node] : fleet.by_name()) {
      if (!fleet.fits(node, request)) continue;
      const auto outcome = fleet.promise(node, request, 1);
      placed = outcome && std::holds_alternative<Decision>(*outcome);
      if (placed) break;
    }
    if (!placed) {
      for (const std::string& id : held) fleet.release(id);
      return false;
    }
    held.push_back(request.id);
  }
  return true;
}

bool by_plan(Fleet& fleet, const Gang& gang, int steps) {
  const GangOutcome outcome = plan_gang(fleet, gang, {.steps = steps});
  const auto* planned = std::get_if<GangPlan>(&outcome);
  return planned != nullptr && promise_gang(fleet, gang, *planned, 1);
}

Gang random_gang(int number, std::mt19937& random) {
  constexpr std::array kSizes = {2, 4, 6, 8, 10, 12, 14, 16};
  const int large = kSizes.at(random() % kSizes.size());
  const int small = random() % 2 == 0 ? large : kSizes.at(random() % kSizes.size());
  const int workers = 2 + static_cast<int>(random() % 15);
  Gang gang = gang_of(workers, 1 + static_cast<int>(random() % 4), large, small, Profile::kCpu);
  for (Request& request : gang) {
    request.id = std::to_string(number) + "/" + request.id;
    request.job = "job-" + std::to_string(number);
  }
  return gang;
}

constexpr int kFirstFit = -1;

// What became of a number of gangs.
struct Tally {
  int placed = 0;
  int cpus = 0;
  int groups = 0;
  int fragments = 0;  // a group on a node; as many as groups when none is split
  int mixed = 0;      // two groups of a job on one node

  void add(const Fleet& fleet, const Gang& gang) {
    std::map<NodeIndex, std::set<std::string>> by_node;
    std::set<std::string> all;
    for (const Request& request : gang) {
      cpus += request.cpus;
      all.insert(request.task_group);
      for (const NodeIndex node : fleet.nodes_of_job(request.job)) {
        if (fleet.node(node).ledger.find(request.id) != nullptr) {
          by_node[node].insert(request.task_group);
        }
      }
    }
    ++placed;
    groups += static_cast<int>(all.size());
    for (const auto& [node, here] : by_node) {
      const auto count = static_cast<int>(here.size());
      fragments += count;
      mixed += count * (count - 1) / 2;
    }
  }
  void report(benchmark::State& state, int gangs) const {
    state.counters["of"] = gangs;
    state.counters["placed"] = placed;
    state.counters["cpus"] = cpus;
    state.counters["split"] = static_cast<double>(fragments) / groups;
    state.counters["mixed"] = static_cast<double>(mixed) / placed;
  }
};

// Gangs come, stay for a random number of arrivals and go; one that finds no place is lost. On 24
// nodes, the same gangs for each way to place.
void gangs_come_and_go(benchmark::State& state) {
  const auto steps = static_cast<int>(state.range(0));
  constexpr int kGangs = 3000;
  Tally tally;
  for (auto _ : state) {
    Fleet fleet;
    fill(fleet, 24, 3);
    std::mt19937 random(7);
    std::multimap<int, Gang> leaving;
    for (int now = 0; now < kGangs; ++now) {
      while (!leaving.empty() && leaving.begin()->first <= now) {
        for (const Request& request : leaving.begin()->second) fleet.release(request.id);
        leaving.erase(leaving.begin());
      }
      Gang gang = random_gang(now, random);
      const int stays = 5 + static_cast<int>(random() % 20);
      const bool fits = steps == kFirstFit ? first_fit(fleet, gang) : by_plan(fleet, gang, steps);
      if (!fits) continue;
      tally.add(fleet, gang);
      leaving.emplace(now + stays, std::move(gang));
    }
  }
  tally.report(state, kGangs);
}
BENCHMARK(gangs_come_and_go)
    ->ArgName("steps")
    ->Arg(kFirstFit)
    ->Arg(0)
    ->Arg(500)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Gangs each by itself on a small fleet that is two thirds full: how many of them fit.
void gangs_one_by_one(benchmark::State& state) {
  const auto steps = static_cast<int>(state.range(0));
  constexpr int kGangs = 2000;
  Tally tally;
  for (auto _ : state) {
    Fleet fleet;
    fill(fleet, 6, 5);
    std::mt19937 random(11);
    for (int number = 0; number < kGangs; ++number) {
      const Gang gang = random_gang(number, random);
      const bool fits = steps == kFirstFit ? first_fit(fleet, gang) : by_plan(fleet, gang, steps);
      if (!fits) continue;
      tally.add(fleet, gang);
      for (const Request& request : gang) fleet.release(request.id);
    }
  }
  tally.report(state, kGangs);
}
BENCHMARK(gangs_one_by_one)
    ->ArgName("steps")
    ->Arg(kFirstFit)
    ->Arg(0)
    ->Arg(100)
    ->Arg(500)
    ->Arg(2000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// What the fleet takes of memory: 5,000 nodes of one kind of machine, and no two alike.
void fleet_memory(benchmark::State& state) {
  for (auto _ : state) {
    const auto before = mallinfo2();
    Fleet fleet;
    fill(fleet, kNodes, 3, static_cast<int>(state.range(0)));
    const auto after = mallinfo2();
    const auto taken = [](const auto& info) { return info.uordblks + info.hblkhd; };
    state.counters["MiB"] = static_cast<double>(taken(after) - taken(before)) / kMiB;
  }
}
BENCHMARK(fleet_memory)
    ->ArgName("kinds")
    ->Arg(1)
    ->Arg(kNodes)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace pinion::cluster
