#include "cluster/extender/program/owned_map.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

Result<Kept> look_at_existing(kube::Api& api, const std::string& path, const json& wanted,
                              const std::function<bool()>& may_act, const kube::Call& how) {
  const auto there = api.get(path, how);
  if (!there) {
    const bool gone = there.error().code == Errc::kNotFound;
    return failure(gone ? Errc::kUnavailable : there.error().code, there.error().text);
  }
  if (owner_of(*there, "uid") == owner_of(wanted, "uid")) {
    const json& data = kube::json_at(wanted, "data");
    if (kube::json_at(*there, "data") == data) return Kept::kSame;
    if (!may_act()) return failure(Errc::kUnavailable, "another replica leads by now");
    // Of this version: another leader may have been first.
    const json patch = {
        {"metadata", {{"resourceVersion", kube::json_text(*there, "metadata", "resourceVersion")}}},
        {"data", data}};
    const auto done = api.patch(path, kube::PatchKind::kMerge, patch, how);
    if (done) return Kept::kChanged;
    const bool late = done.error().code == Errc::kConflict;
    return failure(late ? Errc::kUnavailable : done.error().code, done.error().text);
  }
  const bool of_the_last = owner_of(*there, "kind") == owner_of(wanted, "kind") &&
                           owner_of(*there, "name") == owner_of(wanted, "name");
  if (of_the_last) {
    return failure(Errc::kUnavailable, path + " of a job of that name that is gone is still there");
  }
  return failure(Errc::kExhausted,
                 path + " is not Pinion's, and the job's pods mount what it holds: rename one");
}

}  // namespace

std::string owner_of(const json& object, const char* field) {
  const json& owners = kube::json_at(object, "metadata", "ownerReferences");
  return owners.is_array() && !owners.empty() ? kube::json_text(owners.front(), field)
                                              : std::string();
}

Result<Kept> keep_owned_map(kube::Api& api, const json& map, const std::function<bool()>& may_act,
                            const kube::Call& how) {
  const std::string maps = "/api/v1/namespaces/" +
                           kube::percent_encoded(kube::json_text(map, "metadata", "namespace")) +
                           "/configmaps";
  const auto made = api.create(maps, map, how);
  if (made) return Kept::kMade;
  if (made.error().code != Errc::kConflict) return failure(made.error());
  const std::string name = kube::json_text(map, "metadata", "name");
  return look_at_existing(api, maps + "/" + kube::percent_encoded(name), map, may_act, how);
}

}  // namespace pinion::cluster
