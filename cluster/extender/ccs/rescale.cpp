#include "cluster/extender/ccs/rescale.h"

#include <algorithm>

#include "cluster/extender/ccs/codec.h"

namespace pinion::cluster::ccs {
namespace {

using Clock = std::chrono::steady_clock;

Result<int> look(const Address& program, Deadline deadline, const kube::Cancel& cancel) {
  const auto info = call(program, request(kGetInfo), deadline, cancel);
  if (!info) return failure(info.error());
  auto pes = pes_in(*info);
  if (pes && *pes == 0) return failure(Errc::kInvalid, "ccs_getinfo: no PEs");
  return pes;
}

std::string too_late(const Result<int>& pes, bool sent) {
  std::string text = pes ? "it still runs with " + std::to_string(*pes) + " PEs"
                         : "it does not say with how many PEs it runs: " + pes.error().text;
  return text + (sent ? "" : "; nothing was sent");
}

}  // namespace

Result<int> rescale(const Address& program, const Change& change, Deadline deadline,
                    const kube::Cancel& cancel, const std::function<Status(int pes)>& about_to_send,
                    Fd& kept, const Pace& pace) {
  std::optional<int> sent_with = change.sent_with;
  bool may_send = !sent_with || change.again;
  Result<int> last = failure(Errc::kUnavailable, "no answer in time");
  int seen = 0;  // at the look before, the number that it has come to; 0: to none
  bool has_more_time = false;
  while (true) {
    const auto now = Clock::now();
    const auto pes = look(program, std::min(deadline, now + pace.call), cancel);
    if (pes || Clock::now() < deadline) last = pes;  // else it had no time
    // While it restarts it does not answer, or with what is cut off.
    if (!pes && pes.error().code != Errc::kUnavailable) return failure(pes.error());
    if (pes && (*pes == change.wanted || (sent_with && *pes != *sent_with))) {
      if (seen == *pes) return *pes;
      seen = *pes;
      if (!has_more_time) deadline = std::max(deadline, Clock::now() + pace.look + pace.call);
      has_more_time = true;
    } else {
      seen = 0;
    }
    if (pes && seen == 0 && may_send) {
      if (Status good = about_to_send(*pes); !good) return failure(good.error());
      may_send = false;
      sent_with = *pes;
      // What was sent long ago may have made it act while that was written down.
      const auto still = change.again ? look(program, Clock::now() + pace.call, cancel) : pes;
      if (still && *still == *pes) {
        auto asked = send(program, request(kSetBitmap, bitmap(*pes, change.wanted)),
                          Clock::now() + pace.call, cancel);
        // Whether it has arrived nobody knows: the looks tell.
        if (asked) kept = *std::move(asked);
      }
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left <= std::chrono::milliseconds(0) || cancel.wait_for(std::min(left, pace.look))) {
      return failure(Errc::kUnavailable, too_late(last, sent_with.has_value()));
    }
  }
}

}  // namespace pinion::cluster::ccs
