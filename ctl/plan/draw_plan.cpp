#include "ctl/plan/draw_plan.h"

#include <algorithm>
#include <array>

#include "base/cli/table.h"
#include "ctl/machine/draw_topology.h"

namespace pinion::ctl {
namespace {

using topology::Align;
using topology::Decision;
using topology::Index;
using topology::Plan;
using topology::Refusal;
using topology::Request;
using topology::Smt;
using topology::Topology;

// Under kPack as under kPreferFull.
constexpr std::array kSmts = {std::pair(Smt::kPreferFull, "prefer-full"),
                              std::pair(Smt::kFullCore, "full-core"),
                              std::pair(Smt::kOnePerCore, "one-per-core")};

std::string marks_of(std::size_t placed, std::size_t number) {
  return std::string(1, placed <= kMarks.size() ? kMarks[number] : kMarkOfAll);
}

// "0", "0-1": numbers of the L3 domains or NUMA nodes that the CPUs lie in.
std::string l3s_of(const Topology& machine, const topology::CpuSet& cpus) {
  topology::CpuSet l3s;
  for (std::size_t i = 0; i < machine.l3s.size(); ++i) {
    if (machine.l3s[i].cpus.intersects(cpus)) l3s.add(static_cast<int>(i));
  }
  return l3s.to_string();
}

std::string nodes_of(const Topology& machine, const topology::CpuSet& cpus) {
  topology::NodeSet nodes;
  for (const topology::Node& node : machine.nodes) {
    if (node.cpus.intersects(cpus)) nodes.add(node.id);
  }
  return nodes.to_string();
}

std::size_t count_placed(const Plan& plan) {
  return static_cast<std::size_t>(std::count_if(
      plan.outcomes.begin(), plan.outcomes.end(),
      [](const topology::Outcome& o) { return std::holds_alternative<Decision>(o); }));
}

std::string placed_table(const Topology& machine, const std::vector<Request>& requests,
                         const Plan& plan, std::size_t placed) {
  std::vector<Row> rows = {{"", "CONTAINER", "ASKED", "CPUS", "NODE", "L3", "MEMS", "WHY"}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto* decision = std::get_if<Decision>(&plan.outcomes[i]);
    if (decision == nullptr) continue;
    const topology::CpuSet& cpus = decision->cpus;
    const std::string mems = decision->claim.mems.to_string();
    rows.push_back({marks_of(placed, rows.size() - 1), requests[i].id,
                    std::to_string(requests[i].cpus), cpus.to_string(), nodes_of(machine, cpus),
                    l3s_of(machine, cpus), mems.empty() ? "any" : mems, to_string(decision->why)});
  }
  return placed > 0 ? table(rows) : "";
}

std::string refused_table(const std::vector<Request>& requests, const Plan& plan) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto* refusal = std::get_if<Refusal>(&plan.outcomes[i]);
    if (refusal != nullptr) rows.push_back({"refused", requests[i].id, refusal->text});
  }
  return table(rows);
}

std::vector<Layer> layers_of(const Topology& machine, const std::vector<Request>& requests,
                             const Plan& plan) {
  std::vector<Layer> holders;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto* decision = std::get_if<Decision>(&plan.outcomes[i]);
    if (decision != nullptr) holders.push_back({' ', requests[i].id, decision->claim.cpus});
  }
  std::vector<Layer> layers = container_layers(holders);
  for (Layer& layer : standing_layers(machine, plan.ledger.reserved())) {
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string largest_table(const Topology& machine, const Plan& plan) {
  std::vector<Row> rows = {{"still fits", "l3", "numa", "socket", "none"}};
  for (const auto& [smt, name] : kSmts) {
    Row row = {name};
    for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
      row.push_back(std::to_string(largest(machine, plan.ledger, align, smt)));
    }
    rows.push_back(row);
  }
  return table(rows);
}

}  // namespace

std::string draw_plan(const Topology& machine, const std::vector<Request>& requests,
                      const Plan& plan) {
  const std::size_t placed = count_placed(plan);
  std::string text = placed_table(machine, requests, plan, placed);
  text += refused_table(requests, plan);
  text += "\n" + draw_topology(machine, layers_of(machine, requests, plan));
  text += "\n" + largest_table(machine, plan);
  text += "\n" + std::to_string(placed) + " of " + std::to_string(requests.size()) +
          " containers placed, " +
          std::to_string((machine.online - plan.ledger.exclusive()).count()) + " of " +
          std::to_string(machine.online.count()) + " CPUs left to everybody else\n";
  return text;
}

}  // namespace pinion::ctl
