#include "cluster/extender/ccs/rescale.h"

#include <algorithm>

#include "cluster/extender/ccs/codec.h"

namespace pinion::cluster::ccs {
namespace {

using Clock = std::chrono::steady_clock;

Result<int> look(const Address& program, Deadline deadline, const kube::Cancel& cancel) {
  const auto info = call(program, request(kGetInfo), deadline, cancel);
  if (!info) return failure(info.error());
  return pes_in(*info);
}

std::string too_late(const Result<int>& pes, bool sent) {
  std::string text = pes ? "it still runs with " + std::to_string(*pes) + " PEs"
                         : "it does not say with how many PEs it runs: " + pes.error().text;
  return text + (sent ? "" : "; nothing was sent");
}

}  // namespace

Status rescale(const Address& program, const Change& change, Deadline deadline,
               const kube::Cancel& cancel, const std::function<Status()>& about_to_send, Fd& kept,
               const Pace& pace) {
  bool sent = change.sent;
  Result<int> last = failure(Errc::kUnavailable, "no answer in time");
  while (true) {
    const auto now = Clock::now();
    const auto pes = look(program, std::min(deadline, now + pace.call), cancel);
    if (pes && *pes == change.wanted) return {};
    if (pes || Clock::now() < deadline) last = pes;  // else it had no time
    if (pes && *pes != change.before) {
      return failure(Errc::kInvalid, "it runs with " + std::to_string(*pes) + " PEs, neither " +
                                         std::to_string(change.before) + " nor " +
                                         std::to_string(change.wanted));
    }
    // While it restarts it does not answer, or with what is cut off.
    if (!pes && pes.error().code != Errc::kUnavailable) return failure(pes.error());
    if (pes && !sent) {
      if (Status good = about_to_send(); !good) return good;
      sent = true;
      auto asked = send(program, request(kSetBitmap, bitmap(change.before, change.wanted)),
                        std::min(deadline, Clock::now() + pace.call), cancel);
      // Whether it has arrived nobody knows: the looks tell.
      if (asked) kept = *std::move(asked);
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left <= std::chrono::milliseconds(0) || cancel.wait_for(std::min(left, pace.look))) {
      return failure(Errc::kUnavailable, too_late(last, sent));
    }
  }
}

}  // namespace pinion::cluster::ccs
