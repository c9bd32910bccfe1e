// Where the figures of one side of a comparison come from.
#pragma once

#include <chrono>

#include "base/error.h"
#include "ctl/common/times.h"
#include "ctl/compare/interval_figures.h"
#include "ctl/compare/prometheus_client.h"

namespace pinion::ctl {

// Of a recording: `part.name` is the file, its bounds are seconds since the file's first line, both
// included. Errors: those of reading it; kInvalid where bounds are given and a line has no time;
// kNotFound where no container or no line is left.
Result<Series> series_of_recording(const Part& part, const Selection& selection);

// Of a job in Prometheus: `part.name` is the job, its bounds are Unix seconds. Without an end it is
// `now`, without a beginning `length` before the end. One value for each `step`. Errors: those of
// query(); kInvalid for fewer than one or more than 11000 steps (the server's limit); kNotFound
// where there is nothing of that job.
struct PrometheusSpan {
  double now = 0;
  std::chrono::milliseconds length{600000};
  std::chrono::milliseconds step{60000};
};
Result<Series> series_of_job(PrometheusClient& client, const Part& part,
                             const PrometheusSpan& span);

}  // namespace pinion::ctl
