#include "cluster/extender/program/owned_object.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

Result<Kept> look_at_existing(kube::Api& api, const std::string& path, const OwnedObject& owned,
                              const std::function<bool()>& may_act, const kube::Call& how) {
  const json& wanted = owned.object;
  const auto there = api.get(path, how);
  if (!there) {
    const bool gone = there.error().code == Errc::kNotFound;
    return failure(gone ? Errc::kUnavailable : there.error().code, there.error().text);
  }
  if (owner_of(*there, "uid") == owner_of(wanted, "uid")) {
    const json& part = wanted.at(owned.part);
    if (there->contains(owned.part) && there->at(owned.part) == part) return Kept::kSame;
    if (!may_act()) return failure(Errc::kUnavailable, "another replica leads by now");
    // Of this version: another leader may have been first.
    json patch = {{"metadata",
                   {{"resourceVersion", kube::json_text(*there, "metadata", "resourceVersion")}}}};
    patch[owned.part] = part;
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
                 path + " is not Pinion's, and the job's pods use what is called so: rename one");
}

}  // namespace

std::string owner_of(const json& object, const char* field) {
  const json& owners = kube::json_at(object, "metadata", "ownerReferences");
  return owners.is_array() && !owners.empty() ? kube::json_text(owners.front(), field)
                                              : std::string();
}

std::string owned_path(const std::string& prefix, const json& object, const std::string& resource) {
  return prefix + "/namespaces/" +
         kube::percent_encoded(kube::json_text(object, "metadata", "namespace")) + "/" + resource;
}

OwnedObject owned_map(json config_map) {
  std::string maps = owned_path("/api/v1", config_map, "configmaps");
  return {.collection = std::move(maps),
          .object = std::move(config_map),
          .part = json::json_pointer("/data")};
}

Result<Kept> keep_owned(kube::Api& api, const OwnedObject& owned,
                        const std::function<bool()>& may_act, const kube::Call& how) {
  const auto made = api.create(owned.collection, owned.object, how);
  if (made) return Kept::kMade;
  if (made.error().code != Errc::kConflict) return failure(made.error());
  const std::string name = kube::json_text(owned.object, "metadata", "name");
  return look_at_existing(api, owned.collection + "/" + kube::percent_encoded(name), owned, may_act,
                          how);
}

}  // namespace pinion::cluster
