#include "tests/unit/ctl/sample.h"

#include "agent/client/machine.h"
#include "tests/support/machine.h"

namespace pinion::ctl {
namespace {

void add_domains(const topology::Topology& machine, const topology::CpuSet& free,
                 v1::NodeState& node) {
  for (const topology::Node& each : machine.nodes) {
    v1::Domain& domain = *node.add_numa_nodes();
    domain.set_id(static_cast<std::uint32_t>(each.id));
    domain.set_cpus(each.cpus.to_string());
    domain.set_free((each.cpus & free).to_string());
    domain.set_memory(each.memory);
  }
  for (std::size_t i = 0; i < machine.l3s.size(); ++i) {
    v1::Domain& domain = *node.add_l3s();
    domain.set_id(static_cast<std::uint32_t>(i));
    domain.set_cpus(machine.l3s[i].cpus.to_string());
    domain.set_free((machine.l3s[i].cpus & free).to_string());
  }
}

void set_rates(const SampleContainer& spec, v1::Container& container) {
  v1::Rates& rates = *container.mutable_rates();
  rates.set_cpus(spec.used);
  rates.set_migrations_per_second(spec.migrations);
  rates.set_switches_per_second(spec.used * 120);
  rates.set_involuntary_per_second(spec.used * 20);
  if (spec.intrusion >= 0) rates.set_intrusion_share(spec.intrusion);
  if (!spec.hardware) return;
  rates.set_instructions_per_cycle(1.5);
  rates.set_l3_misses_per_second(spec.used * 2.5e6);
  rates.set_l3_misses_per_kilo_instruction(0.8);
  rates.set_remote_share(0.0312);
  v1::Figures& figures = *container.mutable_figures();
  figures.set_cycles(2000000);
  figures.set_instructions(3000000);
  figures.set_l3_misses(2400);
}

void set_identity(const SampleContainer& spec, v1::Container& container) {
  const std::size_t pod = spec.name.find('/');
  const std::size_t name = spec.name.find('/', pod + 1);
  container.set_id(spec.name);
  container.set_namespace_(spec.name.substr(0, pod));
  container.set_pod(spec.name.substr(pod + 1, name - pod - 1));
  container.set_name(spec.name.substr(name + 1));
  container.set_job(spec.job);
  container.set_task_group(spec.group);
  container.set_qos(spec.cpus.empty() ? "Burstable" : "Guaranteed");
  container.set_exclusive(!spec.cpus.empty());
  container.set_started(true);
  container.set_trouble(spec.trouble);
}

topology::CpuSet parsed(const std::string& list) {
  return *topology::CpuSet::parse(list);
}

}  // namespace

v1::Snapshot sample_of(const topology::Topology& machine,
                       const std::vector<SampleContainer>& containers) {
  v1::Snapshot snapshot;
  v1::NodeState& node = *snapshot.mutable_node();
  const topology::CpuSet reserved = machine.online.lowest(1);
  topology::CpuSet exclusive;
  for (const SampleContainer& spec : containers) exclusive |= parsed(spec.cpus);
  const topology::CpuSet free = machine.online - exclusive - reserved;
  for (const SampleContainer& spec : containers) {
    v1::Container& container = *snapshot.add_containers();
    set_identity(spec, container);
    container.set_cpus(spec.cpus.empty() ? (machine.online - exclusive).to_string() : spec.cpus);
    container.set_claim(spec.cpus);
    set_rates(spec, container);
  }
  node.set_name("node-a");
  node.set_version("0.1.0");
  node.set_instance("f00d");
  node.set_generation(42);
  node.set_synchronized(true);
  node.mutable_runtime()->set_name("containerd");
  node.mutable_runtime()->set_version("1.7.24");
  node.mutable_runtime()->set_phase("synchronized");
  node.set_fence("leaf");
  *node.mutable_machine() = agent::api::machine_of(machine);
  v1::Sets& sets = *node.mutable_sets();
  sets.set_online(machine.online.to_string());
  sets.set_reserved(reserved.to_string());
  sets.set_exclusive(exclusive.to_string());
  sets.set_shared((machine.online - exclusive).to_string());
  sets.set_free(free.to_string());
  add_domains(machine, free, node);
  for (const char* align : {"none", "l3", "numa", "socket"}) {
    (*node.mutable_largest())[align] = static_cast<std::uint32_t>(free.count());
  }
  return snapshot;
}

topology::Topology small_machine() {
  return test_support::two_core_vm();
}

topology::Topology large_machine() {
  return test_support::epyc_rome_256();
}

v1::Snapshot small_sample() {
  v1::Snapshot snapshot = sample_of(
      small_machine(), {{.name = "default/noise-0/main", .used = 0.46, .migrations = 12.5},
                        {.name = "kube-system/coredns-7db6d8ff4d-x2x9k/coredns", .used = 0.02},
                        {.name = "hpc/wind-rank-0/rank",
                         .job = "wind",
                         .group = "wind-0",
                         .cpus = "1",
                         .used = 0.98,
                         .intrusion = 0.0023}});
  v1::NodeState& node = *snapshot.mutable_node();
  const auto event = [&](const char* name, const char* availability, const char* detail) {
    v1::EventSupport& support = *node.add_events();
    support.set_event(name);
    support.set_availability(availability);
    support.set_detail(detail);
  };
  event("context-switches", "counted", "");
  event("migrations", "counted", "");
  event("cycles", "no such PMU", "this guest has no hardware counters");
  v1::Refusal& refusal = *node.add_refusals();
  refusal.set_unix_ms(1767225600000);
  refusal.set_namespace_("hpc");
  refusal.set_pod("wind-rank-1");
  refusal.set_container("rank");
  refusal.set_reason("cpus");
  refusal.set_text("needs 1 CPU, none is free");
  return snapshot;
}

v1::Snapshot large_sample() {
  const topology::Topology machine = large_machine();
  std::vector<SampleContainer> containers;
  for (int rank = 0; rank < 20; ++rank) {
    // A whole L3 domain each, from the second one on.
    const std::string number = std::to_string(rank);
    containers.push_back({.name = "hpc/wind-rank-" + number + "/rank",
                          .job = "wind",
                          .group = "wind-" + std::to_string(rank / 4),
                          .cpus = machine.l3s[static_cast<std::size_t>(rank + 1)].cpus.to_string(),
                          .used = 8 - 0.25 * rank,
                          .migrations = rank == 3 ? 2.0 : 0.0,
                          .intrusion = rank == 5 ? 0.034 : 0.0004 * rank,
                          .hardware = true,
                          .trouble = rank == 7 ? "cpuset.cpus is 0-255" : ""});
  }
  containers.push_back({.name = "monitoring/node-exporter-with-a-rather-long-name-x7k2p/exporter",
                        .used = 0.013,
                        .migrations = 0.4});
  containers.push_back(
      {.name = "kube-system/kube-proxy-9vl8n/kube-proxy", .used = 0.002, .migrations = 0.1});
  return sample_of(machine, containers);
}

}  // namespace pinion::ctl
