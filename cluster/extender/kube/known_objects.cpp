#include "cluster/extender/kube/known_objects.h"

#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

std::pair<std::string, std::string> key_of(const json& object) {
  return {json_text(object, "metadata", "namespace"), json_text(object, "metadata", "name")};
}

}  // namespace

json KnownObjects::remains(const Key& key, const Entry& entry) {
  json metadata = {{"name", key.second}, {"uid", entry.uid}};
  if (!key.first.empty()) metadata["namespace"] = key.first;
  return {{"metadata", std::move(metadata)}};
}

KnownObjects::News KnownObjects::seen(const json& object) {
  const auto [at, fresh] = known_.try_emplace(key_of(object));
  Entry& entry = at->second;
  Entry now{.uid = json_text(object, "metadata", "uid"),
            .version = json_text(object, "metadata", "resourceVersion"),
            .list = list_};
  News news;
  if (fresh) {
    news.change = Change::kAdded;
  } else if (entry.uid != now.uid) {
    news.gone = remains(at->first, entry);
    news.change = Change::kAdded;
  } else if (entry.version != now.version || now.version.empty()) {
    news.change = Change::kModified;
  }
  entry = std::move(now);
  return news;
}

bool KnownObjects::deleted(const json& object) {
  const auto at = known_.find(key_of(object));
  if (at == known_.end() || at->second.uid != json_text(object, "metadata", "uid")) return false;
  known_.erase(at);
  return true;
}

std::vector<json> KnownObjects::end_list() {
  std::vector<json> gone;
  for (auto at = known_.begin(); at != known_.end();) {
    if (at->second.list == list_) {
      ++at;
      continue;
    }
    gone.push_back(remains(at->first, at->second));
    at = known_.erase(at);
  }
  return gone;
}

}  // namespace pinion::kube
