#include "cluster/extender/scheduling/waiting.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

// At a time, so that it never holds up a question for long.
constexpr int kLooks = 64;

}  // namespace

void WaitingPods::add(const PodRef& pod, const std::string& why, const std::string& group,
                      std::int64_t now_ms) {
  Waiting& entry =
      pods_
          .try_emplace(pod.uid,
                       Waiting{.pod = pod, .why = {}, .group = {}, .since_ms = now_ms, .pause = {}})
          .first->second;
  entry.why = why;
  entry.group = group;
}

std::vector<PodRef> WaitingPods::of_group(const std::string& key) const {
  std::vector<PodRef> pods;
  for (const auto& [uid, waiting] : pods_) {
    if (waiting.group == key) pods.push_back(waiting.pod);
  }
  return pods;
}

std::int64_t WaitingPods::look(std::int64_t now_ms,
                               const std::function<Look(const std::string& uid)>& look,
                               std::vector<PodRef>& wake) {
  if (looked_at_.empty()) later_ms_ = kNeverDue;
  auto entry = pods_.upper_bound(looked_at_);
  for (int looks = 0; looks < kLooks; ++entry) {
    if (entry == pods_.end()) {
      looked_at_.clear();
      return later_ms_;
    }
    looked_at_ = entry->first;
    Waiting& waiting = entry->second;
    ++looks;
    if (!waiting.group.empty()) continue;  // it is woken with its PodGroup
    if (!waiting.pause.over(now_ms)) {
      later_ms_ = std::min(later_ms_, waiting.pause.until_ms());
      continue;
    }
    const auto [fits, cost] = look(entry->first);
    looks += cost - 1;
    if (!fits) continue;
    wake.push_back(waiting.pod);
    waiting.pause.begin(now_ms);
  }
  return now_ms;
}

}  // namespace pinion::cluster
