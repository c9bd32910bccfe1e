#include "tests/e2e/fake_nodes.h"

#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/pod_as_run.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

NodeShape shape_of(const topology::Topology& machine) {
  topology::Bytes memory = 0;
  for (const auto& node : machine.nodes) memory += node.memory;
  return {.cpus = machine.online.count(), .memory_gib = static_cast<int>(memory >> 30U)};
}

}  // namespace

FakeNodes::PlaceOf FakeNodes::sockets_in(const std::string& folder) {
  return [folder](const std::string& node) {
    return AgentPlace{.address = "unix:" + folder + "/" + node + ".sock"};
  };
}

Result<std::unique_ptr<FakeNodes>> FakeNodes::start(const kube::Access& access,
                                                    const PlaceOf& place_of,
                                                    const std::vector<std::string>& names,
                                                    const topology::Topology& machine,
                                                    const engine::Settings& settings) {
  std::unique_ptr<FakeNodes> nodes(new FakeNodes(access));
  const auto shared = std::make_shared<const topology::Topology>(machine);
  for (const std::string& name : names) {
    auto agent = FakeAgent::start(name, shared, settings, place_of(name));
    if (!agent) return failure(agent.error());
    nodes->agents_[name] = *std::move(agent);
    if (Status made = nodes->admin_.add_node(name, shape_of(machine)); !made) {
      return failure(made.error().within(name));
    }
  }
  nodes->watch_pods();
  return nodes;
}

FakeNodes::~FakeNodes() {
  stop_watching();
}

std::map<std::string, std::string> FakeNodes::addresses() const {
  std::map<std::string, std::string> all;
  for (const auto& [node, agent] : agents_) all[node] = agent->address();
  return all;
}

std::map<std::string, FakeNodes::Held> FakeNodes::held() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Held> held;
  for (const auto& [node, agent] : agents_) {
    for (const auto& [id, member] : agent->state().members) {
      if (member.role != engine::Role::kExclusive) continue;
      Held& pod = held[member.pod_name];
      pod.uid = member.pod_uid;
      pod.node = node;
      pod.cpus |= member.own.cpus;
    }
  }
  return held;
}

std::map<std::string, FakeNodes::Room> FakeNodes::rooms() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Room> rooms;
  for (const auto& [node, agent] : agents_) {
    const topology::Ledger& ledger = agent->state().ledger;
    Room& room = rooms[node];
    room.containers = static_cast<int>(ledger.claims().size());
    for (const auto& numa : agent->machine().nodes) {
      room.free_cpus.push_back((numa.cpus - ledger.reserved() - ledger.exclusive()).count());
    }
  }
  return rooms;
}

std::size_t FakeNodes::running() const {
  const std::lock_guard lock(mutex_);
  return pods_.size();
}

void FakeNodes::cut(const std::string& node) {
  const std::lock_guard lock(mutex_);
  agents_.at(node)->cut();
}

Status FakeNodes::serve_at(const std::string& node, AgentPlace place) {
  const std::lock_guard lock(mutex_);
  FakeAgent& agent = *agents_.at(node);
  agent.move_to(std::move(place));
  return agent.serve();
}

// A kubelet's life with a pod: run it once it is bound, and tell the API server what its agent
// refuses; end it when it is to end, and then tell that it is over.
void FakeNodes::on_object(kube::Change change, const json& pod) {
  const std::string uid = kube::json_text(pod, "metadata", "uid");
  bool over = false;
  bool begun = false;
  std::vector<Bounced> refused;
  {
    const std::lock_guard lock(mutex_);
    const auto agent = agents_.find(node_of(pod));
    const bool ending = !kube::json_text(pod, "metadata", "deletionTimestamp").empty();
    if (change == kube::Change::kDeleted || ending) {
      end(uid);
    } else if (agent != agents_.end() && !pods_.contains(uid)) {
      refused = begin(uid, pod, *agent->second);
      begun = true;
    }
    over = change != kube::Change::kDeleted && ending && agent != agents_.end();
    changed_.notify_all();
  }
  const std::string name = kube::json_text(pod, "metadata", "name");
  if (over) (void)admin_.remove_pod(name);
  for (const Bounced& each : refused) (void)admin_.say_refused(name, each.container, each.text);
  if (begun && refused.empty() && tells_ready()) (void)admin_.say_ready(name);
}

std::vector<Bounced> FakeNodes::begin(const std::string& uid, const json& pod, FakeAgent& agent) {
  std::vector<Bounced> all_refused;
  PodRun& run = pods_[uid];
  run.node = agent.node();
  run.name = kube::json_text(pod, "metadata", "name");
  const policy::Pod seen = pod_as_run(pod);
  for (const json& container : kube::json_at(pod, "spec", "containers")) {
    FakeAgent::Unit unit{
        .pod = seen,
        .container = test_support::make_container(seen, kube::json_text(container, "name"),
                                                  resources_as_run(container))};
    unit.container.id = uid + "-" + unit.container.name;
    if (const auto refused = agent.run(unit)) {
      all_refused.push_back(
          {.node = run.node, .pod = run.name, .container = unit.container.name, .text = *refused});
    } else {
      run.units.push_back(std::move(unit));
    }
  }
  bounced_.insert(bounced_.end(), all_refused.begin(), all_refused.end());
  return all_refused;
}

void FakeNodes::end(const std::string& uid) {
  const auto run = pods_.find(uid);
  if (run == pods_.end()) return;
  for (const FakeAgent::Unit& unit : run->second.units) agents_.at(run->second.node)->stop(unit);
  pods_.erase(run);
}

}  // namespace pinion::e2e
