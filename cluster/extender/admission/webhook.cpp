#include "cluster/extender/admission/webhook.h"

namespace pinion::cluster::admission {

jobs::Mutation mutation_of(const Review& review, const jobs::Options& options,
                           const jobs::Choose& choose) {
  if (review.operation == "CREATE" && review.sub_resource.empty()) {
    return jobs::mutate(review.object, review.name_space, options, choose);
  }
  jobs::Mutation mutation;
  mutation.text = "it is not being created";
  return mutation;
}

Result<std::string> Webhook::answer(std::string_view body) {
  const auto review = read_review(body);
  if (!review) return failure(review.error());
  const jobs::Mutation mutation = mutation_of(*review, options_, choose_);
  if (seen_) seen_(*review, mutation);
  const bool refused = mutation.kind == jobs::Mutation::Kind::kRefused;
  return to_json(review->uid, {.allowed = !refused,
                               .message = refused ? "pinion: " + mutation.text : std::string(),
                               .patch = mutation.patch,
                               .warnings = mutation.warnings});
}

}  // namespace pinion::cluster::admission
