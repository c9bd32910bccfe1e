#include "cluster/extender/admission/dry_plan.h"

#include "cluster/extender/admission/body.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::admission {

Result<std::string> dry_plan(std::string_view job, const jobs::Options& options,
                             const jobs::LookAtFleet& look) {
  const auto object = parse_body(job);
  if (!object) return failure(object.error());
  if (!object->is_object()) return failure(Errc::kInvalid, "body: not an object");
  return kube::json_dump(to_json(jobs::plan_job(*object, options, look)));
}

}  // namespace pinion::cluster::admission
