#include "tests/e2e/quota.h"

#include "tests/e2e/collection.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr const char* kQuotas = "/api/v1/namespaces/default/resourcequotas";
constexpr const char* kName = "pods";

json pods(int count) {
  return {{"pods", std::to_string(count)}};
}

json spec_of(const std::string& priority_class) {
  json spec = {{"hard", pods(0)}};
  if (priority_class.empty()) return spec;
  const json scope = {
      {"scopeName", "PriorityClass"}, {"operator", "In"}, {"values", {priority_class}}};
  spec["scopeSelector"] = {{"matchExpressions", json::array({scope})}};
  return spec;
}

}  // namespace

Result<Quota> Quota::make(Admin& admin, const std::string& priority_class) {
  const auto made = admin.api().create(kQuotas, {{"apiVersion", "v1"},
                                                 {"kind", "ResourceQuota"},
                                                 {"metadata", {{"name", kName}}},
                                                 {"spec", spec_of(priority_class)}});
  if (!made) return failure(made.error());
  Quota quota(admin);
  if (Status none = quota.admit(0, 0); !none) return failure(none.error());
  // Admission knows a new class, and a new quota, a moment later.
  const PodShape probe{.name = "probe", .priority_class = priority_class, .gated = true};
  const bool in_force = lab::eventually(kPatience, [&] {
    const auto pod = admin.add_pod(probe);
    if (pod) (void)admin.remove_pod(probe.name);
    return has_refused(pod);
  });
  if (!in_force) return failure(Errc::kUnavailable, "the API server does not heed the quota");
  return quota;
}

Status Quota::admit(int most, int exist) {
  const auto done =
      admin_->api().patch(std::string(kQuotas) + "/" + kName + "/status", kube::PatchKind::kMerge,
                          {{"status", {{"hard", pods(most)}, {"used", pods(exist)}}}});
  if (!done) return failure(done.error());
  return {};
}

bool Quota::has_refused(const Result<kube::PodRef>& made) {
  return !made && made.error().text.find("exceeded quota") != std::string::npos;
}

}  // namespace pinion::e2e
