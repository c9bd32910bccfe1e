#include <array>

#include "agent/http/expose_parts.h"

namespace pinion::agent {
namespace {

using prometheus::Metric;
using prometheus::series;
using prometheus::Writer;

struct NriCount {
  Metric metric;
  std::uint64_t nri::Counters::*value;
};
constexpr std::array kNriCounts{
    NriCount{Metric::kNriReceivedBytes, &nri::Counters::bytes_in},
    NriCount{Metric::kNriSentBytes, &nri::Counters::bytes_out},
    NriCount{Metric::kNriUpdates, &nri::Counters::updates_out},
    NriCount{Metric::kNriUpdatesDropped, &nri::Counters::updates_dropped},
    NriCount{Metric::kNriIgnored, &nri::Counters::ignored_messages},
    NriCount{Metric::kNriUnknown, &nri::Counters::unknown_methods},
    NriCount{Metric::kRuntimeConnects, &nri::Counters::connects},
    NriCount{Metric::kRuntimeConnectFailures, &nri::Counters::connect_failures},
    NriCount{Metric::kRuntimeSessionsFailed, &nri::Counters::sessions_failed},
    NriCount{Metric::kRuntimeSynchronizations, &nri::Counters::synchronized},
    NriCount{Metric::kRuntimeResyncs, &nri::Counters::resyncs}};

void by_method(Writer& writer, Metric metric,
               const std::array<std::uint64_t, nri::kMethods>& counts) {
  writer.family(series(metric));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    writer.sample({}, {{"method", nri::to_string(static_cast<nri::Method>(i))}}, counts[i]);
  }
}

}  // namespace

void expose_runtime(Writer& writer, const NodeView& view) {
  if (!view.runtime_name.empty()) {
    writer.family(series(Metric::kRuntimeInfo));
    writer.sample({}, {{"name", view.runtime_name}, {"version", view.runtime_version}},
                  std::uint64_t{1});
  }
  // Before that the runtime does not ask the plugin yet.
  const bool connected = view.phase == "synchronized";
  writer.single(series(Metric::kRuntimeConnected), std::uint64_t{connected ? 1U : 0U});
  by_method(writer, Metric::kNriCalls, view.nri.calls);
  by_method(writer, Metric::kNriErrors, view.nri.errors);
  writer.family(series(Metric::kNriDuration));
  for (std::size_t i = 0; i < nri::kMethods; ++i) {
    const prometheus::Histogram& latency = view.nri.latency[i];
    if (latency.count() == 0) continue;  // the runtime has never called it
    writer.histogram({{"method", nri::to_string(static_cast<nri::Method>(i))}}, latency);
  }
  for (const NriCount& count : kNriCounts)
    writer.single(series(count.metric), view.nri.*count.value);
}

}  // namespace pinion::agent
