// What the engine takes for a Synchronize of many containers: that it grows as their number does.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::borrower;
using test_support::lender;
using test_support::part;
using test_support::Unit;

// A Synchronize of a new agent, and one of the same that is told all once more.
void twice(benchmark::State& state, const std::vector<Unit>& units) {
  Synchronize event = test_support::all_running(units);
  const topology::Topology machine = test_support::epyc_rome_256();
  for (auto _ : state) {
    Engine engine(machine, {}, FenceKind::kLeaf);
    benchmark::DoNotOptimize(engine.handle(event));
    benchmark::DoNotOptimize(engine.handle(event));
  }
}

// Cores for 200 of them.
void lenders_and_a_borrower(benchmark::State& state) {
  std::vector<Unit> units{borrower("vc-1")};
  for (int i = 0; i < state.range(0); ++i) units.push_back(lender("p" + std::to_string(i), 1));
  twice(state, units);
}
BENCHMARK(lenders_and_a_borrower)
    ->RangeMultiplier(4)
    ->Range(1'250, 20'000)
    ->Unit(benchmark::kMillisecond);

void lenders_with_a_borrower_each(benchmark::State& state) {
  std::vector<Unit> units;
  for (int i = 0; i < state.range(0) / 2; ++i) {
    const std::string name = std::to_string(i);
    units.push_back(borrower("vc-" + name));
    units.push_back(lender("p" + name, 1, "vc-" + name + "/main"));
  }
  twice(state, units);
}
BENCHMARK(lenders_with_a_borrower_each)
    ->RangeMultiplier(4)
    ->Range(1'250, 20'000)
    ->Unit(benchmark::kMillisecond);

void ranks_of_one_pod(benchmark::State& state) {
  std::vector<Unit> units;
  const auto count = static_cast<int>(state.range(0));
  const Pod pod = test_support::whole_pod("p", count);
  for (int i = 0; i < count; ++i) units.push_back(part(pod, "c" + std::to_string(i), 1));
  twice(state, units);
}
BENCHMARK(ranks_of_one_pod)
    ->RangeMultiplier(4)
    ->Range(1'250, 20'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinion::engine
