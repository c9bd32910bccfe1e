// Views and samples for the tests of the interface, in a few words each.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/view.h"
#include "metrics/figures.h"
#include "tests/support/machine.h"

namespace pinion::agent::api {

// A view of a machine on which nothing runs; CPU 0 is reserved.
inline NodeView empty_view(topology::Topology machine = test_support::laptop(),
                           const topology::CpuSet& reserved = {0}, bool strict = false) {
  NodeView view;
  view.generation = 1;
  view.ledger = topology::Ledger(reserved, strict);
  view.shared = machine.online;
  view.pool = machine.online;
  view.topology = std::make_shared<const topology::Topology>(std::move(machine));
  view.fence = "leaf";
  view.synchronized = true;
  view.runtime_name = "containerd";
  view.runtime_version = "2.1";
  view.phase = "synchronized";
  return view;
}

inline ContainerView shared_container(const std::string& id) {
  ContainerView container;
  container.id = container.claim = id;
  container.name = "c";
  container.pod = "pod-" + id;
  container.name_space = "default";
  container.pod_uid = "uid-" + id;
  container.qos = engine::Qos::kBurstable;
  container.started = true;
  return container;
}

inline void add(NodeView& view, ContainerView container) {
  auto at = view.containers.begin();
  while (at != view.containers.end() && at->id < container.id) ++at;
  view.containers.insert(at, std::move(container));
}

// Places the request as the engine would and adds the container; false: refused.
inline bool place(NodeView& view, const topology::Request& request) {
  const topology::Outcome outcome = topology::allocate(*view.topology, view.ledger, request);
  const auto* decision = std::get_if<topology::Decision>(&outcome);
  if (decision == nullptr) return false;
  view.ledger.commit(decision->claim);
  view.shared -= decision->claim.cpus;
  view.pool = view.shared;
  ContainerView container = shared_container(request.id);
  container.qos = engine::Qos::kGuaranteed;
  container.exclusive = true;
  container.decided = {.cpus = decision->cpus, .mems = decision->claim.mems};
  container.told = container.decided;
  container.applied = {.cpus = decision->cpus, .mems = decision->claim.mems};
  container.job = request.job;
  container.task_group = request.task_group;
  container.profile = request.profile;
  container.why = topology::to_string(decision->why);
  add(view, std::move(container));
  return true;
}

inline topology::Request request(const std::string& id, int cpus) {
  topology::Request wish;
  wish.id = id;
  wish.cpus = cpus;
  wish.smt = topology::Smt::kPack;
  return wish;
}

inline metrics::ContainerFigures figures(const std::string& id, const std::string& cpus = "1",
                                         const std::string& mems = "0") {
  auto who = std::make_shared<metrics::Identity>();
  who->id = id;
  who->name_space = "default";
  who->pod = "pod-" + id;
  who->container = "c";
  who->exclusive = true;
  who->cpus = cpus;
  who->mems = mems;
  metrics::ContainerFigures container;
  container.who = std::move(who);
  return container;
}

inline void set(metrics::ContainerFigures& container, metrics::Event event, std::uint64_t value,
                double running = 1) {
  container.events[static_cast<std::size_t>(event)] =
      metrics::Count{.value = value, .running = running};
}

// Pass `number`, one a second.
inline metrics::Sample sample(std::uint64_t number,
                              std::vector<metrics::ContainerFigures> containers) {
  metrics::Sample result;
  result.number = number;
  result.steady_ns = static_cast<std::int64_t>(number) * 1'000'000'000;
  result.containers = std::move(containers);
  return result;
}

}  // namespace pinion::agent::api
