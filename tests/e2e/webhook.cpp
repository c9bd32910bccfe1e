#include "tests/e2e/webhook.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/base64.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/crd.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

json rule(const char* group, const char* version, const char* plural) {
  return {{"operations", {"CREATE"}},
          {"apiGroups", {group}},
          {"apiVersions", {version}},
          {"resources", {plural}}};
}

json configuration(const std::string& url, const std::string& ca) {
  json rules = json::array({rule("batch", "v1", "jobs"), rule("", "v1", "pods")});
  for (const Crd& crd : {kMpiJob, kJobSet, kVolcanoJob}) {
    rules.push_back(rule(crd.group, crd.version, crd.plural));
  }
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "MutatingWebhookConfiguration"},
          {"metadata", {{"name", "pinion"}}},
          {"webhooks",
           json::array({{{"name", "jobs.pinion.dev"},
                         {"admissionReviewVersions", {"v1"}},
                         {"sideEffects", "None"},
                         {"failurePolicy", "Fail"},
                         {"reinvocationPolicy", "IfNeeded"},
                         {"timeoutSeconds", 10},
                         {"clientConfig",
                          {{"url", url + "/mutate"}, {"caBundle", kube::encode_base64(ca)}}},
                         {"rules", rules}}})}};
}

Status wait_until(const std::string& what, const std::function<bool()>& condition) {
  if (lab::eventually(kPatience, condition)) return {};
  return failure(Errc::kUnavailable, what);
}

}  // namespace

Status register_webhook(kube::Api& api, const std::string& url, const std::string& ca) {
  for (const Crd& crd : {kMpiJob, kJobSet, kVolcanoJob}) {
    if (Status added = add_crd(api, crd); !added) return failure(added.error().within(crd.plural));
  }
  const Status admits = wait_until("there is no service account", [&] {
    return api.get("/api/v1/namespaces/default/serviceaccounts/default").has_value();
  });
  if (!admits) return admits;
  const auto made =
      api.create("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
                 configuration(url, ca));
  if (!made) return failure(made.error());
  // The API server takes it up a moment later.
  json refused = captured("job_create", "probe");
  refused["metadata"]["annotations"] = {{"pinion.dev/tasks", "none"}};
  return wait_until("the webhook is not asked", [&] {
    return !api.create("/apis/batch/v1/namespaces/default/jobs?dryRun=All", refused);
  });
}

}  // namespace pinion::e2e
