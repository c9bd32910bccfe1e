// main() of the Google Benchmark programs, and the reference loop among their benchmarks.
#include <benchmark/benchmark.h>

#include "tests/bench/reference_loop.h"

namespace pinion::bench {
namespace {

void reference_loop(benchmark::State& state) {
  ReferenceLoop loop;
  for (auto _ : state) benchmark::DoNotOptimize(loop.turn());
}
BENCHMARK(reference_loop)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pinion::bench

BENCHMARK_MAIN();
