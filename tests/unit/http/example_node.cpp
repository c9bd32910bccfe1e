#include "tests/unit/http/example_node.h"

#include <memory>

#include "tests/support/machine.h"

namespace pinion::agent {
namespace {

using metrics::Availability;
using metrics::Count;
using metrics::Event;
using test_support::kGiB;
using test_support::kMiB;

constexpr std::uint64_t kSecond = 1'000'000'000;

void count(metrics::ContainerFigures& figures, Event event, std::uint64_t value,
           double running = 1) {
  figures.events[static_cast<std::size_t>(event)] = Count{.value = value, .running = running};
}

metrics::ContainerFigures figures_of(metrics::Identity who) {
  metrics::ContainerFigures figures;
  figures.who = std::make_shared<const metrics::Identity>(std::move(who));
  return figures;
}

metrics::Identity called(const std::string& id, const std::string& name_space,
                         const std::string& pod, const std::string& container) {
  metrics::Identity who;
  who.id = id;
  who.name_space = name_space;
  who.pod = pod;
  who.container = container;
  return who;
}

metrics::Identity rank_called(const std::string& id, const std::string& pod,
                              const std::string& cpus) {
  metrics::Identity who = called(id, "hpc", pod, "rank");
  who.job = "wind";
  who.exclusive = true;
  who.cpus = cpus;
  who.mems = "1";
  who.qos = "Guaranteed";
  return who;
}

// What is read of every container, from the cgroup and from /proc.
void read_light(metrics::ContainerFigures& figures) {
  figures.cpu_user_ns = 12 * kSecond + 345'678'901;
  figures.cpu_system_ns = kSecond / 2;
  figures.periods = 1200;
  figures.throttled_periods = 3;
  figures.throttled_ns = 21'000'000;
  figures.memory = {{.node = 0, .bytes = 4096}, {.node = 1, .bytes = 3 * kGiB}};
  figures.memory_pressure_some_ns = 2'000'000;
  figures.memory_pressure_full_ns = 1'000'000;
  figures.cpu_pressure_some_ns = 40'000'000;
  figures.voluntary_switches = 2002;
  figures.involuntary_switches = 7;
  figures.run_queue_wait_ns = 123'456'789;
  figures.threads = 5;
}

void count_all(metrics::ContainerFigures& figures) {
  count(figures, Event::kContextSwitches, 2009);
  count(figures, Event::kMigrations, 1);
  count(figures, Event::kPageFaults, 90210);
  count(figures, Event::kTaskClock, 12 * kSecond + 845'000'000);
  count(figures, Event::kCycles, 45'000'000'000);
  count(figures, Event::kInstructions, 9'007'199'254'740'993);  // no double has this value
  count(figures, Event::kL3Misses, 1'234'567, 0.84);
  count(figures, Event::kLocalDram, 1'000'000, 0.84);
  count(figures, Event::kRemoteDram, 4567, 0.84);
}

ContainerView view_of(const std::string& id, const std::string& name, const std::string& pod,
                      const std::string& name_space) {
  ContainerView view;
  view.id = view.claim = id;
  view.name = name;
  view.pod = pod;
  view.name_space = name_space;
  view.started = true;
  return view;
}

ContainerView small_rank() {
  ContainerView rank = view_of("c1", "rank", "wind-0", "hpc");
  rank.qos = engine::Qos::kGuaranteed;
  rank.exclusive = true;
  rank.decided = {.cpus = {2}, .mems = {1}};
  rank.job = "wind";
  rank.task_group = "wind-a";
  rank.profile = topology::Profile::kMemory;
  return rank;
}

std::vector<ContainerView> small_containers() {
  ContainerView shared = view_of("c2", "sidecar", "web-1", "default");
  shared.qos = engine::Qos::kBurstable;
  shared.decided = {.cpus = {0, 1, 3}, .mems = {0, 1}};
  shared.borrowed = {3};
  ContainerView young = view_of("c3", "new", "web-2", "default");
  young.qos = engine::Qos::kBestEffort;
  young.decided = shared.decided;
  young.trouble = "its cpuset file could not be written";
  young.not_lent = engine::NoLoan::kNotExclusive;
  return {small_rank(), shared, young};
}

metrics::Sample small_sample() {
  metrics::Sample sample;
  sample.number = 42;
  sample.unix_ms = 1'700'000'000'250;
  metrics::ContainerFigures shared = figures_of(called("c2", "default", "web-1", "sidecar"));
  read_light(shared);
  shared.throttled_periods.reset();
  shared.throttled_ns.reset();
  metrics::Identity rank_is = rank_called("c1", "wind-0", "2");
  rank_is.task_group = "wind-a";
  rank_is.profile = "memory";
  metrics::ContainerFigures rank = figures_of(std::move(rank_is));
  read_light(rank);
  count_all(rank);
  rank.intrusion_ns = 30'000'000;
  metrics::ContainerFigures finished = figures_of(rank_called("c0", "wind-9", "3"));
  finished.finished = true;
  finished.cpu_user_ns = kSecond;
  count(finished, Event::kMigrations, 0);
  sample.containers = {shared, rank, finished};
  sample.events = {
      {.event = Event::kContextSwitches, .availability = Availability::kCounted, .detail = ""},
      {.event = Event::kCycles, .availability = Availability::kCounted, .detail = ""},
      {.event = Event::kRemoteDram, .availability = Availability::kNotSupported, .detail = "x"}};
  sample.collector = {.passes = 42,
                      .cpu_seconds = 0.125,
                      .last_pass_seconds = 0.003,
                      .descriptors = 10,
                      .reopened = 2,
                      .vanished = 1,
                      .errors = 0,
                      .last_error = ""};
  return sample;
}

engine::Counters engine_counters() {
  engine::Counters counters;
  counters.exclusive_placed = 11;
  counters.shared_placed = 12;
  counters.refused = {{"cpus", 13}, {"annotation", 14}};
  counters.preferred_not_met = 15;
  counters.resized = 16;
  counters.kept = 17;
  counters.moved = 18;
  counters.unplaced = 19;
  counters.adopted = 20;
  counters.lost_stops = 21;
  counters.late = 22;
  counters.drift = 23;
  counters.repairs = 24;
  counters.write_failures = 25;
  return counters;
}

nri::Counters wire_counters(std::initializer_list<nri::Method> timed) {
  nri::Counters counters;
  counters.bytes_in = 31;
  counters.bytes_out = 32;
  counters.calls[static_cast<std::size_t>(nri::Method::kCreateContainer)] = 33;
  counters.errors[static_cast<std::size_t>(nri::Method::kCreateContainer)] = 34;
  counters.unknown_methods = 35;
  counters.ignored_messages = 36;
  counters.updates_out = 37;
  counters.updates_dropped = 38;
  counters.connects = 39;
  counters.connect_failures = 40;
  counters.synchronized = 41;
  counters.sessions_failed = 42;
  counters.resyncs = 43;
  for (const nri::Method method : timed) {
    counters.latency[static_cast<std::size_t>(method)].observe(0.0002);
    counters.latency[static_cast<std::size_t>(method)].observe(0.75);
  }
  return counters;
}

ExposeExtras some_extras() {
  ExposeExtras extras;
  extras.version = "1.2.3";
  extras.scrape = {.scrapes = 4, .seconds = 0.0015, .bytes = 20'000};
  extras.listeners = {{.name = "api",
                       .open = 2,
                       .accepted = 7,
                       .closed_for_room = 1,
                       .closed_as_slow = 3,
                       .closed_as_garbage = 5,
                       .shortages = 0},
                      {.name = "metrics",
                       .open = 1,
                       .accepted = 900,
                       .closed_for_room = 0,
                       .closed_as_slow = 2,
                       .closed_as_garbage = 0,
                       .shortages = 4}};
  extras.process = ProcessFigures{
      .start_time_seconds = 1'699'999'000.5, .cpu_seconds = 2.25, .resident_bytes = 16 * kMiB};
  extras.noise = noise::Figures{.irqs_moved = 24, .irqs_kept = 2, .corrections = 3, .errors = 1};
  return extras;
}

void describe(NodeView& view, std::initializer_list<nri::Method> timed) {
  view.generation = 7;
  view.fence = "leaf";
  view.fence_weakened = true;
  view.compares_files = true;
  view.synchronized = true;
  view.counters = engine_counters();
  view.nri = wire_counters(timed);
  view.runtime_name = "containerd";
  view.runtime_version = "v1.7.24";
  view.phase = "synchronized";
}

}  // namespace

ExampleNode small_node() {
  ExampleNode node;
  node.view.topology = std::make_shared<const topology::Topology>(
      test_support::machine({.nodes_per_package = 2, .cores_per_l3 = 2}));
  node.view.ledger = topology::Ledger({0});
  node.view.ledger.commit({.id = "c1",
                           .cpus = {2},
                           .mems = {1},
                           .memory = {{.node = 1, .bytes = 4 * kGiB}},
                           .job = "wind",
                           .task_group = "wind-a",
                           .profile = topology::Profile::kMemory});
  node.view.shared = {0, 1, 3};
  node.view.pool = {0, 1, 3};
  node.view.containers = small_containers();
  describe(node.view, {nri::Method::kCreateContainer});
  node.sample = small_sample();
  node.extras = some_extras();
  return node;
}

ExampleNode full_node(int containers) {
  constexpr int kFirst = 32;  // CPUs below are reserved or shared
  ExampleNode node;
  node.view.topology = std::make_shared<const topology::Topology>(test_support::epyc_rome_256());
  node.view.ledger = topology::Ledger({0, 1});
  for (int i = 0; i < containers; ++i) {
    const std::string number = std::to_string(1000 + i);
    const int cpu = kFirst + i;
    ContainerView rank =
        view_of("container-" + number, "rank", "simulation-worker-" + number, "hpc-benchmarks");
    rank.qos = engine::Qos::kGuaranteed;
    rank.exclusive = true;
    rank.decided = {.cpus = {cpu}, .mems = {0}};
    rank.job = "simulation";
    rank.task_group = "simulation-" + std::to_string(i % 20);
    node.view.ledger.commit({.id = rank.id,
                             .cpus = {cpu},
                             .mems = {0},
                             .memory = {{.node = 0, .bytes = kMiB}},
                             .job = rank.job,
                             .task_group = rank.task_group,
                             .profile = topology::Profile::kCpu});
    metrics::Identity who = called(rank.id, rank.name_space, rank.pod, rank.name);
    who.exclusive = true;
    metrics::ContainerFigures figures = figures_of(std::move(who));
    read_light(figures);
    count_all(figures);
    figures.memory.clear();
    for (int n = 0; n < 8; ++n) figures.memory.push_back({.node = n, .bytes = 123'456'789});
    figures.intrusion_ns = 30'000'000;
    node.view.containers.push_back(std::move(rank));
    node.sample.containers.push_back(std::move(figures));
  }
  node.view.pool = node.view.topology->online - node.view.ledger.exclusive();
  describe(node.view,
           {nri::Method::kSynchronize, nri::Method::kCreateContainer, nri::Method::kUpdateContainer,
            nri::Method::kStopContainer, nri::Method::kStateChange, nri::Method::kRunPodSandbox,
            nri::Method::kStopPodSandbox, nri::Method::kRemovePodSandbox});
  node.sample.number = 1;
  node.sample.events = small_sample().events;
  node.extras = some_extras();
  return node;
}

}  // namespace pinion::agent
