// Pods, containers and the runtime's events for tests of the engine, in few words.
#pragma once

#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/engine/engine.h"

namespace pinion::topology {

// How GoogleTest shows a set.
template <class Tag, int Capacity>
void PrintTo(const IdSet<Tag, Capacity>& set, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << '{' << set.to_string() << '}';
}

}  // namespace pinion::topology

namespace pinion::test_support {

inline engine::Pod make_pod(const std::string& name, engine::Qos qos = engine::Qos::kGuaranteed) {
  engine::Pod pod;
  pod.id = "sandbox-" + name;
  pod.uid = "uid-" + name;
  pod.name = name;
  pod.name_space = "default";
  pod.cgroup_parent = "/kubepods/";
  if (qos == engine::Qos::kBurstable) pod.cgroup_parent += "burstable/";
  if (qos == engine::Qos::kBestEffort) pod.cgroup_parent += "besteffort/";
  if (qos == engine::Qos::kUnknown) pod.cgroup_parent = "/machine/";
  pod.cgroup_parent += "pod" + pod.uid;
  return pod;
}

// What the kubelet writes for a request and limit of so many thousandths; 0: neither.
inline engine::Resources cpu(std::int64_t milli, std::int64_t memory = 0) {
  engine::Resources resources;
  resources.shares = milli == 0 ? 2U : static_cast<std::uint64_t>(milli * 1024 / 1000);
  resources.period = 100'000;
  resources.quota = milli * 100;
  if (memory != 0) resources.memory = memory;
  return resources;
}

inline engine::Container make_container(const engine::Pod& pod, const std::string& name,
                                        const engine::Resources& resources) {
  engine::Container container;
  container.id = pod.name + "-" + name;
  container.pod_id = pod.id;
  container.name = name;
  container.state = engine::ContainerState::kCreated;
  container.resources = resources;
  container.cgroups_path = pod.cgroup_parent + "/" + container.id;
  return container;
}

// A pod of one container, as most tests need it.
struct Unit {
  engine::Pod pod;
  engine::Container container;

  [[nodiscard]] const std::string& id() const { return container.id; }
};

inline Unit rank(const std::string& name, int cpus, std::int64_t memory = 0) {
  auto pod = make_pod(name);
  pod.resources = cpu(1000 * cpus, memory);  // as containerd tells
  return {pod, make_container(pod, "main", cpu(1000 * cpus, memory))};
}

// A rank that insists on its NUMA node, and so is bound to its memory.
inline Unit bound_rank(const std::string& name, int cpus, std::int64_t memory) {
  Unit unit = rank(name, cpus, memory);
  unit.pod.annotations["pinion.dev/strength"] = "required";
  return unit;
}

inline Unit shared(const std::string& name) {
  const auto pod = make_pod(name, engine::Qos::kBestEffort);
  return {pod, make_container(pod, "main", cpu(0))};
}

// One whose request the kubelet has put into that score.
inline Unit burstable(const std::string& name, std::int64_t oom_score_adj) {
  const auto pod = make_pod(name, engine::Qos::kBurstable);
  Unit unit{pod, make_container(pod, "main", cpu(500))};
  unit.container.oom_score_adj = oom_score_adj;
  return unit;
}

// A placeholder that lends its cores, and a container that takes them.
inline Unit lender(const std::string& name, int cpus, const std::string& to = "vc-*/main") {
  Unit unit = rank(name, cpus);
  unit.pod.annotations["pinion.dev/lend-to"] = to;
  return unit;
}
inline Unit borrower(const std::string& name) {
  const auto pod = make_pod(name);
  Unit unit{pod, make_container(pod, "main", cpu(500))};
  unit.pod.annotations["pinion.dev/borrow"] = "true";
  return unit;
}

// The pod's container of that name, of so many CPUs.
inline Unit part(const engine::Pod& pod, const std::string& name, int count) {
  return {pod, make_container(pod, name, cpu(1000 * count))};
}

// A pod of which the runtime tells how many CPUs it has as a whole.
inline engine::Pod whole_pod(const std::string& name, int count) {
  engine::Pod pod = make_pod(name);
  pod.resources = cpu(1000 * count);
  return pod;
}

// An engine and the few steps by which tests drive it.
class Driver {
 public:
  Driver(const topology::Topology& machine, engine::FenceKind fence,
         const engine::Settings& settings = {})
      : engine(machine, settings, fence) {}

  // What came of an event, with the files that it wants looked at.
  struct Answer : engine::Effects {
    std::string fatal = {};  // a broken rule of the state
    std::vector<engine::Unguard> unguard = {};
    std::vector<engine::Enforce> now = {};
  };
  Answer handle(const engine::Event& event) {
    Answer answer{engine.handle(event)};
    answer.fatal = engine.broken().value_or("");
    while (auto work = engine.next()) {
      if (auto* group = std::get_if<engine::Unguard>(&*work)) {
        answer.unguard.push_back(std::move(*group));
      } else {
        answer.now.push_back(std::get<engine::Enforce>(std::move(*work)));
      }
    }
    return answer;
  }
  Answer create(const Unit& unit) {
    return handle(engine::CreateContainer{unit.pod, unit.container});
  }
  Answer tell(const Unit& unit, engine::ContainerEvent::Kind kind) {
    return handle(
        engine::ContainerEvent{.kind = kind, .pod = unit.pod, .container = unit.container});
  }
  // START and POST_START, with every file found as it was told and written where asked.
  Answer start(const Unit& unit) {
    auto effects = tell(unit, engine::ContainerEvent::Kind::kStart);
    obey(effects);
    obey(tell(unit, engine::ContainerEvent::Kind::kPostStart));
    return effects;
  }
  // Creates and starts; gives the CPUs that it was told.
  engine::CpuSet run(const Unit& unit) {
    const auto effects = create(unit);
    if (effects.reply.refusal || !effects.reply.own) return {};
    start(unit);
    return effects.reply.own->cpus;
  }
  // The runtime has not done it yet.
  Answer ask(const Unit& unit, const engine::Resources& wanted) {
    return handle(engine::UpdateContainer{unit.pod, unit.container, wanted});
  }
  // It has, if the engine agrees: the answer to the update, with what both want done.
  Answer update(const Unit& unit, const engine::Resources& wanted) {
    Answer answer = ask(unit, wanted);
    if (answer.reply.refusal) return answer;
    Unit after = unit;
    after.container.resources = policy::merge(unit.container.resources, wanted);
    Answer done = tell(after, engine::ContainerEvent::Kind::kPostUpdate);
    if (answer.fatal.empty()) answer.fatal = done.fatal;
    answer.notes.insert(answer.notes.end(), done.notes.begin(), done.notes.end());
    answer.now.insert(answer.now.end(), done.now.begin(), done.now.end());
    answer.unguard.insert(answer.unguard.end(), done.unguard.begin(), done.unguard.end());
    return answer;
  }
  Answer stop(const Unit& unit) { return handle(engine::StopContainer{unit.pod, unit.container}); }
  // Its container and its pod are gone for good.
  Answer end(const Unit& unit) {
    stop(unit);
    return pod_event(unit, engine::PodEvent::Kind::kStop);
  }
  Answer pod_event(const Unit& unit, engine::PodEvent::Kind kind) {
    return handle(engine::PodEvent{.kind = kind, .pod = unit.pod});
  }
  // What a report leads to.
  struct Aftermath {
    std::vector<Note> notes;
    std::vector<engine::Enforce> now = {};
  };
  Aftermath report(const engine::Enforced& result) {
    Aftermath after{engine.report(result)};
    while (auto work = engine.next()) {
      after.now.push_back(std::get<engine::Enforce>(std::move(*work)));
    }
    return after;
  }
  // Every file that is asked for is found and is then as wanted.
  void obey(const Answer& answer) {
    for (const engine::Enforce& wanted : answer.now) obey(wanted);
  }
  // Gives the ids of those that had to be fenced by file because no partition could be made.
  std::vector<std::string> obey(const engine::Enforce& wanted) {
    engine::Enforced done;
    done.id = wanted.id;
    done.cause = wanted.cause;
    done.found = engine::Applied{.cpus = wanted.cpuset.cpus, .mems = wanted.cpuset.mems};
    if (wanted.quota) {
      done.quota_seen = true;
      done.quota_found = wanted.quota->own;
    }
    if (wanted.partition) {
      done.partition = no_partition.empty() ? *wanted.partition : engine::Partition();
      done.partition_error = no_partition;
    }
    std::vector<std::string> fenced;
    for (const engine::Enforce& next : report(done).now) {
      fenced.push_back(next.id);
      obey(next);
    }
    return fenced;
  }
  // Does all waiting work; gives the ids in the order of it. At most 1,000 pieces.
  std::vector<std::string> drain() {
    std::vector<std::string> ids;
    while (ids.size() < 1000) {
      const auto piece = engine.idle();
      if (!piece) break;
      ids.push_back(piece->id);
      obey(*piece);
    }
    return ids;
  }
  [[nodiscard]] engine::CpuSet own(const Unit& unit) const {
    const engine::Member* member = engine.state().find(unit.id());
    return member == nullptr ? engine::CpuSet() : member->own.cpus;
  }
  [[nodiscard]] engine::CpuSet taken() const { return engine.state().ledger.exclusive(); }

  engine::Engine engine;
  std::string no_partition;  // why the kernel makes none; empty: it does
};

// A Synchronize of these, all running; the runtime's record of each is empty.
inline engine::Synchronize all_running(const std::vector<Unit>& units) {
  engine::Synchronize event;
  for (const Unit& unit : units) {
    event.pods.push_back(unit.pod);
    event.containers.push_back(unit.container);
    event.containers.back().state = engine::ContainerState::kRunning;
    event.containers.back().pid = 100;
  }
  return event;
}

inline engine::CpuSet cpus(const std::string& list) {
  const auto parsed = engine::CpuSet::parse(list);
  return parsed ? *parsed : engine::CpuSet();
}

// Of "CONTAINER=CPUS CONTAINER=CPUS", as pinion.dev/planned says it.
inline engine::CpuSet planned_for(const std::string& container, const std::string& planned) {
  std::istringstream parts(planned);
  for (std::string part; parts >> part;) {
    if (part.starts_with(container + "=")) return cpus(part.substr(container.size() + 1));
  }
  return {};
}

inline engine::NodeSet mems(const std::string& list) {
  const auto parsed = engine::NodeSet::parse(list);
  return parsed ? *parsed : engine::NodeSet();
}

}  // namespace pinion::test_support
