#include "ctl/compare/compare_sources.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ctl/compare/prometheus_query.h"
#include "ctl/source/recording.h"

namespace pinion::ctl {
namespace {

constexpr double kMaxSteps = 11000;

double seconds_of(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

Result<Series> series_of_recording(const Part& part, const Selection& selection) {
  auto recording = Recording::open(part.name);
  if (!recording) return failure(std::move(recording.error()));
  IntervalFigures figures(selection);
  std::optional<std::int64_t> start;
  std::size_t lines = 0;
  while (true) {
    const auto moment = (*recording)->next();
    if (!moment) return failure(moment.error());
    if (!moment->has_value()) break;
    const std::int64_t time = (*moment)->unix_ms;
    if ((part.from || part.to) && time == 0) {
      return failure(Errc::kInvalid, part.name + ": a line without unix_ms is in no interval");
    }
    if (!start) start = time;
    const double seconds = static_cast<double>(time - *start) / 1000;
    if (part.from && seconds < *part.from) continue;
    if (part.to && seconds > *part.to) break;
    ++lines;
    figures.add((*moment)->snapshot);
  }
  if (lines == 0) return failure(Errc::kNotFound, part.name + ": no snapshot in that interval");
  if (figures.containers_seen() == 0) {
    return failure(Errc::kNotFound, part.name + ": no " + selection.to_string() + " in it");
  }
  return figures.series();
}

Result<Series> series_of_job(PrometheusClient& client, const Part& part,
                             const PrometheusSpan& span) {
  Range range;
  range.step = seconds_of(span.step);
  range.to = part.to.value_or(span.now);
  // A rate looks back for a step: the first value is of the first whole step.
  range.from = part.from.value_or(range.to - seconds_of(span.length)) + range.step;
  if (range.from > range.to || (range.to - range.from) / range.step >= kMaxSteps) {
    return failure(Errc::kInvalid, part.name + ": not between 1 and 11000 steps of " +
                                       std::to_string(span.step.count()) + " ms");
  }
  const std::string window = std::to_string(span.step.count()) + "ms";
  const Selection selection{.job = part.name, .match = ""};
  Series series;
  bool any = false;
  for (const QuantityName& each : kQuantityNames) {
    auto values = client.query(promql_of(each.quantity, selection, window), range);
    if (!values) return failure(values.error().within(std::string(each.name)));
    any = any || !values->empty();
    series[static_cast<std::size_t>(each.quantity)] = std::move(*values);
  }
  if (!any) return failure(Errc::kNotFound, "nothing of job '" + part.name + "' in that interval");
  return series;
}

}  // namespace pinion::ctl
