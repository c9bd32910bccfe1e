// An elastic Charm++ program is asked for another number of PEs. It acts at its next load balancing
// step: checkpoint, end, start anew. That it has is told by ccs_getinfo alone: it answers a request
// before it restarts, and an unknown handler answers in the same way.
//
// What is asked for cannot be taken back, and stays until that step, however late it comes. A
// second request before it takes the place of the first, and its answer; one that arrives after it
// is read as if there were still as many PEs as before, which no program survives.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/error.h"
#include "cluster/extender/ccs/client.h"

namespace pinion::cluster::ccs {

struct Change {
  int wanted = 1;  // PEs
  // It was sent already, perhaps, when the program had so many PEs.
  std::optional<int> sent_with{};
  // It may be sent once more, as it may not have arrived. Only if that was long ago: the more
  // often, the likelier one meets the step.
  bool again = false;
};

struct Pace {
  std::chrono::milliseconds look{500};   // between two looks at how many PEs there are
  std::chrono::milliseconds call{2000};  // for one of them
};

// Until the program runs with `wanted` PEs, or with another number than when it was sent its
// request: how many these are. They count when two looks in a row have seen them, as a program may
// die of its restart; the second has time of its own, beyond the deadline, but once.
// `about_to_send` is called, with the PEs that there are, before the request is sent, which it is
// only once; when it fails, nothing is sent. Errors: its own; kInvalid for what is no such answer;
// kUnavailable when the deadline has passed or it was cancelled, with what was seen last. `kept`:
// the connection of the request, once it is sent; the program's answer comes there before it
// restarts, and it must find us until then.
Result<int> rescale(const Address& program, const Change& change, Deadline deadline,
                    const kube::Cancel& cancel, const std::function<Status(int pes)>& about_to_send,
                    Fd& kept, const Pace& pace = {});

}  // namespace pinion::cluster::ccs
