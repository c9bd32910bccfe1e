#include "agent/status.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agent/version.h"

namespace pinion::agent {
namespace {

using engine::Member;
using engine::Role;
using nlohmann::json;
using topology::Align;

json cpuset(const std::optional<engine::Cpuset>& value) {
  if (!value) return nullptr;
  return {{"cpus", value->cpus.to_string()}, {"mems", value->mems.to_string()}};
}

json container(const engine::Engine& engine, const Member& member) {
  const bool exclusive = member.role == Role::kExclusive;
  json value = {{"id", member.id},
                {"name", member.name},
                {"pod", member.pod_name},
                {"namespace", member.name_space},
                {"qos", engine::to_string(member.qos)},
                {"exclusive", exclusive},
                {"started", member.started},
                {"decided", cpuset(engine.target_of(member))},
                {"told", cpuset(member.told)},
                {"applied", nullptr},
                {"trouble", member.trouble}};
  if (member.applied) {
    value["applied"] = {{"cpus", member.applied->cpus.to_string()},
                        {"mems", member.applied->mems.to_string()}};
  }
  if (exclusive) {
    value["job"] = member.request.job;
    value["task_group"] = member.request.task_group;
    value["why"] = topology::to_string(member.why);
  }
  return value;
}

json nodes(const engine::State& state) {
  const topology::CpuSet free =
      state.topology.online - state.ledger.exclusive() - state.ledger.reserved();
  json list = json::array();
  for (std::size_t i = 0; i < state.topology.nodes.size(); ++i) {
    const topology::Node& node = state.topology.nodes[i];
    list.push_back({{"id", node.id},
                    {"cpus", node.cpus.to_string()},
                    {"free", (node.cpus & free).to_string()},
                    {"memory", node.memory},
                    {"memory_promised", state.ledger.promised(static_cast<int>(i))}});
  }
  return list;
}

json counters(const engine::Counters& c) {
  return {{"exclusive_placed", c.exclusive_placed},
          {"shared_placed", c.shared_placed},
          {"refused", c.refused},
          {"preferred_not_met", c.preferred_not_met},
          {"resized", c.resized},
          {"synchronized", c.synchronized},
          {"kept", c.kept},
          {"moved", c.moved},
          {"unplaced", c.unplaced},
          {"adopted", c.adopted},
          {"lost_stops", c.lost_stops},
          {"late", c.late},
          {"drift", c.drift},
          {"repairs", c.repairs},
          {"write_failures", c.write_failures},
          {"updates_told", c.updates_told}};
}

}  // namespace

std::string status_json(const Node& node, const nri::Connection& connection) {
  const engine::Engine& engine = node.engine();
  const engine::State& state = engine.state();
  json containers = json::array();
  for (const auto& [id, member] : state.members) containers.push_back(container(engine, member));
  json largest;
  for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
    largest[std::string(topology::to_string(align))] =
        topology::largest(state.topology, state.ledger, align);
  }
  const auto& runtime = connection.runtime();
  const auto phase = connection.phase();
  const nri::Counters& wire = connection.counters();
  const json document = {
      {"agent", {{"version", kVersion}, {"pid", getpid()}}},
      {"runtime",
       {{"name", runtime ? runtime->name : ""},
        {"version", runtime ? runtime->version : ""},
        {"phase", phase ? nri::to_string(*phase) : "disconnected"}}},
      {"fence", engine.fence_name()},
      {"compares_files", node.compares_files()},
      {"sets",
       {{"online", state.topology.online.to_string()},
        {"reserved", state.ledger.reserved().to_string()},
        {"isolated", state.topology.isolated.to_string()},
        {"exclusive", state.ledger.exclusive().to_string()},
        {"shared", state.shared().to_string()},
        {"pool", engine.pool().to_string()}}},
      {"largest", largest},
      {"nodes", nodes(state)},
      {"containers", containers},
      {"counters", counters(engine.counters())},
      {"nri",
       {{"connects", wire.connects},
        {"resyncs", wire.resyncs},
        {"sessions_failed", wire.sessions_failed},
        {"bytes_in", wire.bytes_in},
        {"bytes_out", wire.bytes_out}}},
  };
  // Names come from pods: what is not UTF-8 is replaced rather than thrown at.
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace pinion::agent
