#include "cluster/extender/scheduling/group_cycles.h"

namespace pinion::cluster {

bool GroupCycles::asked(const JobId& id, const std::string& uid, bool nominated,
                        std::int64_t now_ms) {
  Gang& gang = gangs_[id];
  gang.asked_ms = now_ms;
  const auto before = gang.asked.find(uid);
  const bool same = before == gang.asked.end() || (before->second && !nominated);
  if (!same) {
    gang.asked.clear();
    gang.given_up = true;
  }
  gang.asked.insert_or_assign(uid, nominated);
  return same;
}

bool GroupCycles::has_asked(const JobId& id, const std::string& uid) const {
  const auto gang = gangs_.find(id);
  return gang != gangs_.end() && gang->second.asked.contains(uid);
}

std::vector<JobId> GroupCycles::take_overdue(std::int64_t now_ms, std::int64_t after_ms) {
  std::vector<JobId> overdue;
  for (auto& [id, gang] : gangs_) {
    if (gang.asked.empty()) continue;
    if (now_ms - gang.asked_ms < (gang.given_up ? after_ms / 10 : after_ms)) continue;
    gang.asked.clear();
    gang.given_up = true;
    overdue.push_back(id);
  }
  return overdue;
}

}  // namespace pinion::cluster
