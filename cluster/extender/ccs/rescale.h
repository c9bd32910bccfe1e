// An elastic Charm++ program is asked for another number of PEs. It acts at its next load balancing
// step: checkpoint, end, start anew. That it has is told by ccs_getinfo alone: it answers a request
// before it restarts, and an unknown handler answers in the same way.
#pragma once

#include <chrono>
#include <functional>

#include "base/error.h"
#include "cluster/extender/ccs/client.h"

namespace pinion::cluster::ccs {

struct Change {
  int before = 1;  // PEs
  int wanted = 1;
  // It was sent already, perhaps: then it is not sent again, as a second request before the step
  // takes the answer from the first, and one after it asks for what is there.
  bool sent = false;
};

struct Pace {
  std::chrono::milliseconds look{500};   // between two looks at how many PEs there are
  std::chrono::milliseconds call{2000};  // for one of them
};

// Until the program runs with `wanted` PEs. `about_to_send` is called before the request is sent,
// which it is only once; when it fails, nothing is sent. Errors: its own; kInvalid for a program
// that runs with neither of the two numbers, or answers with something else; kUnavailable when the
// deadline has passed or it was cancelled, with what was seen last. `kept`: the connection of the
// request, once it is sent; the program's answer comes there before it restarts, and it must find
// us until then.
Status rescale(const Address& program, const Change& change, Deadline deadline,
               const kube::Cancel& cancel, const std::function<Status()>& about_to_send, Fd& kept,
               const Pace& pace = {});

}  // namespace pinion::cluster::ccs
