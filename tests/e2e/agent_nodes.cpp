#include "tests/e2e/agent_nodes.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/pod_as_run.h"
#include "tests/lab/files.h"
#include "tests/unit/agent/node_events.h"
#include "topology/discover/discover.h"

namespace pinion::e2e {

using nlohmann::json;
using topology::CpuSet;

namespace {

constexpr const char* kMachine = "synthetic:package:2 [numa(memory=64GiB)] l3:2 core:4 pu:2";
constexpr NodeShape kShape{.cpus = 32, .memory_gib = 128};
constexpr const char* kSandbox = "sandbox-";  // an id of a pod as it runs: that and its uid

// The pod of an event.
std::string uid_of(const json& event) {
  return kube::json_text(event, "pod").substr(std::string(kSandbox).size());
}

}  // namespace

Result<std::unique_ptr<AgentNodes>> AgentNodes::start(Cluster& cluster,
                                                      const std::vector<std::string>& names) {
  const auto source = topology::Source::parse(kMachine);
  if (!source) return failure(source.error());
  auto machine = topology::discover(*source);
  if (!machine) return failure(machine.error());
  std::unique_ptr<AgentNodes> nodes(new AgentNodes(cluster.access(), *std::move(machine)));
  AgentNodes& self = *nodes;
  cluster.has_log("nodes");
  auto runtime = NodeRuntime::start(cluster.log_of("nodes"),
                                    [&self](const json& event) { self.on_event(event); });
  if (!runtime) return failure(runtime.error());
  self.runtime_ = *std::move(runtime);
  for (const std::string& name : names) {
    const std::string log = "agent-" + name;
    cluster.has_log(log);
    auto agent =
        std::make_unique<NodeAgent>(cluster.folder() + "/" + name, cluster.log_of(log), kMachine);
    self.runtime_->open(name, agent->nri_socket());
    if (Status started = agent->start(); !started) return failure(started.error());
    self.agents_[name] = std::move(agent);
  }
  for (const auto& [name, agent] : self.agents_) {
    if (Status ready = agent->wait_ready(); !ready) return failure(ready.error().within(name));
    if (Status made = self.admin_.add_node(name, kShape); !made) {
      return failure(made.error().within(name));
    }
  }
  self.watch_pods();
  return nodes;
}

AgentNodes::~AgentNodes() {
  stop_watching();
  runtime_.reset();
}

std::map<std::string, std::string> AgentNodes::addresses() const {
  std::map<std::string, std::string> all;
  for (const auto& [node, agent] : agents_) all[node] = "unix:" + agent->api_socket();
  return all;
}

std::map<std::string, Nodes::Held> AgentNodes::held() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Held> held;
  for (const auto& [id, container] : containers_) {
    if (container.own == 0 || container.cpus.empty()) continue;
    Held& pod = held[pods_.at(container.pod).name];
    pod.uid = container.pod;
    pod.node = container.node;
    pod.cpus |= container.cpus;
  }
  return held;
}

std::map<std::string, Nodes::Room> AgentNodes::rooms() const {
  std::map<std::string, Room> rooms;
  for (const auto& [node, agent] : agents_) {
    const auto status = agent->status();
    if (!status) continue;
    CpuSet taken;
    Room& room = rooms[node];
    for (const lab::AgentContainer& container : status->containers) {
      if (!container.exclusive) continue;
      taken |= container.decided;
      ++room.containers;
    }
    for (const auto& numa : machine_.nodes) room.free_cpus.push_back((numa.cpus - taken).count());
  }
  return rooms;
}

std::size_t AgentNodes::running() const {
  const std::lock_guard lock(mutex_);
  return pods_.size();
}

std::size_t AgentNodes::started() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(containers_.begin(), containers_.end(),
                    [](const auto& entry) { return entry.second.started; }));
}

Status AgentNodes::restart_agent(const std::string& node) {
  NodeAgent& agent = *agents_.at(node);
  if (Status started = agent.start(); !started) return started;
  return agent.wait_ready();
}

void AgentNodes::expect_no_plan(const std::string& pod) {
  const std::lock_guard lock(mutex_);
  without_plan_.insert(pod);
}

std::vector<std::string> AgentNodes::wrong() const {
  const std::lock_guard lock(mutex_);
  return wrong_;
}

int AgentNodes::compared() const {
  const std::lock_guard lock(mutex_);
  return compared_;
}

std::string AgentNodes::difference() const {
  std::string found;
  (void)lab::eventually(kPatience, [&] { return (found = difference_now()).empty(); });
  return found;
}

std::string AgentNodes::difference_now() const {
  for (const auto& [node, agent] : agents_) {
    const auto status = agent->status();
    if (!status) return node + ": " + status.error().text;
    const std::lock_guard lock(mutex_);
    CpuSet exclusive;
    std::set<std::string> listed;
    for (const lab::AgentContainer& theirs : status->containers) {
      // Of a container that has ended, or is to come: its pod's until that ends.
      if (theirs.id.starts_with(kSandbox)) {
        const std::string uid = theirs.id.substr(std::string(kSandbox).size());
        const bool runs = pods_.contains(uid.substr(0, uid.find('/')));
        if (!runs) return node + ": keeps CPUs for the pod of " + theirs.id + ", which is gone";
        if (theirs.decided.intersects(exclusive)) return node + ": keeps twice " + theirs.id;
        exclusive |= theirs.decided;
        continue;
      }
      const auto ours = containers_.find(theirs.id);
      if (ours == containers_.end()) return node + ": nothing like its " + theirs.id + " runs";
      listed.insert(theirs.id);
      const Container& container = ours->second;
      const std::string beside = node + ": " + theirs.pod + " has " + container.cpus.to_string() +
                                 ", its agent says " + theirs.decided.to_string();
      if (theirs.exclusive != (container.own > 0) || theirs.decided != container.cpus)
        return beside;
      if (theirs.exclusive && container.cpus.intersects(exclusive)) return beside;
      if (theirs.exclusive) exclusive |= container.cpus;
    }
    for (const auto& [id, container] : containers_) {
      if (container.node != node) continue;
      if (!listed.contains(id)) return node + ": its agent does not know " + id;
      if (container.own == 0 && container.cpus.intersects(exclusive)) {
        return node + ": " + id + " is shared and has " + container.cpus.to_string() +
               ", exclusive are " + exclusive.to_string();
      }
    }
  }
  return {};
}

// A pod runs once it is bound. One that is asked to end is over for the API server when it is gone
// from its node.
void AgentNodes::on_object(kube::Change change, const json& pod) {
  const std::string uid = kube::json_text(pod, "metadata", "uid");
  const bool deleted = change == kube::Change::kDeleted;
  const bool asked = !kube::json_text(pod, "metadata", "deletionTimestamp").empty();
  bool never_ran = false;
  {
    const std::lock_guard lock(mutex_);
    const auto run = pods_.find(uid);
    if (run == pods_.end()) {
      const bool ours = !deleted && agents_.contains(node_of(pod));
      never_ran = ours && asked;
      if (ours && !asked) begin(uid, pod);
    } else if ((deleted || asked) && !std::exchange(run->second.ends, true)) {
      run->second.asked = !deleted;
      runtime_->end(run->second.node, kSandbox + uid);
    }
    changed_.notify_all();
  }
  if (never_ran) (void)admin_.remove_pod(kube::json_text(pod, "metadata", "name"));
}

void AgentNodes::begin(const std::string& uid, const json& pod) {
  const policy::Pod as_run = pod_as_run(pod);
  PodRun& run = pods_[uid];
  run.node = node_of(pod);
  run.name = as_run.name;
  const auto planned = as_run.annotations.find(annotation::kPlanned);
  std::vector<ContainerToRun> containers;
  const auto add = [&](const json& container, bool init) {
    const std::string name = kube::json_text(container, "name");
    const std::string id = uid + "-" + name;
    const policy::Resources resources = resources_as_run(container);
    containers.push_back({.id = id, .name = name, .resources = resources, .ends = init});
    Container& known = run.containers[id];
    known = {.node = run.node, .pod = uid, .name = name};
    if (gets_cores(pod, container)) known.own = milli_cpus(resources).value_or(0) / 1000;
    if (planned != as_run.annotations.end())
      known.planned = test_support::planned_for(name, planned->second);
  };
  for (const json& container : kube::json_at(pod, "spec", "initContainers")) {
    add(container, ends(container));
  }
  for (const json& container : kube::json_at(pod, "spec", "containers")) add(container, false);
  run.to_start = containers.size();
  runtime_->run(run.node, as_run, containers);
}

void AgentNodes::on_event(const json& event) {
  const std::string what = kube::json_text(event, "what");
  std::string over;
  std::string ready;
  std::optional<Bounced> bounced;
  {
    const std::lock_guard lock(mutex_);
    if (what == "gone") {
      const auto run = pods_.find(uid_of(event));
      if (run->second.asked) over = run->second.name;
      pods_.erase(run);
    } else if (what == "refused") {
      bounced = refused(event);
    } else {
      on_container(event);
      PodRun& run = pods_.at(uid_of(event));
      if (what == "started" && --run.to_start == 0 && tells_ready()) ready = run.name;
    }
    changed_.notify_all();
  }
  if (!over.empty()) (void)admin_.remove_pod(over);
  if (!ready.empty()) (void)admin_.say_ready(ready);
  if (bounced) (void)admin_.say_refused(bounced->pod, bounced->container, bounced->text);
}

Bounced AgentNodes::refused(const json& event) {
  const PodRun& run = pods_.at(uid_of(event));
  bounced_.push_back({.node = run.node,
                      .pod = run.name,
                      .container = run.containers.at(kube::json_text(event, "container")).name,
                      .text = kube::json_text(event, "why")});
  return bounced_.back();
}

void AgentNodes::on_container(const json& event) {
  const std::string id = kube::json_text(event, "container");
  const std::string what = kube::json_text(event, "what");
  if (what == "stopped") {
    containers_.erase(id);
    return;
  }
  if (what == "started") {
    containers_.at(id).started = true;
    return;
  }
  if (what == "created") containers_[id] = pods_.at(uid_of(event)).containers.at(id);
  Container& container = containers_.at(id);
  container.cpus = test_support::cpus(kube::json_text(event, "cpus"));
  if (container.own > 0 && !container.cpus.empty()) compare(id, container);
}

void AgentNodes::compare(const std::string& id, const Container& changed) {
  ++compared_;
  const std::string who = changed.node + ": " + pods_.at(changed.pod).name + "/" + changed.name +
                          " has " + changed.cpus.to_string();
  // An init container's are those of the main one: planned are as many as the larger of them wants.
  const bool as_planned = without_plan_.contains(pods_.at(changed.pod).name)
                              ? changed.planned.empty()
                              : changed.cpus.is_subset_of(changed.planned);
  if (changed.cpus.count() != changed.own || !as_planned) {
    std::string beside;
    for (const auto& [other_id, other] : containers_) {
      if (other_id == id || other.node != changed.node) continue;
      if (other.own > 0 && other.cpus.intersects(changed.planned)) {
        beside += "; " + pods_.at(other.pod).name + "/" + other.name + " has " +
                  other.cpus.to_string() + ", planned are '" + other.planned.to_string() + "'";
      }
    }
    wrong_.push_back(who + ", planned are '" + changed.planned.to_string() + "' for " +
                     std::to_string(changed.own) + beside + "; its agent said last:\n" +
                     agents_.at(changed.node)->log_tail(60));
  }
  for (const auto& [other_id, other] : containers_) {
    if (other_id == id || other.node != changed.node || other.own == 0) continue;
    if (other.cpus.intersects(changed.cpus)) {
      wrong_.push_back(who + ", and " + pods_.at(other.pod).name + "/" + other.name + " " +
                       other.cpus.to_string());
    }
  }
}

}  // namespace pinion::e2e
