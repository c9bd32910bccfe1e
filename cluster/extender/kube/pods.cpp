#include "cluster/extender/kube/pods.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/backoff.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestNote = 1024;
// How a lost answer is asked for again: the callers of a binding wait.
constexpr std::chrono::milliseconds kLookFor{1000};
constexpr std::chrono::milliseconds kLookPause{50};  // and twice as long each time

// With the uid as a precondition: the server refuses a patch that would change it (with 422, see
// patch_pod()).
json metadata_of(const PodRef& pod) {
  json metadata = json::object();
  if (!pod.uid.empty()) metadata["uid"] = pod.uid;
  return metadata;
}

Status patch_pod(Api& api, const PodRef& pod, const char* subresource, const json& patch,
                 const Call& how, PatchKind kind = PatchKind::kMerge) {
  const auto done = api.patch(pod_path(pod.name_space, pod.name, subresource), kind, patch, how);
  if (done) return {};
  if (done.error().code != Errc::kInvalid || pod.uid.empty()) return failure(done.error());
  // Is it the uid that is wrong, or the patch?
  const auto now = api.get(pod_path(pod.name_space, pod.name), how);
  if (!now || json_text(*now, "metadata", "uid") == pod.uid) return failure(done.error());
  return failure(Errc::kConflict, "another pod has this name by now: " + done.error().text);
}

Status patch_metadata(Api& api, const PodRef& pod, const char* field,
                      const std::map<std::string, std::optional<std::string>>& entries,
                      const Call& how) {
  json metadata = metadata_of(pod);
  json& values = metadata[field] = json::object();
  for (const auto& [name, value] : entries) values[name] = value ? json(*value) : json();
  return patch_pod(api, pod, "", {{"metadata", std::move(metadata)}}, how);
}

// What took the answer to a binding (a server or a proxy that ended) takes the other connections
// kept open with it, one after the other: a look through one of them is lost too.
Result<json> get_patiently(Api& api, const PodRef& pod, const Call& how) {
  const Cancel never;
  const Cancel& cancel = how.cancel == nullptr ? never : *how.cancel;
  const auto until = std::chrono::steady_clock::now() + kLookFor;
  for (Backoff backoff(kLookPause, kLookFor);;) {
    auto now = api.get(pod_path(pod.name_space, pod.name), how);
    if (now || now.error().code != Errc::kUnavailable) return now;
    if (std::chrono::steady_clock::now() >= until || cancel.wait_for(backoff.next())) return now;
  }
}

// A binding was refused, or its answer was lost: is the pod bound?
Result<Bound> look(Api& api, const PodRef& pod, const Error& refusal, const Call& how) {
  const auto now = get_patiently(api, pod, how);
  if (!now) return failure(refusal.code == Errc::kUnavailable ? refusal : now.error());
  if (!pod.uid.empty() && json_text(*now, "metadata", "uid") != pod.uid) {
    return failure(Errc::kConflict, "another pod has this name by now: " + refusal.text);
  }
  std::string node = json_text(*now, "spec", "nodeName");
  if (node.empty()) return failure(refusal);
  return Bound{.node = std::move(node), .already = true};
}

}  // namespace

Result<Bound> bind_pod(Api& api, const PodRef& pod, const std::string& node,
                       const std::map<std::string, std::string>& annotations, const Call& how) {
  json metadata = metadata_of(pod);
  metadata["name"] = pod.name;
  metadata["namespace"] = pod.name_space;
  if (!annotations.empty()) metadata["annotations"] = annotations;
  const json binding = {{"apiVersion", "v1"},
                        {"kind", "Binding"},
                        {"metadata", std::move(metadata)},
                        {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  const auto done = api.create(pod_path(pod.name_space, pod.name, "binding"), binding, how);
  if (done) return Bound{.node = node, .already = false};
  const bool refused = done.error().code == Errc::kConflict;
  const bool lost = done.error().code == Errc::kUnavailable;
  return refused || lost ? look(api, pod, done.error(), how) : failure(done.error());
}

Status annotate_pod(Api& api, const PodRef& pod,
                    const std::map<std::string, std::optional<std::string>>& annotations,
                    const Call& how) {
  return patch_metadata(api, pod, "annotations", annotations, how);
}

Status label_pod(Api& api, const PodRef& pod,
                 const std::map<std::string, std::optional<std::string>>& labels, const Call& how) {
  return patch_metadata(api, pod, "labels", labels, how);
}

Status nominate_pod(Api& api, const PodRef& pod, const std::string& node, const Call& how) {
  const json name = node.empty() ? json() : json(node);
  return patch_pod(api, pod, "status",
                   {{"metadata", metadata_of(pod)}, {"status", {{"nominatedNodeName", name}}}},
                   how);
}

Status ungate_pod(Api& api, const PodRef& pod, std::string_view gate, const Call& how) {
  const json off = {{"$patch", "delete"}, {"name", gate}};
  return patch_pod(
      api, pod, "",
      {{"metadata", metadata_of(pod)}, {"spec", {{"schedulingGates", json::array({off})}}}}, how,
      PatchKind::kStrategic);
}

Status resize_pod(Api& api, const PodRef& pod, const std::string& container,
                  const CpuAmounts& amounts, const std::string& resource_version, const Call& how) {
  const auto cpu = [](std::int64_t milli) { return json{{"cpu", std::to_string(milli) + "m"}}; };
  const json one = {
      {"name", container},
      {"resources",
       {{"limits", cpu(amounts.limit_milli)}, {"requests", cpu(amounts.request_milli)}}}};
  json metadata = metadata_of(pod);
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  return patch_pod(
      api, pod, "resize",
      {{"metadata", std::move(metadata)}, {"spec", {{"containers", json::array({one})}}}}, how,
      PatchKind::kStrategic);
}

Status evict_pod(Api& api, const PodRef& pod, const Call& how) {
  json eviction = {{"apiVersion", "policy/v1"},
                   {"kind", "Eviction"},
                   {"metadata", {{"name", pod.name}, {"namespace", pod.name_space}}}};
  if (!pod.uid.empty()) eviction["deleteOptions"] = {{"preconditions", {{"uid", pod.uid}}}};
  const auto done = api.create(pod_path(pod.name_space, pod.name, "eviction"), eviction, how);
  if (!done) return failure(done.error());
  return {};
}

Status delete_pod(Api& api, const PodRef& pod, const Call& how) {
  json options = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!pod.uid.empty()) options["preconditions"] = {{"uid", pod.uid}};
  const auto done = api.remove(pod_path(pod.name_space, pod.name), options, how);
  if (done || done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict) {
    return {};
  }
  return failure(done.error());
}

Status report_on_pod(Api& api, const Reporter& reporter, const PodRef& pod, const PodEvent& event,
                     const Call& how) {
  const json object = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", {{"generateName", pod.name + "-"}, {"namespace", pod.name_space}}},
      {"eventTime", micro_time(std::chrono::system_clock::now())},
      {"reportingController", reporter.controller},
      {"reportingInstance", reporter.instance},
      {"type", event.warning ? "Warning" : "Normal"},
      {"reason", event.reason},
      {"action", event.action},
      {"note", std::string(cut_utf8(event.note, kLongestNote))},
      {"regarding",
       {{"apiVersion", "v1"},
        {"kind", "Pod"},
        {"namespace", pod.name_space},
        {"name", pod.name},
        {"uid", pod.uid}}}};
  const std::string path =
      "/apis/events.k8s.io/v1/namespaces/" + percent_encoded(pod.name_space) + "/events";
  const auto done = api.create(path, object, how);
  if (!done) return failure(done.error());
  return {};
}

}  // namespace pinion::kube
