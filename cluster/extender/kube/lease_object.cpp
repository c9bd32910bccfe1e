#include "cluster/extender/kube/lease_object.h"

#include <algorithm>

#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostSeconds = 86'400;
constexpr std::int64_t kMostTransitions = 1'000'000'000;

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

}  // namespace

LeaseRecord lease_record(const json& lease) {
  const json& spec = json_at(lease, "spec");
  const std::int64_t seconds = json_integer(spec, "leaseDurationSeconds");
  const std::int64_t transitions = json_integer(spec, "leaseTransitions");
  return {
      .holder = json_text(spec, "holderIdentity"),
      .duration = std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMostSeconds)),
      .acquired = json_text(spec, "acquireTime"),
      .renewed = json_text(spec, "renewTime"),
      .transitions = static_cast<int>(std::clamp<std::int64_t>(transitions, 0, kMostTransitions)),
      .version = json_text(lease, "metadata", "resourceVersion")};
}

json lease_object(const LeaseName& name, const LeaseRecord& record) {
  json metadata = {{"namespace", name.name_space}, {"name", name.name}};
  if (!record.version.empty()) metadata["resourceVersion"] = record.version;
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"holderIdentity", record.holder},
            {"leaseDurationSeconds", record.duration.count()},
            {"acquireTime", or_null(record.acquired)},
            {"renewTime", or_null(record.renewed)},
            {"leaseTransitions", record.transitions}}}};
}

}  // namespace pinion::kube
