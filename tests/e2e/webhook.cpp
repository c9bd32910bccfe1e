#include "tests/e2e/webhook.h"

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

}  // namespace

Status register_webhook(kube::Api& api, const std::string& url, const std::string& ca_file) {
  const auto ca = lab::read_file(ca_file);
  if (!ca) return failure(ca.error());
  for (const Crd& crd : {kMpiJob, kJobSet, kVolcanoJob}) {
    if (Status added = add_crd(api, crd); !added) return failure(added.error().within(crd.plural));
  }
  const auto made =
      api.create("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
                 configuration(url, *ca));
  if (!made) return failure(made.error());
  // The API server takes it up a moment later.
  json refused = captured("job_create", "probe");
  refused["metadata"]["annotations"] = {{"pinion.dev/tasks", "none"}};
  const bool asked = lab::eventually(kPatience, [&] {
    return !api.create("/apis/batch/v1/namespaces/default/jobs?dryRun=All", refused);
  });
  if (!asked) return failure(Errc::kUnavailable, "the webhook is not asked");
  return {};
}

}  // namespace pinion::e2e
