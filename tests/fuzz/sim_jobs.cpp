// A list of jobs takes any bytes: an error has a short text, and jobs are within the limits and in
// the order of submission.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/sim/jobs_file.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::sim_jobs {
namespace {

bool elastic_within(const pinion::sim::Job& job) {
  if (!job.elastic) return true;
  const auto& elastic = *job.elastic;
  pinion::sim::Ms last = -1;
  for (const auto& [after, workers] : elastic.wishes) {
    if (after <= last || (workers != 0 && workers < elastic.min) || workers > elastic.max) {
      return false;
    }
    last = after;
  }
  return elastic.min >= 1 && elastic.min <= job.shape.tasks && job.shape.tasks <= elastic.max &&
         elastic.speed_up.rate(elastic.min) > 0 && elastic.speed_up.rate(elastic.max) > 0 &&
         elastic.start_takes(elastic.max) >= 0 &&
         elastic.rescale_takes(elastic.min) >= elastic.start_takes(elastic.min);
}

}  // namespace

PINION_FUZZ_TARGET(sim_jobs) {
  using namespace pinion::sim;
  const auto jobs = parse_jobs_file({reinterpret_cast<const char*>(data), size});
  if (!jobs) {
    if (jobs.error().text.empty() || jobs.error().text.size() > 10'000) std::abort();
    return 0;
  }
  if (jobs->size() > kMaxFileJobs) std::abort();
  Ms last = 0;
  for (const Job& job : *jobs) {
    const bool within = job.submit >= last && job.run >= 0 && job.request >= job.run &&
                        job.processors() >= 1 && job.shape.workers <= job.shape.tasks &&
                        job.called().find(',') == std::string::npos;
    if (!within || !elastic_within(job)) std::abort();
    last = job.submit;
  }
  return 0;
}

}  // namespace pinion::fuzz::sim_jobs
