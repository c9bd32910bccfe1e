// What was decided for a job, as a table for people.
#pragma once

#include <vector>

#include "cluster/extender/jobs/mutation.h"

namespace pinion::cluster::jobs {

[[nodiscard]] std::vector<Row> rows_of(const Cut& cut, const Options& options);

}  // namespace pinion::cluster::jobs
