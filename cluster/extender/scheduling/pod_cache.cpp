#include "cluster/extender/scheduling/pod_cache.h"

#include <utility>

namespace pinion::cluster {

KnownPod* PodCache::find(std::string_view uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const KnownPod* PodCache::find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

KnownPod& PodCache::add(KnownPod pod) {
  std::string uid = pod.pod.uid;
  return pods_.emplace(std::move(uid), std::move(pod)).first->second;
}

void PodCache::set_node(KnownPod& pod, const std::string& node) {
  if (pod.node == node) return;
  if (const auto there = residents_.find(pod.node); there != residents_.end()) {
    placed_ -= there->second.erase(pod.pod.uid);
    if (there->second.empty()) residents_.erase(there);
    if (const auto same = priorities_.find(pod.priority); --same->second == 0) {
      priorities_.erase(same);
    }
  }
  if (!node.empty()) {
    residents_[node].insert(pod.pod.uid);
    ++priorities_[pod.priority];
    ++placed_;
  }
  pod.node = node;
}

void PodCache::erase(const std::string& uid) {
  const auto found = pods_.find(uid);
  set_node(found->second, {});
  pods_.erase(found);
}

}  // namespace pinion::cluster
