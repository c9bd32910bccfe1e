// What was decided for a job, as a table for people.
#pragma once

#include <vector>

#include "extender/jobs/mutation.h"

namespace pinion::extender::jobs {

[[nodiscard]] std::vector<Row> rows_of(const Cut& cut, const Options& options);

}  // namespace pinion::extender::jobs
