#include <array>

#include "agent/http/expose_parts.h"
#include "topology/words.h"

namespace pinion::agent {
namespace {

using metrics::ContainerFigures;
using metrics::Event;
using prometheus::Labels;
using prometheus::Metric;
using prometheus::series;
using prometheus::Writer;
using Number = std::optional<std::uint64_t>;

constexpr double kNanosecondsPerSecond = 1e9;

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / kNanosecondsPerSecond;
}

// A family with one sample for each container, and where its value stands.
struct Figure {
  Metric metric;
  Number ContainerFigures::*value;
};
struct Counted {
  Metric metric;
  Event event;
};

constexpr std::array kSeconds{
    Figure{Metric::kThrottledSeconds, &ContainerFigures::throttled_ns},
    Figure{Metric::kRunQueueWaitSeconds, &ContainerFigures::run_queue_wait_ns},
    Figure{Metric::kIntrusionSeconds, &ContainerFigures::intrusion_ns}};
constexpr std::array kNumbers{
    Figure{Metric::kCfsPeriods, &ContainerFigures::periods},
    Figure{Metric::kThrottledPeriods, &ContainerFigures::throttled_periods},
    Figure{Metric::kVoluntarySwitches, &ContainerFigures::voluntary_switches},
    Figure{Metric::kInvoluntarySwitches, &ContainerFigures::involuntary_switches},
    Figure{Metric::kThreads, &ContainerFigures::threads}};
constexpr std::array kCounted{Counted{Metric::kContextSwitches, Event::kContextSwitches},
                              Counted{Metric::kMigrations, Event::kMigrations},
                              Counted{Metric::kPageFaults, Event::kPageFaults},
                              Counted{Metric::kCycles, Event::kCycles},
                              Counted{Metric::kInstructions, Event::kInstructions},
                              Counted{Metric::kL3Misses, Event::kL3Misses}};

// Calls `each(labels, figures)` for the containers that have figures.
template <class Each>
void with_figures(Writer& writer, Metric metric, const ShownContainers& containers,
                  const Each& each) {
  writer.family(series(metric));
  for (const auto& [text, shown] : containers) {
    if (shown.figures != nullptr) each(shown.labels, *shown.figures);
  }
}

void labelled_seconds(Writer& writer, const Labels& labels, const prometheus::Label& label,
                      const Number& nanoseconds) {
  if (nanoseconds) writer.sample(labels, {label}, seconds(*nanoseconds));
}

void times(Writer& writer, const ShownContainers& containers) {
  with_figures(writer, Metric::kCpuSeconds, containers,
               [&](const Labels& labels, const ContainerFigures& figures) {
                 labelled_seconds(writer, labels, {"mode", "user"}, figures.cpu_user_ns);
                 labelled_seconds(writer, labels, {"mode", "system"}, figures.cpu_system_ns);
               });
  with_figures(writer, Metric::kTaskClockSeconds, containers,
               [&](const Labels& labels, const ContainerFigures& figures) {
                 const auto& clock = figures.event(Event::kTaskClock);
                 if (clock) writer.sample(labels, seconds(clock->value));
               });
  with_figures(
      writer, Metric::kMemoryPressureSeconds, containers,
      [&](const Labels& labels, const ContainerFigures& figures) {
        labelled_seconds(writer, labels, {"kind", "some"}, figures.memory_pressure_some_ns);
        labelled_seconds(writer, labels, {"kind", "full"}, figures.memory_pressure_full_ns);
      });
  with_figures(writer, Metric::kCpuPressureSeconds, containers,
               [&](const Labels& labels, const ContainerFigures& figures) {
                 labelled_seconds(writer, labels, {"kind", "some"}, figures.cpu_pressure_some_ns);
               });
  for (const Figure& figure : kSeconds) {
    with_figures(writer, figure.metric, containers,
                 [&](const Labels& labels, const ContainerFigures& figures) {
                   const Number& value = figures.*figure.value;
                   if (value) writer.sample(labels, seconds(*value));
                 });
  }
}

void numbers(Writer& writer, const ShownContainers& containers) {
  for (const Figure& figure : kNumbers) {
    with_figures(writer, figure.metric, containers,
                 [&](const Labels& labels, const ContainerFigures& figures) {
                   const Number& value = figures.*figure.value;
                   if (value) writer.sample(labels, *value);
                 });
  }
  with_figures(
      writer, Metric::kMemoryBytes, containers,
      [&](const Labels& labels, const ContainerFigures& figures) {
        for (const metrics::NodeMemory& memory : figures.memory) {
          writer.sample(labels, {{"numa_node", std::to_string(memory.node)}}, memory.bytes);
        }
      });
}

void running_ratios(Writer& writer, const Labels& labels, const ContainerFigures& figures) {
  for (std::size_t i = metrics::kSoftwareEvents; i < metrics::kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    const auto& count = figures.event(event);
    if (count) writer.sample(labels, {{"event", metrics::to_string(event)}}, count->running);
  }
}

void events(Writer& writer, const ShownContainers& containers) {
  for (const Counted& counted : kCounted) {
    with_figures(writer, counted.metric, containers,
                 [&](const Labels& labels, const ContainerFigures& figures) {
                   const auto& count = figures.event(counted.event);
                   if (count) writer.sample(labels, count->value);
                 });
  }
  with_figures(writer, Metric::kMemoryAccesses, containers,
               [&](const Labels& labels, const ContainerFigures& figures) {
                 const auto& local = figures.event(Event::kLocalDram);
                 if (local) writer.sample(labels, {{"locality", "local"}}, local->value);
                 const auto& remote = figures.event(Event::kRemoteDram);
                 if (remote) writer.sample(labels, {{"locality", "remote"}}, remote->value);
               });
  with_figures(writer, Metric::kPerfRunningRatio, containers,
               [&](const Labels& labels, const ContainerFigures& figures) {
                 running_ratios(writer, labels, figures);
               });
}

// Kernel numbers of the NUMA nodes that own the CPUs, with memory or without.
std::string numa_nodes(const NodeView& view, const topology::CpuSet& cpus) {
  if (view.topology == nullptr) return "";
  topology::NodeSet nodes;
  for (const topology::Node& node : view.topology->nodes) {
    if (node.cpus.intersects(cpus)) nodes.add(node.id);
  }
  return nodes.to_string();
}

// Who a container is by the view, which is newer than the sample, or by the sample when it is gone.
metrics::Identity identity(const NodeView& view, const Shown& shown) {
  if (shown.view == nullptr) return *shown.figures->who;
  const ContainerView& container = *shown.view;
  metrics::Identity who;
  who.job = container.job;
  who.task_group = container.task_group;
  who.profile = word_of(container.profile, topology::kProfileWords);
  who.exclusive = container.exclusive;
  const topology::CpuSet& cpus = container.lent.empty() ? container.decided.cpus : container.lent;
  who.cpus = cpus.to_string();
  who.mems = numa_nodes(view, cpus);
  who.qos = policy::to_string(container.qos);
  return who;
}

// The shared CPUs change with every rank that comes or goes; as a label they would make new series
// of all shared containers each time. `job` stands there even when it is empty, because Prometheus
// fills a missing one with the scrape's own.
void info(Writer& writer, const NodeView& view, const ShownContainers& containers) {
  writer.family(series(Metric::kContainerInfo));
  for (const auto& [text, shown] : containers) {
    const metrics::Identity who = identity(view, shown);
    Labels labels = shown.labels;
    labels.add({"job", who.job});
    labels.add({"task_group", who.task_group});
    labels.add({"profile", who.profile});
    labels.add({"cpuset", who.exclusive ? who.cpus : ""});
    labels.add({"numa_node", who.exclusive ? who.mems : ""});
    labels.add({"exclusive", who.exclusive ? "true" : "false"});
    labels.add({"qos", who.qos});
    writer.sample(labels, std::uint64_t{1});
  }
}

void promised(Writer& writer, const NodeView& view, const Shown& shown) {
  const topology::Claim* claim = view.ledger.find(shown.view->claim);
  if (claim == nullptr || view.topology == nullptr) return;
  for (const topology::Claim::Share& share : claim->memory) {
    const auto index = static_cast<std::size_t>(share.node);
    if (index >= view.topology->nodes.size()) continue;
    writer.sample(shown.labels, {{"numa_node", std::to_string(view.topology->nodes[index].id)}},
                  share.bytes);
  }
}

void placement(Writer& writer, const NodeView& view, const ShownContainers& containers) {
  info(writer, view, containers);
  writer.family(series(Metric::kContainerExclusiveCpus));
  for (const auto& [text, shown] : containers) {
    if (shown.view == nullptr || !shown.view->exclusive || !shown.view->lent.empty()) continue;
    writer.sample(shown.labels, static_cast<std::uint64_t>(shown.view->decided.cpus.count()));
  }
  writer.family(series(Metric::kContainerBorrowedCpus));
  for (const auto& [text, shown] : containers) {
    if (shown.view == nullptr || shown.view->borrowed.empty()) continue;
    writer.sample(shown.labels, static_cast<std::uint64_t>(shown.view->borrowed.count()));
  }
  writer.family(series(Metric::kContainerMisplaced));
  for (const auto& [text, shown] : containers) {
    if (shown.view == nullptr) continue;
    writer.sample(shown.labels, std::uint64_t{shown.view->trouble.empty() ? 0U : 1U});
  }
  writer.family(series(Metric::kMemoryPromisedBytes));
  for (const auto& [text, shown] : containers) {
    if (shown.view != nullptr) promised(writer, view, shown);
  }
}

}  // namespace

void expose_containers(Writer& writer, const NodeView& view, const ShownContainers& containers) {
  placement(writer, view, containers);
  times(writer, containers);
  numbers(writer, containers);
  events(writer, containers);
}

}  // namespace pinion::agent
