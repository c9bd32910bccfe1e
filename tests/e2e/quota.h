// A ResourceQuota of the namespace "default" for a number of pods. Its controller is the test.
#pragma once

#include <string>

#include "base/error.h"
#include "tests/e2e/admin.h"

namespace pinion::e2e {

class Quota {
 public:
  // For pods of this priority class alone, if it names one. In force when it returns, and admits
  // nobody. Errors: of the API server; kUnavailable.
  static Result<Quota> make(Admin& admin, const std::string& priority_class = {});

  // So many pods, of which so many exist.
  Status admit(int most, int exist);
  // Whether the pod was not made because of a quota.
  static bool has_refused(const Result<kube::PodRef>& made);

 private:
  explicit Quota(Admin& admin) : admin_(&admin) {}

  Admin* admin_;
};

}  // namespace pinion::e2e
