#include "cluster/sim/elastic_pool.h"

#include <algorithm>
#include <utility>

namespace pinion::sim {
namespace {

constexpr Ms kSeen = 10'000;  // a job is watched for so long before its speed is known

double seconds(Ms ms) {
  return static_cast<double>(ms) / 1000;
}

}  // namespace

std::string ElasticPool::never(const Job& job) {
  std::int64_t need = job.processors();
  if (job.elastic) {
    const bool largest = rules_.policy == cluster::ElasticPolicy::kMax;
    const int workers = largest ? job.elastic->max : job.elastic->min;
    need = std::int64_t{workers} * job.shape.cpus_per_task + job.elastic->launcher;
  }
  if (need <= processors_) return {};
  return "needs " + std::to_string(need) + " processors, there are " + std::to_string(processors_);
}

void ElasticPool::submit(Handle handle, const Job& job, Ms /*now*/) {
  Part part;
  part.elastic = job.elastic;
  part.reference = job.shape.tasks;
  part.request = seconds(job.request);
  cluster::ElasticJob& seen = part.seen;
  seen.id = handle;
  seen.priority = job.priority;
  seen.submitted_ms = job.submit;
  seen.slots_per_worker = job.shape.cpus_per_task;
  seen.min_workers = seen.max_workers = job.shape.tasks;
  seen.change = cluster::Change::kRigid;
  seen.is_new = true;
  seen.gap_ms = rules_.gap;
  seen.speed_up = cluster::SpeedUp(cluster::kCautiousSerial, job.shape.tasks);
  if (job.elastic) {
    const Elastic& elastic = *job.elastic;
    seen.min_workers = elastic.min;
    seen.max_workers = elastic.max;
    seen.other_slots = elastic.launcher;
    seen.change = elastic.change;
    if (elastic.gap >= 0) seen.gap_ms = elastic.gap;
    if (rules_.told) seen.speed_up = elastic.speed_up;
  }
  parts_.emplace(handle, std::move(part));
}

void ElasticPool::end(Handle handle, Ms /*now*/) {
  const auto found = parts_.find(handle);
  free_ += found->second.holds;
  parts_.erase(found);
  decided_.erase(std::remove(decided_.begin(), decided_.end(), handle), decided_.end());
  freed_ = true;
}

// What is under way and ends now.
void ElasticPool::finish(Ms now) {
  for (auto& [handle, part] : parts_) {
    if (!part.until || *part.until > now) continue;
    part.until.reset();
    part.seen.changing = false;
    const std::int64_t holds = part.seen.slots(part.runs_with);
    if (holds == part.holds) continue;
    free_ += part.holds - holds;
    part.holds = holds;
    resized_.push_back(
        {.job = handle, .size = {.workers = part.runs_with, .processors = holds, .pause = 0}});
  }
}

// What a progress report says.
void ElasticPool::look(Part& part, Ms now) const {
  if (part.runs_with > 0 && now > part.since) {
    const double rate = part.rate(part.runs_with);
    const bool known = !part.rates.empty() && part.rates.back().workers == part.runs_with;
    if (now - part.since >= kSeen && !known) part.rates.push_back({part.runs_with, rate});
    part.done += seconds(now - part.since) * rate;
    part.since = now;
  }
  part.seen.rest = std::max(0.0, part.request - part.done);
  const bool known = rules_.told && part.elastic != nullptr;
  const auto declared = [&](int workers) {
    return known ? seconds(part.elastic->rescale_takes(workers)) : cluster::kNotStated;
  };
  part.seen.shrink_cost_s = cluster::expected_cost_s(part.shrinks, declared(part.seen.min_workers));
  part.seen.expand_cost_s = cluster::expected_cost_s(part.expands, declared(part.seen.max_workers));
  if (!rules_.told) part.seen.speed_up.see(part.rates);
}

void ElasticPool::decide(Ms now) {
  std::vector<cluster::ElasticJob> jobs;
  jobs.reserve(parts_.size());
  for (auto& [handle, part] : parts_) {
    look(part, now);
    jobs.push_back(part.seen);
    part.seen.is_new = false;
  }
  const auto decision = cluster::decide(
      rules_.policy,
      {.jobs = jobs, .slots = processors_, .now_ms = now, .freed = std::exchange(freed_, false)},
      rules_.knobs);
  look_again_ = decision.look_again_ms;
  for (const cluster::ElasticStep& step : decision.steps) {
    Part& part = parts_.at(step.job);
    part.seen.workers = step.workers;
    part.seen.changing = true;
    part.seen.changed_ms = now;
    if (step.workers < step.from) {
      shrink(step.job, part, now);
    } else {
      decided_.push_back(step.job);
    }
  }
}

void ElasticPool::shrink(Handle handle, Part& part, Ms now) {
  const Ms pause = part.elastic->rescale_takes(part.seen.workers);
  part.runs_with = part.seen.workers;
  part.since = now + pause;
  part.until = now + pause;
  part.shrinks.push_back(seconds(pause));
  resized_.push_back(
      {.job = handle,
       .size = {.workers = part.runs_with, .processors = part.holds, .pause = pause}});
}

// Starts or expands. Precondition: its processors are free.
void ElasticPool::enlarge(Handle handle, Part& part, Ms now) {
  const bool starts = part.runs_with == 0;
  const int workers = part.seen.workers;
  Ms pause = 0;
  if (part.elastic) {
    pause = starts ? part.elastic->start_takes(workers) : part.elastic->rescale_takes(workers);
  }
  const std::int64_t holds = part.seen.slots(workers);
  free_ -= holds - part.holds;
  part.holds = holds;
  part.runs_with = workers;
  part.since = now + pause;
  part.until = now + pause;
  const Size size{.workers = workers, .processors = holds, .pause = pause};
  if (!starts) {
    part.expands.push_back(seconds(pause));
    resized_.push_back({.job = handle, .size = size});
  } else if (part.elastic) {
    started_.push_back({.job = handle, .pieces = {}, .size = size});
  } else {
    started_.push_back({.job = handle, .pieces = {}});
  }
}

// Nobody goes past: else what one is waiting for could be taken by others for ever.
void ElasticPool::begin_all(Ms now) {
  while (!decided_.empty()) {
    const Handle handle = decided_.front();
    Part& part = parts_.at(handle);
    if (part.seen.slots(part.seen.workers) - part.holds > free_) return;
    enlarge(handle, part, now);
    decided_.pop_front();
  }
}

std::vector<Started> ElasticPool::pass(Ms now) {
  finish(now);
  decide(now);
  begin_all(now);
  return std::exchange(started_, {});
}

std::vector<Resized> ElasticPool::take_resized() {
  return std::exchange(resized_, {});
}

std::optional<Ms> ElasticPool::wake() const {
  std::optional<Ms> next = look_again_;
  for (const auto& [handle, part] : parts_) {
    if (part.until && (!next || *part.until < *next)) next = part.until;
  }
  return next;
}

Status ElasticPool::check(Ms now) const {
  const auto fault = [&](const std::string& text) {
    return failure(Errc::kInternal, "at " + std::to_string(now) + " ms: " + text);
  };
  std::int64_t held = 0;
  std::int64_t promised = 0;
  for (const auto& [handle, part] : parts_) {
    held += part.holds;
    promised += part.seen.slots(part.seen.workers);
    const std::int64_t least = part.seen.slots(part.runs_with);
    if (part.holds < least || (!part.until && part.holds != least)) {
      return fault("job " + std::to_string(handle) + " holds " + std::to_string(part.holds) +
                   " processors for " + std::to_string(part.runs_with) + " workers");
    }
    const bool sized = part.seen.workers == 0 || (part.seen.workers >= part.seen.min_workers &&
                                                  part.seen.workers <= part.seen.max_workers);
    if (!sized) return fault("job " + std::to_string(handle) + " has a size that it may not have");
  }
  if (held + free_ != processors_ || free_ < 0 || promised > processors_) {
    return fault(std::to_string(held) + " processors are held, " + std::to_string(free_) +
                 " free and " + std::to_string(promised) + " promised, of " +
                 std::to_string(processors_));
  }
  return {};
}

}  // namespace pinion::sim
