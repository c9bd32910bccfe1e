#include "cluster/extender/scheduling/pod_groups.h"

#include <algorithm>

namespace pinion::cluster {

void PodGroups::serve(PodGroupApi api, bool served) {
  if (served) {
    served_.insert(api);
  } else {
    served_.erase(api);
  }
}

void PodGroups::set(const std::string& key, std::optional<std::int64_t> members) {
  constexpr std::int64_t most = kMost;
  members_[key] = members ? static_cast<int>(std::clamp(*members, std::int64_t{1}, most)) : 0;
}

void PodGroups::erase(const std::string& key) {
  members_.erase(key);
  const auto found = others_.find(key);
  if (found == others_.end()) return;
  found->second.most = found->second.alive.size();
  if (found->second.alive.empty()) others_.erase(found);
}

bool PodGroups::other(const std::string& key, const std::string& uid) {
  if (!group_of_.try_emplace(uid, key).second) return false;
  Others& others = others_[key];
  others.alive.insert(uid);
  others.most = std::max(others.most, others.alive.size());
  return true;
}

void PodGroups::gone(const std::string& uid) {
  const auto found = group_of_.find(uid);
  if (found == group_of_.end()) return;
  const auto others = others_.find(found->second);
  others->second.alive.erase(uid);
  if (others->second.alive.empty() && !members_.contains(found->second)) others_.erase(others);
  group_of_.erase(found);
}

std::optional<int> PodGroups::size(const std::string& key) const {
  const auto found = members_.find(key);
  if (found == members_.end()) return std::nullopt;
  if (found->second == 0) return 0;
  const auto others = others_.find(key);
  const std::size_t count = others == others_.end() ? 0 : others->second.most;
  const auto all = static_cast<std::size_t>(found->second);
  return static_cast<int>(all - std::min(count, all - 1));
}

}  // namespace pinion::cluster
