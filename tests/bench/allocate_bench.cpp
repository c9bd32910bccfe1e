// How long one decision takes on a node of 256 CPUs, 8 NUMA nodes and 32 L3 domains with 200 live
// containers; beside it, in the same run, a first-fit scan that only looks for free CPUs of one
// node: what the least careful allocator would cost.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/machine.h"
#include "topology/allocate.h"

namespace pinion::topology {
namespace {

using test_support::kGiB;

constexpr int kContainers = 200;

Request request_of(int number, int cpus) {
  Request request;
  request.id = "container-" + std::to_string(number);
  request.cpus = cpus;
  request.smt = cpus == 1 ? Smt::kPack : Smt::kFullCore;
  request.memory = kGiB;
  request.job = "job";
  request.task_group = "group-" + std::to_string(number % 20);
  return request;
}

// 200 containers of one CPU each, of 20 task groups: 56 CPUs are left.
Ledger busy_node(const Topology& machine) {
  Ledger ledger(CpuSet{0, 128});
  for (int i = 0; i < kContainers; ++i) {
    const Outcome outcome = allocate(machine, ledger, request_of(i, 1));
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) {
      std::fprintf(stderr, "container %d: %s\n", i, std::get<Refusal>(outcome).text.c_str());
      std::abort();
    }
    ledger.commit(decision->claim);
  }
  return ledger;
}

struct Node256 {
  Topology machine = test_support::epyc_rome_256();
  Ledger ledger = busy_node(machine);
};

void decide(benchmark::State& state, const Request& request) {
  const Node256 node;
  for (auto _ : state) {
    Outcome outcome = allocate(node.machine, node.ledger, request);
    if (!std::holds_alternative<Decision>(outcome)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(outcome);
  }
}

void allocate_numa(benchmark::State& state) {
  decide(state, request_of(kContainers, 4));
}
BENCHMARK(allocate_numa);

void allocate_l3(benchmark::State& state) {
  Request request = request_of(kContainers, 4);
  request.align = Align::kL3;
  decide(state, request);
}
BENCHMARK(allocate_l3);

void allocate_socket(benchmark::State& state) {
  Request request = request_of(kContainers, 16);
  request.align = Align::kSocket;
  decide(state, request);
}
BENCHMARK(allocate_socket);

void allocate_pack(benchmark::State& state) {
  Request request = request_of(kContainers, 3);
  request.smt = Smt::kPack;
  decide(state, request);
}
BENCHMARK(allocate_pack);

void allocate_prefer_full(benchmark::State& state) {
  Request request = request_of(kContainers, 5);
  request.smt = Smt::kPreferFull;
  decide(state, request);
}
BENCHMARK(allocate_prefer_full);

void allocate_memory_bound(benchmark::State& state) {
  Request request = request_of(kContainers, 4);
  request.profile = Profile::kMemory;
  decide(state, request);
}
BENCHMARK(allocate_memory_bound);

void allocate_without_group(benchmark::State& state) {
  Request request = request_of(kContainers, 4);
  request.task_group.clear();
  decide(state, request);
}
BENCHMARK(allocate_without_group);

void allocate_same_again(benchmark::State& state) {
  const Node256 node;
  Request request = request_of(kContainers, 4);
  request.preferred = std::get<Decision>(allocate(node.machine, node.ledger, request)).claim.cpus;
  decide(state, request);
}
BENCHMARK(allocate_same_again);

void resize_by_two(benchmark::State& state) {
  Node256 node;
  Request request = request_of(kContainers, 4);
  node.ledger.commit(std::get<Decision>(allocate(node.machine, node.ledger, request)).claim);
  request.cpus = 6;
  for (auto _ : state) {
    Outcome outcome = resize(node.machine, node.ledger, request);
    if (!std::holds_alternative<Decision>(outcome)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(outcome);
  }
}
BENCHMARK(resize_by_two);

void refusal_with_reason(benchmark::State& state) {
  const Node256 node;
  const Request request = request_of(kContainers, 36);
  for (auto _ : state) {
    Outcome outcome = allocate(node.machine, node.ledger, request);
    if (!std::holds_alternative<Refusal>(outcome)) state.SkipWithError("placed");
    benchmark::DoNotOptimize(outcome);
  }
}
BENCHMARK(refusal_with_reason);

void commit_and_release(benchmark::State& state) {
  Node256 node;
  const Decision decision =
      std::get<Decision>(allocate(node.machine, node.ledger, request_of(kContainers, 4)));
  for (auto _ : state) {
    node.ledger.commit(decision.claim);
    benchmark::DoNotOptimize(node.ledger.release(decision.claim.id));
  }
}
BENCHMARK(commit_and_release);

void largest_of_all_alignments(benchmark::State& state) {
  const Node256 node;
  for (auto _ : state) {
    for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
      benchmark::DoNotOptimize(largest(node.machine, node.ledger, align));
    }
  }
}
BENCHMARK(largest_of_all_alignments);

// The first NUMA node with n free CPUs, its first n of them. No whole cores, no memory, no groups.
std::optional<CpuSet> first_fit(const Topology& machine, const Ledger& ledger, int n) {
  for (std::size_t node = 0; node < machine.nodes.size(); ++node) {
    CpuSet cpus;
    int found = 0;
    for (const Pu& pu : machine.pus) {
      if (pu.node != static_cast<Index>(node)) continue;
      if (ledger.reserved().contains(pu.cpu) || ledger.exclusive().contains(pu.cpu)) continue;
      cpus.add(pu.cpu);
      if (++found == n) return cpus;
    }
  }
  return std::nullopt;
}

void baseline_first_fit_scan(benchmark::State& state) {
  const Node256 node;
  for (auto _ : state) benchmark::DoNotOptimize(first_fit(node.machine, node.ledger, 4));
}
BENCHMARK(baseline_first_fit_scan);

}  // namespace
}  // namespace pinion::topology
