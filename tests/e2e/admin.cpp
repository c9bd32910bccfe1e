#include "tests/e2e/admin.h"

#include <stdexcept>

#include "cluster/extender/kube/answer.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "tests/e2e/rights.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return *std::move(result);
}

Status without_value(const Result<json>& result) {
  if (!result) return failure(result.error());
  return {};
}

}  // namespace

json node_object(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels",
             {{"kubernetes.io/hostname", name},
              {"kubernetes.io/os", "linux"},
              {"kubernetes.io/arch", "amd64"}}}}}};
}

json pod_object(const PodShape& shape) {
  const auto container = [&](const std::string& name, int milli_cpus) {
    const json amounts = {{"cpu", std::to_string(milli_cpus) + "m"},
                          {"memory", std::to_string(shape.memory_mib) + "Mi"}};
    json resources = {{"requests", amounts}};
    if (!shape.burstable) resources["limits"] = amounts;
    return json{{"name", name}, {"image", "none"}, {"resources", resources}};
  };
  const auto numbered = [&](const std::string& name, const std::vector<int>& all) {
    json made = json::array();
    for (const int milli_cpus : all) {
      made.push_back(container(name + std::to_string(made.size()), milli_cpus));
    }
    return made;
  };
  json containers = numbered("side-", shape.sides);
  containers.insert(containers.begin(), container("main", shape.milli_cpus));
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", shape.name}, {"namespace", "default"}}},
              {"spec", {{"containers", std::move(containers)}}}};
  json first = numbered("sidecar-", shape.sidecars);
  for (json& sidecar : first) sidecar["restartPolicy"] = "Always";
  for (json& init : numbered("init-", shape.inits)) first.push_back(std::move(init));
  if (!first.empty()) pod["spec"]["initContainers"] = std::move(first);
  if (!shape.annotations.empty()) pod["metadata"]["annotations"] = shape.annotations;
  if (!shape.labels.empty()) pod["metadata"]["labels"] = shape.labels;
  if (!shape.priority_class.empty()) pod["spec"]["priorityClassName"] = shape.priority_class;
  if (!shape.scheduler.empty()) pod["spec"]["schedulerName"] = shape.scheduler;
  if (shape.deadline_s > 0) pod["spec"]["activeDeadlineSeconds"] = shape.deadline_s;
  if (!shape.pod_group.empty()) {
    pod["spec"]["schedulingGroup"] = {{"podGroupName", shape.pod_group}};
  }
  json gates = json::array();
  if (shape.gated) gates.push_back({{"name", "example.com/wait"}});
  if (shape.gang_gate) gates.push_back({{"name", "pinion.dev/gang"}});
  if (!gates.empty()) pod["spec"]["schedulingGates"] = std::move(gates);
  return pod;
}

Admin::Admin(const kube::Access& access)
    : api_(must(kube::Api::create(access))), http_(must(kube::Http::create(access))) {}

Status Admin::add_node(const std::string& name, const NodeShape& shape) {
  const std::string path = "/api/v1/nodes/" + name;
  const auto made = api_->create("/api/v1/nodes", node_object(name));
  if (!made) return failure(made.error());
  const json amounts = {{"cpu", std::to_string(shape.cpus)},
                        {"memory", std::to_string(shape.memory_gib) + "Gi"},
                        {"pods", std::to_string(shape.pods)}};
  const json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
  const auto shaped = api_->patch(
      path + "/status", kube::PatchKind::kMerge,
      {{"status",
        {{"capacity", amounts}, {"allocatable", amounts}, {"conditions", json::array({ready})}}}});
  if (!shaped) return failure(shaped.error());
  return without_value(
      api_->patch(path, kube::PatchKind::kMerge, {{"spec", {{"taints", nullptr}}}}));
}

Result<kube::PodRef> Admin::add_pod(const PodShape& shape) {
  const auto made = api_->create(kPods, pod_object(shape));
  if (!made) return failure(made.error());
  return kube::PodRef{.name_space = "default",
                      .name = shape.name,
                      .uid = kube::json_text(*made, "metadata", "uid")};
}

Status Admin::say_ready(const std::string& name) {
  const json ready = {{"type", "Ready"}, {"status", "True"}};
  const auto done = api_->patch(kube::pod_path("default", name, "status"), kube::PatchKind::kMerge,
                                {{"status",
                                  {{"phase", "Running"},
                                   {"podIP", "127.0.0.1"},
                                   {"podIPs", json::array({{{"ip", "127.0.0.1"}}})},
                                   {"conditions", json::array({ready})}}}});
  return done ? Status() : Status(failure(done.error()));
}

Status Admin::say_refused(const std::string& name, const std::string& container,
                          const std::string& why) {
  const json waiting = {{"reason", "CreateContainerError"}, {"message", why}};
  const json status = {{"name", container}, {"image", ""},       {"imageID", ""},
                       {"ready", false},    {"restartCount", 0}, {"state", {{"waiting", waiting}}}};
  return without_value(api_->patch(kube::pod_path("default", name, "status"),
                                   kube::PatchKind::kMerge,
                                   {{"status", {{"containerStatuses", json::array({status})}}}}));
}

Status Admin::open_pod(const std::string& name) {
  return without_value(api_->patch(kube::pod_path("default", name), kube::PatchKind::kMerge,
                                   {{"spec", {{"schedulingGates", nullptr}}}}));
}

Status Admin::add_priority_class(const std::string& name, int value) {
  return without_value(api_->create("/apis/scheduling.k8s.io/v1/priorityclasses",
                                    {{"apiVersion", "scheduling.k8s.io/v1"},
                                     {"kind", "PriorityClass"},
                                     {"metadata", {{"name", name}}},
                                     {"value", value}}));
}

Status Admin::remove_pod(const std::string& name) {
  return remove(kube::pod_path("default", name) + "?gracePeriodSeconds=0");
}

Status Admin::ask_pod_to_end(const std::string& name) {
  return remove(kube::pod_path("default", name));
}

Status Admin::let_extender(const std::vector<std::string>& verbs, const std::string& resource,
                           const std::string& group) {
  const json named = {{"generateName", "extender-too-"}};
  const json rule = {{"apiGroups", {group}}, {"resources", {resource}}, {"verbs", verbs}};
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
  const auto role =
      api_->create(rbac + "s", {{"metadata", named}, {"rules", granted(json::array({rule}))}});
  if (!role) return failure(role.error());
  const json binding = {{"metadata", named},
                        {"roleRef",
                         {{"apiGroup", "rbac.authorization.k8s.io"},
                          {"kind", "ClusterRole"},
                          {"name", kube::json_text(*role, "metadata", "name")}}},
                        {"subjects", json::array({{{"kind", "ServiceAccount"},
                                                   {"namespace", "kube-system"},
                                                   {"name", "pinion-extender"}}})}};
  return without_value(api_->create(rbac + "bindings", binding));
}

Status Admin::let_extender_resize_jobs() {
  for (const auto& [resource, group] :
       {std::pair("jobs", "batch"), std::pair("jobs", "batch.volcano.sh"),
        std::pair("mpijobs", "kubeflow.org")}) {
    if (Status let = let_extender({"list", "watch", "patch"}, resource, group); !let) return let;
  }
  return {};
}

Status Admin::remove(const std::string& path) {
  const auto answer =
      http_->send({.method = "DELETE", .target = path, .content_type = {}, .body = {}}, {}, never_);
  if (!answer) return failure(answer.error());
  if (!kube::succeeded(answer->status))
    return failure(kube::error_of(answer->status, answer->body));
  return {};
}

Result<json> Admin::pod(const std::string& name) {
  return api_->get(kube::pod_path("default", name));
}

}  // namespace pinion::e2e
