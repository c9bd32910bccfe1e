#include "cluster/extender/scheduling/gates.h"

#include <utility>

namespace pinion::cluster {

void Gates::seen(const Pod& pod, const JobId& gang) {
  const auto known = pods_.find(pod.uid);
  if (!pod.gang_gate || (known != pods_.end() && known->second.gang != gang)) erase(pod.uid);
  if (!pod.gang_gate) return;
  pods_.insert_or_assign(pod.uid,
                         Gated{.pod = ref_of(pod), .gang = gang, .nominated = pod.nominated});
  if (gang.empty()) return;
  Gang& all = gangs_[gang];
  all.ours.insert(pod.uid);
  if (pod.other_gates) {
    all.others.insert(pod.uid);
  } else {
    all.others.erase(pod.uid);
  }
}

void Gates::erase(const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  keep(uid);
  if (const auto gang = gangs_.find(known->second.gang); gang != gangs_.end()) {
    gang->second.others.erase(uid);
    gang->second.ours.erase(uid);
    if (gang->second.ours.empty()) gangs_.erase(gang);
  }
  pods_.erase(known);
}

void Gates::open(const std::string& uid, const std::string& node) {
  const auto wanted = opening_.find(uid);
  if (wanted != opening_.end() && wanted->second.node == node) return;
  opening_.insert_or_assign(uid, Wanted{.node = node, .number = ++opened_, .pause = {}});
  due_.set(uid, kAtOnce);
}

void Gates::keep(const std::string& uid) {
  opening_.erase(uid);
  due_.erase(uid);
}

void Gates::due(std::int64_t now_ms, std::vector<Opening>& openings) {
  std::map<std::uint64_t, Opening> due;
  for (const std::string& uid : due_.take(now_ms)) {
    Wanted& wanted = opening_.at(uid);
    wanted.pause.begin(now_ms);
    due_.set(uid, wanted.pause.until_ms());
    const Gated& gated = pods_.at(uid);
    due[wanted.number] = {.pod = gated.pod,
                          .node = wanted.node,
                          .nominated = !wanted.node.empty() && gated.nominated == wanted.node};
  }
  for (auto& [number, opening] : due) openings.push_back(std::move(opening));
}

Gates::Gang* Gates::find(const JobId& gang) {
  const auto found = gangs_.find(gang);
  return found == gangs_.end() ? nullptr : &found->second;
}

const Gates::Gang* Gates::find(const JobId& gang) const {
  const auto found = gangs_.find(gang);
  return found == gangs_.end() ? nullptr : &found->second;
}

std::vector<JobId> Gates::ready() const {
  std::vector<JobId> ready;
  for (const auto& [id, gang] : gangs_) {
    if (gang.others.empty()) ready.push_back(id);
  }
  return ready;
}

}  // namespace pinion::cluster
