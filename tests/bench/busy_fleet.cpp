#include "tests/bench/busy_fleet.h"

#include <array>
#include <random>

#include "tests/support/machine.h"

namespace pinion::bench {
namespace {

using test_support::kGiB;
using test_support::kMiB;
using topology::Decision;
using topology::Request;

topology::Topology machine_128(int kind) {
  return test_support::machine(
      {.packages = 2,
       .nodes_per_package = 2,
       .l3s_per_node = 4,
       .cores_per_l3 = 4,
       .threads_per_core = 2,
       .memory_per_node = 128 * kGiB - kMiB * static_cast<topology::Bytes>(kind)});
}

// What runs on a node: pods of 2 to 32 CPUs came and went until two thirds are in use.
std::vector<topology::Claim> busy(const topology::Topology& machine, const std::string& name,
                                  std::mt19937& random) {
  constexpr std::array kSizes = {2, 4, 4, 8, 8, 8, 16, 32};
  topology::Ledger ledger(topology::CpuSet{0, 1});
  for (int i = 0; i < 40; ++i) {
    const Request request =
        busy_request(name + "/" + std::to_string(i), kSizes.at(random() % kSizes.size()));
    const auto outcome = topology::allocate(machine, ledger, request);
    if (const auto* decision = std::get_if<Decision>(&outcome)) ledger.commit(decision->claim);
    while (ledger.exclusive().count() > 84) {
      auto claim = ledger.claims().begin();
      std::advance(claim, random() % ledger.claims().size());
      ledger.release(std::string(claim->first));
    }
  }
  std::vector<topology::Claim> claims;
  for (const auto& [id, claim] : ledger.claims()) claims.push_back(claim);
  return claims;
}

}  // namespace

Request busy_request(const std::string& id, int cpus) {
  Request request;
  request.id = id;
  request.cpus = cpus;
  request.memory = kGiB * static_cast<topology::Bytes>(cpus);
  return request;
}

void report_busy_nodes(int nodes, unsigned seed, int kinds,
                       const std::function<void(cluster::NodeReport)>& tell) {
  std::mt19937 random(seed);
  for (int i = 0; i < nodes; ++i) {
    cluster::NodeReport report;
    report.name = "node-" + std::to_string(i);
    report.topology = std::make_shared<const topology::Topology>(machine_128(i % kinds));
    report.reserved = topology::CpuSet{0, 1};
    report.claims = busy(*report.topology, report.name, random);
    tell(std::move(report));
  }
}

}  // namespace pinion::bench
