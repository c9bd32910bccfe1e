#include "cluster/sim/pool_queue.h"

#include <utility>

namespace pinion::sim {

void PoolQueue::push(Waiting job) {
  ++size_;
  Line& line = lines_[job.share];
  const auto key = job.key;
  line.emplace(key, std::move(job));
}

void PoolQueue::erase(const Waiting& job) {
  --size_;
  const auto line = lines_.find(job.share);
  const auto key = job.key;  // of what goes
  line->second.erase(key);
  if (line->second.empty()) lines_.erase(line);
}

void PoolQueue::charge(const std::string& share, std::int64_t processors) {
  if (share.empty()) return;
  if ((used_[share] += processors) == 0) used_.erase(share);
}

std::int64_t PoolQueue::used(const std::string& share) const {
  const auto found = used_.find(share);
  return found == used_.end() ? 0 : found->second;
}

const Waiting* PoolQueue::first() const {
  const Waiting* best = nullptr;
  std::tuple<std::int64_t, std::int64_t, Waiting::Key> least;
  for (const auto& [share, line] : lines_) {
    const Waiting& job = line.begin()->second;
    const std::tuple turn(job.key.urgency, used(share), job.key);
    if (best != nullptr && !(turn < least)) continue;
    best = &job;
    least = turn;
  }
  return best;
}

const PoolQueue::Line& PoolQueue::line() const {
  static const Line none;
  const auto found = lines_.find("");
  return found == lines_.end() ? none : found->second;
}

}  // namespace pinion::sim
