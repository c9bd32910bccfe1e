#include "cluster/extender/kube/known_objects.h"

namespace pinion::kube {

KnownObjects::News KnownObjects::seen(const RawObject& object) {
  const auto [at, fresh] =
      known_.try_emplace({std::string(object.name_space), std::string(object.name)});
  Entry& entry = at->second;
  Entry now{.uid = std::string(object.uid), .version = std::string(object.version), .list = list_};
  News news;
  if (fresh) {
    news.change = Change::kAdded;
  } else if (entry.uid != now.uid) {
    news.gone = {.name_space = at->first.first, .name = at->first.second, .uid = entry.uid};
    news.change = Change::kAdded;
  } else if (entry.version != now.version || now.version.empty()) {
    news.change = Change::kModified;
  }
  entry = std::move(now);
  return news;
}

bool KnownObjects::deleted(const RawObject& object) {
  const auto at = known_.find({std::string(object.name_space), std::string(object.name)});
  if (at == known_.end() || at->second.uid != object.uid) return false;
  known_.erase(at);
  return true;
}

std::vector<KnownObjects::Gone> KnownObjects::end_list() {
  std::vector<Gone> gone;
  for (auto at = known_.begin(); at != known_.end();) {
    if (at->second.list == list_) {
      ++at;
      continue;
    }
    gone.push_back(
        {.name_space = at->first.first, .name = at->first.second, .uid = at->second.uid});
    at = known_.erase(at);
  }
  return gone;
}

}  // namespace pinion::kube
