// What the server asks of the mutating webhook.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::cluster {

// The API server's reviews, on many threads at once. A call for an object may come more than once,
// and for one that is never made (a dry run), so an answer must change nothing.
class Admission {
 public:
  Admission() = default;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  virtual ~Admission() = default;

  // From an AdmissionReview's body to that of its answer. Errors: kInvalid for what is no review.
  virtual Result<std::string> answer(std::string_view body) = 0;
};

}  // namespace pinion::cluster
