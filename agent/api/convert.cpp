#include "agent/api/convert.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "agent/client/machine.h"
#include "topology/words.h"

namespace pinion::agent::api {
namespace {

using metrics::ContainerFigures;
using metrics::Event;
using topology::CpuSet;

CpuSet free_of(const NodeView& view) {
  return view.topology->online - view.ledger.reserved() - view.ledger.exclusive();
}

v1::Sets sets_of(const NodeView& view) {
  v1::Sets sets;
  sets.set_online(view.topology->online.to_string());
  sets.set_reserved(view.ledger.reserved().to_string());
  sets.set_exclusive(view.ledger.exclusive().to_string());
  sets.set_shared(view.shared.to_string());
  sets.set_isolated(view.topology->isolated.to_string());
  sets.set_free(free_of(view).to_string());
  sets.set_pool(view.pool.to_string());
  return sets;
}

void add_domains(const NodeView& view, v1::NodeState& node) {
  const CpuSet free = free_of(view);
  for (std::size_t i = 0; i < view.topology->nodes.size(); ++i) {
    const topology::Node& from = view.topology->nodes[i];
    v1::Domain& domain = *node.add_numa_nodes();
    domain.set_id(static_cast<std::uint32_t>(from.id));
    domain.set_cpus(from.cpus.to_string());
    domain.set_free((from.cpus & free).to_string());
    domain.set_memory(from.memory);
    domain.set_memory_promised(view.ledger.promised(static_cast<topology::Index>(i)));
  }
  for (std::size_t i = 0; i < view.topology->l3s.size(); ++i) {
    const CpuSet& cpus = view.topology->l3s[i].cpus;
    v1::Domain& domain = *node.add_l3s();
    domain.set_id(static_cast<std::uint32_t>(i));
    domain.set_cpus(cpus.to_string());
    domain.set_free((cpus & free).to_string());
  }
}

void add_refusals(const NodeView& view, v1::NodeState& node) {
  for (const RefusalView& from : view.refusals) {
    v1::Refusal& refusal = *node.add_refusals();
    refusal.set_unix_ms(from.unix_ms);
    refusal.set_namespace_(from.name_space);
    refusal.set_pod(from.pod);
    refusal.set_container(from.container);
    refusal.set_reason(from.reason);
    refusal.set_text(from.text);
  }
}

void add_events(const metrics::Sample& sample, v1::NodeState& node) {
  for (const metrics::EventAvailability& from : sample.events) {
    v1::EventSupport& event = *node.add_events();
    event.set_event(std::string(metrics::to_string(from.event)));
    event.set_availability(std::string(metrics::to_string(from.availability)));
    event.set_detail(from.detail);
  }
}

void add_counters(const NodeView& view, v1::NodeState& node) {
  const engine::Counters& engine = view.counters;
  auto& counters = *node.mutable_counters();
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"exclusive_placed", engine.exclusive_placed},
           {"shared_placed", engine.shared_placed},
           {"preferred_not_met", engine.preferred_not_met},
           {"resized", engine.resized},
           {"synchronized", engine.synchronized},
           {"kept", engine.kept},
           {"moved", engine.moved},
           {"unplaced", engine.unplaced},
           {"adopted", engine.adopted},
           {"lost_stops", engine.lost_stops},
           {"late", engine.late},
           {"drift", engine.drift},
           {"repairs", engine.repairs},
           {"write_failures", engine.write_failures},
           {"updates_told", engine.updates_told},
           {"partitions_made", engine.guarded},
           {"partitions_failed", engine.unguarded},
           {"qos_groups_lost", engine.qos_groups_lost},
           {"machine_changes", engine.machine_changes},
           {"connects", view.nri.connects},
           {"resyncs", view.nri.resyncs},
           {"sessions_failed", view.nri.sessions_failed}}) {
    counters[name] = value;
  }
  for (const auto& [reason, count] : engine.refused) counters["refused." + reason] = count;
}

void set_claim(const NodeView& view, const topology::Claim& claim, v1::Container& container) {
  container.set_claim(claim.cpus.to_string());
  container.set_mems(claim.mems.to_string());
  for (const topology::Claim::Share& share : claim.memory) {
    v1::MemoryPromise& promise = *container.add_promised();
    const topology::Node& node = view.topology->nodes[static_cast<std::size_t>(share.node)];
    promise.set_node(static_cast<std::uint32_t>(node.id));
    promise.set_bytes(share.bytes);
  }
}

v1::Container live_container(const NodeView& view, const ContainerView& from) {
  v1::Container container;
  container.set_id(from.id);
  container.set_namespace_(from.name_space);
  container.set_pod(from.pod);
  container.set_name(from.name);
  container.set_pod_uid(from.pod_uid);
  container.set_qos(std::string(policy::to_string(from.qos)));
  container.set_exclusive(from.exclusive);
  container.set_started(from.started);
  container.set_cpus(from.decided.cpus.to_string());
  container.set_mems(from.decided.mems.to_string());
  if (const topology::Claim* claim = view.ledger.find(from.claim))
    set_claim(view, *claim, container);
  container.set_job(from.job);
  container.set_task_group(from.task_group);
  container.set_profile(std::string(word_of(from.profile, topology::kProfileWords)));
  container.set_why(from.why);
  if (from.told) container.set_told(from.told->cpus.to_string());
  if (from.applied) container.set_applied(from.applied->cpus.to_string());
  container.set_trouble(from.trouble);
  container.set_lent_to(from.lent_to);
  container.set_borrowed(from.borrowed.to_string());
  container.set_with_pod(from.with_pod);
  container.set_not_lent(std::string(word_of(from.not_lent, engine::kNoLoanWords)));
  container.set_not_lent_why(std::string(engine::to_string(from.not_lent)));
  return container;
}

v1::Container finished_container(const metrics::Identity& from) {
  v1::Container container;
  container.set_id(from.id);
  container.set_namespace_(from.name_space);
  container.set_pod(from.pod);
  container.set_name(from.container);
  container.set_qos(from.qos);
  container.set_exclusive(from.exclusive);
  container.set_started(true);
  container.set_finished(true);
  container.set_cpus(from.cpus);
  container.set_job(from.job);
  container.set_task_group(from.task_group);
  container.set_profile(from.profile);
  return container;
}

// The figures of a sample by container id.
using ById = std::map<std::string_view, const ContainerFigures*>;

ById by_id(const metrics::Sample* sample) {
  ById figures;
  if (sample == nullptr) return figures;
  for (const ContainerFigures& container : sample->containers) {
    if (container.who) figures.emplace(container.who->id, &container);
  }
  return figures;
}

void add_measured(const ContainerFigures& measured, v1::Container& container) {
  *container.mutable_figures() = figures_of(measured);
  if (measured.rates != metrics::Rates{}) {
    *container.mutable_rates() = rates_message(measured.rates);
  }
}

}  // namespace

void set_largest(const topology::Topology& topology, const topology::Ledger& ledger,
                 google::protobuf::Map<std::string, std::uint32_t>& largest) {
  for (const auto& [word, align] : topology::kAlignWords) {
    largest[std::string(word)] =
        static_cast<std::uint32_t>(topology::largest(topology, ledger, align));
  }
}

v1::NodeState node_of(const NodeName& name, const NodeView& view, const metrics::Sample* sample) {
  v1::NodeState node;
  node.set_name(name.name);
  node.set_version(name.version);
  node.set_instance(name.instance);
  node.set_generation(view.generation);
  node.set_synchronized(view.synchronized);
  node.mutable_runtime()->set_name(view.runtime_name);
  node.mutable_runtime()->set_version(view.runtime_version);
  node.mutable_runtime()->set_phase(view.phase);
  node.set_fence(view.fence);
  *node.mutable_machine() = machine_of(*view.topology);
  *node.mutable_sets() = sets_of(view);
  add_domains(view, node);
  set_largest(*view.topology, view.ledger, *node.mutable_largest());
  node.set_strict_reservation(view.ledger.strict());
  node.set_shared_memory(view.ledger.shared_memory());
  add_refusals(view, node);
  if (sample != nullptr) add_events(*sample, node);
  node.set_compares_files(view.compares_files);
  add_counters(view, node);
  return node;
}

v1::Figures figures_of(const ContainerFigures& from) {
  v1::Figures to;
  if (from.cpu_user_ns) to.set_cpu_user_ns(*from.cpu_user_ns);
  if (from.cpu_system_ns) to.set_cpu_system_ns(*from.cpu_system_ns);
  if (const auto& count = from.event(Event::kContextSwitches))
    to.set_context_switches(count->value);
  if (from.voluntary_switches) to.set_voluntary_switches(*from.voluntary_switches);
  if (from.involuntary_switches) to.set_involuntary_switches(*from.involuntary_switches);
  if (const auto& count = from.event(Event::kMigrations)) to.set_migrations(count->value);
  if (const auto& count = from.event(Event::kPageFaults)) to.set_page_faults(count->value);
  if (from.run_queue_wait_ns) to.set_run_queue_wait_ns(*from.run_queue_wait_ns);
  if (from.throttled_periods) to.set_throttled_periods(*from.throttled_periods);
  if (from.throttled_ns) to.set_throttled_ns(*from.throttled_ns);
  if (from.intrusion_ns) to.set_intrusion_ns(*from.intrusion_ns);
  if (const auto& count = from.event(Event::kCycles)) to.set_cycles(count->value);
  if (const auto& count = from.event(Event::kInstructions)) to.set_instructions(count->value);
  if (const auto& count = from.event(Event::kL3Misses)) to.set_l3_misses(count->value);
  if (const auto& count = from.event(Event::kLocalDram)) to.set_local_dram(count->value);
  if (const auto& count = from.event(Event::kRemoteDram)) to.set_remote_dram(count->value);
  if (from.threads) to.set_threads(*from.threads);
  for (const metrics::NodeMemory& memory : from.memory) {
    (*to.mutable_memory())[static_cast<std::uint32_t>(memory.node)] = memory.bytes;
  }
  if (from.memory_pressure_some_ns) to.set_memory_pressure_some_ns(*from.memory_pressure_some_ns);
  return to;
}

v1::Rates rates_message(const metrics::Rates& from) {
  v1::Rates to;
  if (from.cpus) to.set_cpus(*from.cpus);
  if (from.instructions_per_cycle) to.set_instructions_per_cycle(*from.instructions_per_cycle);
  if (from.l3_misses_per_second) to.set_l3_misses_per_second(*from.l3_misses_per_second);
  if (from.l3_misses_per_kilo_instruction) {
    to.set_l3_misses_per_kilo_instruction(*from.l3_misses_per_kilo_instruction);
  }
  if (from.migrations_per_second) to.set_migrations_per_second(*from.migrations_per_second);
  if (from.switches_per_second) to.set_switches_per_second(*from.switches_per_second);
  if (from.involuntary_per_second) to.set_involuntary_per_second(*from.involuntary_per_second);
  if (from.remote_share) to.set_remote_share(*from.remote_share);
  if (from.intrusion_share) to.set_intrusion_share(*from.intrusion_share);
  if (from.wait_share) to.set_wait_share(*from.wait_share);
  if (from.throttled_share) to.set_throttled_share(*from.throttled_share);
  return to;
}

void each_container(const NodeView& view, const metrics::Sample* sample,
                    const std::function<void(v1::Container)>& take) {
  const ById measured = by_id(sample);
  auto figures = measured.begin();
  const auto take_finished = [&] {
    v1::Container container = finished_container(*figures->second->who);
    *container.mutable_figures() = figures_of(*figures->second);
    take(std::move(container));
  };
  for (const ContainerView& from : view.containers) {
    for (; figures != measured.end() && figures->first < from.id; ++figures) take_finished();
    v1::Container container = live_container(view, from);
    if (figures != measured.end() && figures->first == from.id) {
      add_measured(*figures->second, container);
      ++figures;
    }
    take(std::move(container));
  }
  for (; figures != measured.end(); ++figures) take_finished();
}

v1::Snapshot snapshot_of(const NodeName& name, const NodeView& view,
                         const metrics::Sample* sample) {
  v1::Snapshot snapshot;
  *snapshot.mutable_node() = node_of(name, view, sample);
  each_container(view, sample, [&](v1::Container container) {
    *snapshot.add_containers() = std::move(container);
  });
  if (sample != nullptr) snapshot.set_pass(sample->number);
  return snapshot;
}

std::string snapshot_json(const v1::Snapshot& snapshot) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only for messages that hold an Any of unknown type, which ours have not.
  if (!google::protobuf::util::MessageToJsonString(snapshot, &json, options).ok()) return "{}";
  return json;
}

}  // namespace pinion::agent::api
