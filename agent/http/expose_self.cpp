#include "agent/http/expose_parts.h"

namespace pinion::agent {
namespace {

using prometheus::Metric;
using prometheus::series;
using prometheus::Writer;

constexpr double kMillisecondsPerSecond = 1e3;

void collector(Writer& writer, const metrics::Sample& sample) {
  const metrics::CollectorFigures& figures = sample.collector;
  writer.single(series(Metric::kCollectorPasses), figures.passes);
  if (sample.number != 0) {
    writer.single(series(Metric::kCollectorPassTime),
                  static_cast<double>(sample.unix_ms) / kMillisecondsPerSecond);
    writer.single(series(Metric::kCollectorPassSeconds), figures.last_pass_seconds);
  }
  writer.single(series(Metric::kCollectorCpuSeconds), figures.cpu_seconds);
  writer.single(series(Metric::kCollectorDescriptors), figures.descriptors);
  writer.single(series(Metric::kCollectorReopened), figures.reopened);
  writer.single(series(Metric::kCollectorVanished), figures.vanished);
  writer.single(series(Metric::kCollectorErrors), figures.errors);
}

void listeners(Writer& writer, const std::vector<ListenerFigures>& all) {
  const auto each = [&](Metric metric, std::uint64_t ListenerFigures::*figure) {
    writer.family(series(metric));
    for (const ListenerFigures& one : all) writer.sample({}, {{"listener", one.name}}, one.*figure);
  };
  if (all.empty()) return;
  each(Metric::kListenerConnections, &ListenerFigures::open);
  each(Metric::kListenerAccepted, &ListenerFigures::accepted);
  writer.family(series(Metric::kListenerClosed));
  for (const ListenerFigures& one : all) {
    writer.sample({}, {{"listener", one.name}, {"why", "room"}}, one.closed_for_room);
    writer.sample({}, {{"listener", one.name}, {"why", "slow"}}, one.closed_as_slow);
    writer.sample({}, {{"listener", one.name}, {"why", "garbage"}}, one.closed_as_garbage);
  }
  each(Metric::kListenerShortages, &ListenerFigures::shortages);
}

void process(Writer& writer, const ProcessFigures& figures) {
  writer.single(series(Metric::kAgentStartTime), figures.start_time_seconds);
  writer.single(series(Metric::kAgentCpuSeconds), figures.cpu_seconds);
  if (figures.resident_bytes) {
    writer.single(series(Metric::kAgentResidentBytes), *figures.resident_bytes);
  }
}

}  // namespace

void expose_self(Writer& writer, const metrics::Sample& sample, const ExposeExtras& extras) {
  writer.family(series(Metric::kPerfEventInfo));
  for (const metrics::EventAvailability& event : sample.events) {
    writer.sample({},
                  {{"event", metrics::to_string(event.event)},
                   {"availability", metrics::to_string(event.availability)}},
                  std::uint64_t{1});
  }
  collector(writer, sample);
  writer.single(series(Metric::kScrapes), extras.scrape.scrapes);
  if (extras.scrape.scrapes != 0) {
    writer.single(series(Metric::kScrapeSeconds), extras.scrape.seconds);
    writer.single(series(Metric::kScrapeBytes), extras.scrape.bytes);
  }
  listeners(writer, extras.listeners);
  if (extras.process) process(writer, *extras.process);
  if (extras.version.empty()) return;
  writer.family(series(Metric::kBuildInfo));
  writer.sample({}, {{"version", extras.version}}, std::uint64_t{1});
}

}  // namespace pinion::agent
