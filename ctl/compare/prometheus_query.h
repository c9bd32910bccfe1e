// What is asked of a Prometheus server, and its answers. Pure but for the JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ctl/compare/interval_figures.h"

namespace pinion::ctl {

// The PromQL of a quantity summed over a job's containers, as IntervalFigures does for recordings.
// Rates are over `window` ("30s"). The job is read from pinion_container_info, also where the
// server has renamed that label to exported_job because its own target label stands in the way.
std::string promql_of(Quantity quantity, const Selection& selection, std::string_view window);

// The values of the one series in the answer to a range query; none where it has no series. Values
// that are not finite are left out. Errors: kInvalid for text that is no such answer, the server's
// own words where it refuses, or more than one series.
Result<std::vector<double>> parse_range_answer(std::string_view text);

}  // namespace pinion::ctl
