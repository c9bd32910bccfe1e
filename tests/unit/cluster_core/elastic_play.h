// Elastic jobs in a few words.
#pragma once

#include "cluster/core/elastic.h"

namespace pinion::cluster {

inline constexpr std::int64_t kMinute = 60'000;

// Malleable, without a launcher or a gap, submitted in the order of their ids.
inline ElasticJob waiting(std::uint64_t id, std::int32_t priority, int min, int max) {
  ElasticJob job;
  job.id = id;
  job.priority = priority;
  job.submitted_ms = static_cast<std::int64_t>(id);
  job.min_workers = min;
  job.max_workers = max;
  return job;
}

inline ElasticJob arriving(std::uint64_t id, std::int32_t priority, int min, int max) {
  ElasticJob job = waiting(id, priority, min, max);
  job.is_new = true;
  return job;
}

inline ElasticJob running(std::uint64_t id, std::int32_t priority, int min, int max, int workers) {
  ElasticJob job = waiting(id, priority, min, max);
  job.workers = workers;
  job.changed_ms = static_cast<std::int64_t>(id);
  return job;
}

}  // namespace pinion::cluster
