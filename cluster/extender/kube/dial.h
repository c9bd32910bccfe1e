// A TCP connection within a time.
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/endpoint.h"

namespace pinion::kube {

// A connected socket that does not block, without Nagle's delay; all addresses of the name are
// tried in turn. Errors: kUnavailable, naming host and port; also when cancelled.
Result<Fd> dial(const Endpoint& endpoint, TimePoint until, const Cancel& cancel);

}  // namespace pinion::kube
