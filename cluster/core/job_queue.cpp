#include "cluster/core/job_queue.h"

#include <set>
#include <tuple>
#include <utility>

namespace pinion::cluster {

std::int64_t JobQueue::turn_of(const QueueEntry& entry) const {
  if (order_ != QueueOrder::kShortest) return entry.submitted_ms;
  return entry.submitted_ms + (entry.run_ms > 0 ? entry.run_ms : kUnstatedRunMs);
}

void JobQueue::push(QueueEntry entry) {
  const auto known = entries_.find(entry.job);
  const std::uint64_t number = known == entries_.end() ? pushed_++ : known->second.key.number;
  erase(entry.job);
  const Key key{.turn_ms = turn_of(entry), .number = number};
  std::string job = entry.job;
  const auto at =
      entries_.emplace(std::move(job), Known{.entry = std::move(entry), .key = key}).first;
  const QueueEntry& kept = at->second.entry;
  classes_[kept.priority][share_of(kept)].emplace(key, &at->second);
}

bool JobQueue::erase(std::string_view job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return false;
  const QueueEntry& entry = found->second.entry;
  const auto priority = classes_.find(entry.priority);
  const auto share = priority->second.find(share_of(entry));
  share->second.erase(found->second.key);
  if (share->second.empty()) priority->second.erase(share);
  if (priority->second.empty()) classes_.erase(priority);
  entries_.erase(found);
  return true;
}

void JobQueue::charge(const std::string& name_space, int cpus) {
  if ((used_[name_space] += cpus) == 0) used_.erase(name_space);
}

std::int64_t JobQueue::used(const std::string& share) const {
  if (order_ != QueueOrder::kFairShare) return 0;
  const auto found = used_.find(share);
  return found == used_.end() ? 0 : found->second;
}

void JobQueue::visit(const std::function<bool(const std::string& job)>& visit) const {
  for (const auto& [priority, shares] : classes_) {
    struct Turn {
      std::int64_t used;
      Key key;
      const std::map<Key, const Known*>* of;
      const std::string* share;
      bool operator<(const Turn& other) const {
        return std::tie(used, key, *share) < std::tie(other.used, other.key, *other.share);
      }
    };
    std::set<Turn> turns;
    for (const auto& [share, jobs] : shares) {
      turns.insert({.used = used(share), .key = jobs.begin()->first, .of = &jobs, .share = &share});
    }
    while (!turns.empty()) {
      Turn turn = turns.extract(turns.begin()).value();
      auto job = turn.of->find(turn.key);
      const QueueEntry& entry = job->second->entry;
      if (!visit(entry.job)) return;
      if (++job == turn.of->end()) continue;
      turn.used += order_ == QueueOrder::kFairShare ? entry.cpus : 0;
      turn.key = job->first;
      turns.insert(turn);
    }
  }
}

std::string JobQueue::first() const {
  std::string first;
  visit([&](const std::string& job) {
    first = job;
    return false;
  });
  return first;
}

bool JobQueue::before(std::string_view a, std::string_view b) const {
  const Known& one = entries_.find(a)->second;
  const Known& other = entries_.find(b)->second;
  const auto key = [&](const Known& known) {
    return std::tuple(-std::int64_t{known.entry.priority}, used(known.entry.name_space), known.key);
  };
  return key(one) < key(other);
}

}  // namespace pinion::cluster
