#include "cluster/extender/scheduling/group_cycles.h"

namespace pinion::cluster {

bool GroupCycles::asked(const JobId& id, const std::string& uid, bool nominated,
                        std::int64_t now_ms) {
  Gang& gang = gangs_[id];
  const auto before = gang.asked.find(uid);
  const bool same = before == gang.asked.end() || (before->second && !nominated);
  if (!same) {
    gang.asked.clear();
    gang.given_up = true;
  }
  gang.asked.insert_or_assign(uid, nominated);
  over_.set(id, now_ms + (gang.given_up ? after_ms_ / 10 : after_ms_));
  return same;
}

bool GroupCycles::has_asked(const JobId& id, const std::string& uid) const {
  const auto gang = gangs_.find(id);
  return gang != gangs_.end() && gang->second.asked.contains(uid);
}

void GroupCycles::end(const JobId& id) {
  gangs_.erase(id);
  over_.erase(id);
}

std::vector<JobId> GroupCycles::take_overdue(std::int64_t now_ms) {
  std::vector<JobId> overdue = over_.take(now_ms);
  for (const JobId& id : overdue) {
    Gang& gang = gangs_.at(id);
    gang.asked.clear();
    gang.given_up = true;
  }
  return overdue;
}

}  // namespace pinion::cluster
