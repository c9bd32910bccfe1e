#include "cluster/extender/admission/webhook.h"

#include "cluster/core/never_fits.h"
#include "cluster/extender/jobs/gang.h"

namespace pinion::cluster::admission {

jobs::Mutation mutation_of(const Review& review, const jobs::Options& options,
                           const jobs::LookAtFleet& look) {
  if (review.operation != "CREATE" || !review.sub_resource.empty()) {
    jobs::Mutation mutation;
    mutation.text = "it is not being created";
    return mutation;
  }
  auto mutation =
      jobs::mutate(review.object, review.name_space, options, jobs::choose_by(look), review.uid);
  if (!mutation.cut) return mutation;
  const auto after = review.object.patch(mutation.patch);
  look([&](const jobs::LockedFleet& locked) {
    const int nodes = mutation.cut->request.nodes;
    IdleFleet idle(locked.fleet);
    const auto never = never_fits(
        idle, jobs::gang_of(after, *mutation.cut, options.defaults, locked), limit_of_nodes(nodes));
    if (never) mutation.warnings.push_back("it cannot start on these nodes: " + never->text);
  });
  return mutation;
}

Result<std::string> Webhook::answer(std::string_view body) {
  const auto review = read_review(body);
  if (!review) return failure(review.error());
  const jobs::Mutation mutation = mutation_of(*review, options_, look_);
  if (seen_) seen_(*review, mutation);
  const bool refused = mutation.kind == jobs::Mutation::Kind::kRefused;
  return to_json(review->uid, {.allowed = !refused,
                               .message = refused ? "pinion: " + mutation.text : std::string(),
                               .patch = mutation.patch,
                               .warnings = mutation.warnings});
}

}  // namespace pinion::cluster::admission
