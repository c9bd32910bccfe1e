#include "cluster/sim/pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pinion::sim {

std::string Pool::never(const Job& job) {
  if (job.processors() <= processors_) return {};
  return "needs " + std::to_string(job.processors()) + " processors, there are " +
         std::to_string(processors_);
}

void Pool::submit(Handle handle, const Job& job, Ms /*now*/) {
  Waiting waiting;
  waiting.key = {.urgency = knows_priority(rule_) ? -std::int64_t{job.priority} : 0,
                 .turn = job.submit + (rule_ == QueueRule::kShortest ? job.request : 0),
                 .number = job.number,
                 .handle = handle};
  waiting.processors = job.processors();
  waiting.request = job.request;
  // Not empty, as that of those without shares is.
  if (rule_ == QueueRule::kFair) waiting.share = "u" + job.user;
  arrived_.push_back(waiting.key);
  queue_.push(std::move(waiting));
}

void Pool::end(Handle handle, Ms /*now*/) {
  const auto found = running_.find(handle);
  free_ += found->second.processors;
  queue_.charge(found->second.share, -found->second.processors);
  endings_.erase({found->second.until, handle});
  running_.erase(found);
  ended_ = true;
}

void Pool::start(const Waiting& job, Ms now) {
  const Handle handle = job.key.handle;
  free_ -= job.processors;
  queue_.charge(job.share, job.processors);
  endings_.emplace(now + job.request, handle);
  running_.emplace(
      handle,
      Running{.processors = job.processors, .until = now + job.request, .share = job.share});
  started_.push_back({.job = handle, .pieces = {}});
  queue_.erase(job);
}

std::vector<Started> Pool::pass(Ms now) {
  bool first_started = false;
  for (const Waiting* first = queue_.first(); first != nullptr && first->processors <= free_;
       first = queue_.first()) {
    start(*first, now);
    first_started = true;
  }
  if (backfills(rule_)) {
    const Waiting* first = queue_.first();
    if (first == nullptr) {
      reservation_.reset();
    } else {
      const bool same =
          !ended_ && !first_started && reservation_ && reservation_->job == first->key.handle;
      if (!same) {
        reserve(*first, now);
        arrived_.clear();  // all are looked at
      }
      backfill(now);
    }
  }
  arrived_.clear();
  ended_ = false;
  return std::exchange(started_, {});
}

// Precondition: it does not fit now.
void Pool::reserve(const Waiting& first, Ms now) {
  std::int64_t free = free_;
  Ms from = now;
  for (auto ending = endings_.begin(); ending != endings_.end(); ++ending) {
    // All who end at that moment have ended by it.
    if (free >= first.processors && ending->first > from) break;
    free += running_.at(ending->second).processors;
    from = ending->first;
  }
  reservation_ = {.job = first.key.handle, .from = from, .spare = free - first.processors};
}

void Pool::try_past(const Waiting& job, Ms now, std::vector<Waiting>& chosen) {
  if (job.processors > free_) return;
  if (now + job.request > reservation_->from) {
    if (job.processors > reservation_->spare) return;
    reservation_->spare -= job.processors;
  }
  free_ -= job.processors;  // until start() takes them
  chosen.push_back(job);
}

// Who was looked at with this reservation already cannot go past now either: there are no more
// processors than then, and the moment is nearer.
void Pool::backfill(Ms now) {
  std::vector<Waiting> chosen;
  const auto& line = queue_.line();
  if (arrived_.empty()) {
    for (auto at = std::next(line.begin()); at != line.end() && free_ > 0; ++at) {
      try_past(at->second, now, chosen);
    }
  } else {
    std::sort(arrived_.begin(), arrived_.end());
    for (const auto& key : arrived_) {
      const auto found = line.find(key);
      if (found != line.end() && found != line.begin()) try_past(found->second, now, chosen);
    }
  }
  for (const Waiting& job : chosen) free_ += job.processors;
  for (const Waiting& job : chosen) start(job, now);
}

Status Pool::check(Ms now) const {
  std::int64_t used = 0;
  for (const auto& [handle, running] : running_) used += running.processors;
  const auto fault = [&](const std::string& text) {
    return failure(Errc::kInternal, "at " + std::to_string(now) + " ms: " + text);
  };
  if (used + free_ != processors_ || free_ < 0) {
    return fault(std::to_string(used) + " processors are taken and " + std::to_string(free_) +
                 " free, of " + std::to_string(processors_));
  }
  if (running_.size() != endings_.size()) return fault("a running job has no end");
  const Waiting* first = queue_.first();
  if (first != nullptr && first->processors <= free_) return fault("the first in the queue fits");
  return {};
}

}  // namespace pinion::sim
