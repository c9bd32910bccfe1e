#include "tests/page/scene.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace pinion::page_test {
namespace {

using nlohmann::json;
using topology::Align;
using topology::CpuSet;

constexpr std::array kEvents = {"context-switches", "migrations", "page-faults",
                                "task-clock",       "cycles",     "instructions",
                                "l3-misses",        "local-dram", "remote-dram"};
constexpr std::int64_t kFirstRefusalMs = 1'700'000'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// Protobuf writes no field that has its type's zero, and 64-bit integers as strings.
void set(json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}
void set(json& object, const char* key, int value) {
  if (value != 0) object[key] = value;
}
void set(json& object, const char* key, bool value) {
  if (value) object[key] = true;
}
void set64(json& object, const char* key, std::uint64_t value) {
  if (value != 0) object[key] = std::to_string(value);
}

// Between low and high, smooth in time and different for each container.
double wave(std::size_t at, int tick, double low, double high) {
  const double phase = static_cast<double>(at) * 1.7;
  const double period = 17.0 + static_cast<double>(at % 5) * 6.0;
  return low + (high - low) * (0.5 + 0.5 * std::sin(phase + 6.2832 * tick / period));
}

json domain(int id, const CpuSet& cpus, const CpuSet& free) {
  json value = json::object();
  set(value, "id", id);
  set(value, "cpus", cpus.to_string());
  set(value, "free", (cpus & free).to_string());
  return value;
}

}  // namespace

Scene::Scene(topology::Topology machine, const CpuSet& reserved)
    : machine_(std::move(machine)), ledger_(reserved) {}

std::string Scene::next_id() const {
  return "c" + std::to_string(1000 + containers_.size());
}

void Scene::place(const Names& names, topology::Request request) {
  request.id = next_id();
  const topology::Outcome outcome = topology::allocate(machine_, ledger_, request);
  if (const auto* refusal = std::get_if<topology::Refusal>(&outcome)) {
    refuse(names, std::string(topology::to_string(refusal->reason)), refusal->text);
    return;
  }
  const auto& decision = std::get<topology::Decision>(outcome);
  ledger_.commit(decision.claim);
  containers_.push_back({.names = names,
                         .id = request.id,
                         .request = request,
                         .decision = decision,
                         .exclusive = true,
                         .trouble = {}});
}

void Scene::share(const Names& names) {
  containers_.push_back(
      {.names = names, .id = next_id(), .request = {}, .decision = {}, .trouble = {}});
}

void Scene::trouble(const std::string& text) {
  containers_.back().trouble = text;
}

void Scene::finish() {
  ledger_.release(containers_.back().id);
  containers_.back().finished = true;
}

void Scene::refuse(const Names& names, const std::string& reason, const std::string& text) {
  const std::int64_t at = kFirstRefusalMs + static_cast<std::int64_t>(refusals_.size()) * 61'000;
  refusals_.push_back({{"unix_ms", std::to_string(at)},
                       {"namespace", names.name_space},
                       {"pod", names.pod},
                       {"container", names.container},
                       {"reason", reason},
                       {"text", text}});
}

void Scene::not_counted(const std::string& event, const std::string& availability,
                        const std::string& detail) {
  missing_[event] = {availability, detail};
}

bool Scene::counted(const std::string& event) const {
  return missing_.find(event) == missing_.end();
}

std::map<int, std::string> Scene::holders() const {
  std::map<int, std::string> holders;
  for (const auto& [id, claim] : ledger_.claims()) {
    for (const int cpu : claim.cpus) holders[cpu] = id;
  }
  return holders;
}

json Scene::machine_json() const {
  json machine = json::object();
  for (const topology::Pu& pu : machine_.pus) {
    json cpu = json::object();
    set(cpu, "cpu", pu.cpu);
    set(cpu, "core", pu.core);
    set(cpu, "l2", pu.l2);
    set(cpu, "l3", pu.l3);
    set(cpu, "node", pu.node);
    set(cpu, "package", pu.package);
    machine["cpus"].push_back(cpu);
  }
  for (const topology::Node& node : machine_.nodes) {
    json memory = json::object();
    set(memory, "id", node.id);
    set64(memory, "memory", node.memory);
    if (!node.distance.empty()) memory["distance"] = node.distance;
    set(memory, "cpus", node.cpus.to_string());
    machine["memory_nodes"].push_back(memory);
  }
  set(machine, "offline", machine_.offline.to_string());
  set(machine, "isolated", machine_.isolated.to_string());
  return machine;
}

json Scene::node_json(int tick) const {
  const CpuSet free = machine_.online - ledger_.reserved() - ledger_.exclusive();
  json node = {
      {"name", "node-17"},
      {"version", "0.1.0"},
      {"instance", "5f2c9a"},
      {"generation", std::to_string(7 + 2 * containers_.size())},
      {"synchronized", true},
      {"runtime", {{"name", "containerd"}, {"version", "1.7.24"}, {"phase", "synchronized"}}},
      {"fence", "leaf"},
      {"machine", machine_json()}};
  json sets = json::object();
  set(sets, "online", machine_.online.to_string());
  set(sets, "reserved", ledger_.reserved().to_string());
  set(sets, "exclusive", ledger_.exclusive().to_string());
  set(sets, "shared", (machine_.online - ledger_.exclusive() - machine_.isolated).to_string());
  set(sets, "isolated", machine_.isolated.to_string());
  set(sets, "free", free.to_string());
  node["sets"] = sets;
  for (std::size_t i = 0; i < machine_.nodes.size(); ++i) {
    const topology::Node& n = machine_.nodes[i];
    json value = domain(n.id, n.cpus, free);
    set64(value, "memory", n.memory);
    set64(value, "memory_promised", ledger_.promised(static_cast<int>(i)));
    node["numa_nodes"].push_back(value);
  }
  for (std::size_t i = 0; i < machine_.l3s.size(); ++i) {
    node["l3s"].push_back(domain(static_cast<int>(i), machine_.l3s[i].cpus, free));
  }
  for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
    node["largest"][std::string(topology::to_string(align))] =
        topology::largest(machine_, ledger_, align);
  }
  if (!refusals_.empty()) node["refusals"] = refusals_;
  for (const char* event : kEvents) {
    json support = {{"event", event}, {"availability", "counted"}};
    if (!counted(event)) {
      support["availability"] = missing_.at(event).first;
      set(support, "detail", missing_.at(event).second);
    }
    node["events"].push_back(support);
  }
  static_cast<void>(tick);
  return node;
}

json Scene::rates_json(const Container& c, std::size_t at, int tick) const {
  const double cpus = c.exclusive ? c.request.cpus : 1.0;
  json rates = json::object();
  rates["cpus"] = c.exclusive ? cpus * wave(at, tick, 0.93, 1.0) : wave(at, tick, 0.02, 0.7);
  if (counted("cycles") && c.exclusive) rates["instructions_per_cycle"] = wave(at, tick, 0.6, 2.4);
  if (counted("l3-misses") && c.exclusive) {
    rates["l3_misses_per_second"] = wave(at, tick, 2.0e5, 4.0e6) * cpus;
    if (counted("instructions")) {
      rates["l3_misses_per_kilo_instruction"] = wave(at, tick, 0.4, 24.0);
    }
  }
  if (counted("migrations")) {
    rates["migrations_per_second"] = c.exclusive ? 0.0 : wave(at, tick, 0.0, 38.0);
  }
  rates["switches_per_second"] = wave(at, tick, 20.0, 2400.0);
  rates["involuntary_per_second"] = c.exclusive ? wave(at, tick, 0.0, 6.0) : wave(at, tick, 5, 320);
  if (machine_.nodes.size() > 1) {
    rates["remote_share"] = c.exclusive ? wave(at, tick, 0, 0.02) : wave(at, tick, 0.2, 0.8);
  }
  if (c.exclusive) {
    rates["intrusion_share"] = at % 11 == 3 ? wave(at, tick, 0.04, 0.11) : wave(at, tick, 0, 0.004);
  }
  rates["wait_share"] = wave(at, tick, 0.0, 0.2);
  rates["throttled_share"] = at % 7 == 5 ? wave(at, tick, 0.0, 0.3) : 0.0;
  return rates;
}

json Scene::figures_json(const Container& c, std::size_t at, int tick) const {
  const auto seconds = static_cast<std::uint64_t>(tick) + 400 + 31 * at;
  json figures = json::object();
  figures["cpu_user_ns"] = std::to_string(seconds * kNsPerSecond);
  figures["cpu_system_ns"] = std::to_string(seconds * kNsPerSecond / 20);
  figures["voluntary_switches"] = std::to_string(seconds * 97);
  figures["involuntary_switches"] = std::to_string(seconds * 3);
  if (counted("migrations")) {
    figures["migrations"] = std::to_string(c.exclusive ? at % 3 : seconds * 11);
  }
  figures["throttled_ns"] = "0";
  if (c.exclusive) figures["intrusion_ns"] = std::to_string(seconds * 1'700'000);
  figures["threads"] = std::to_string(c.exclusive ? c.request.cpus + 3 : 12);
  figures["memory"] = {{std::to_string(machine_.nodes.front().id), std::to_string(seconds << 21)}};
  return figures;
}

json Scene::container_json(const Container& c, std::size_t at, int tick) const {
  json value = {{"id", c.id},
                {"namespace", c.names.name_space},
                {"pod", c.names.pod},
                {"name", c.names.container},
                {"pod_uid", "uid-" + c.id},
                {"qos", c.exclusive   ? "Guaranteed"
                        : at % 2 == 0 ? "Burstable"
                                      : "BestEffort"},
                {"started", true}};
  const CpuSet shared = machine_.online - ledger_.exclusive() - machine_.isolated;
  const std::string cpus = (c.exclusive ? c.decision.cpus : shared).to_string();
  set(value, "exclusive", c.exclusive);
  set(value, "finished", c.finished);
  set(value, "cpus", cpus);
  set(value, "told", cpus);
  set(value, "applied", cpus);
  set(value, "trouble", c.trouble);
  if (c.exclusive) {
    set(value, "mems", c.decision.claim.mems.to_string());
    set(value, "claim", c.decision.claim.cpus.to_string());
    for (const auto& share : c.decision.claim.memory) {
      json promise = json::object();
      set(promise, "node", machine_.nodes[static_cast<std::size_t>(share.node)].id);
      set64(promise, "bytes", share.bytes);
      value["promised"].push_back(promise);
    }
    set(value, "job", c.request.job);
    set(value, "task_group", c.request.task_group);
    set(value, "why", topology::to_string(c.decision.why));
  }
  value["figures"] = figures_json(c, at, tick);
  value["rates"] = rates_json(c, at, tick);
  return value;
}

json Scene::snapshot(int tick) const {
  json value = {{"node", node_json(tick)}};
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    value["containers"].push_back(container_json(containers_[i], i, tick));
  }
  return value;
}

}  // namespace pinion::page_test
