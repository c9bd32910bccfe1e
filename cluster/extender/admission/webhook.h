// The mutating webhook: from the body of an AdmissionReview to the body of its answer.
#pragma once

#include <functional>

#include "cluster/extender/admission/review.h"
#include "cluster/extender/http/admission.h"
#include "cluster/extender/jobs/mutation.h"

namespace pinion::cluster::admission {

// What a request comes to, with a warning where the job fits not even the idle fleet. Only what is
// being created is changed: later the sizes of most kinds are fixed, and a running job is its
// user's.
[[nodiscard]] jobs::Mutation mutation_of(const Review& review, const jobs::Options& options,
                                         const jobs::LookAtFleet& look);

class Webhook : public Admission {
 public:
  // Told of each answer, on the thread that gives it.
  using Seen = std::function<void(const Review&, const jobs::Mutation&)>;

  // `look` is called on many threads at once, and so is `seen`, which may be empty.
  Webhook(jobs::Options options, jobs::LookAtFleet look, Seen seen)
      : options_(std::move(options)), look_(std::move(look)), seen_(std::move(seen)) {}

  Result<std::string> answer(std::string_view body) override;

 private:
  const jobs::Options options_;
  const jobs::LookAtFleet look_;
  const Seen seen_;
};

}  // namespace pinion::cluster::admission
