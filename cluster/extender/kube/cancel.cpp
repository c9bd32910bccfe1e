#include "cluster/extender/kube/cancel.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

namespace pinion::kube {
namespace {

using std::chrono::steady_clock;

constexpr long kLongest = 60'000;   // ms in one call of poll(2)
constexpr long kWithoutEvent = 50;  // ms, where nothing but looking again tells of a cancel()

}  // namespace

Cancel::Cancel() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Cancel::cancel() {
  cancelled_ = true;
  if (event_.valid()) eventfd_write(event_.get(), 1);
}

Cancel::Woken Cancel::wait(int fd, short events, TimePoint until) const {
  const long longest = event_.valid() ? kLongest : kWithoutEvent;
  for (;;) {
    if (cancelled_) return Woken::kCancelled;
    const long left =
        std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) return Woken::kDeadline;
    // poll(2) skips a negative descriptor.
    std::array<pollfd, 2> fds{pollfd{.fd = fd, .events = events, .revents = 0},
                              pollfd{.fd = event_.get(), .events = POLLIN, .revents = 0}};
    poll(fds.data(), fds.size(), static_cast<int>(std::min(left, longest)));
    if (fds[0].revents != 0 && !cancelled_) return Woken::kReady;
  }
}

bool Cancel::wait_for(std::chrono::milliseconds pause) const {
  return wait(-1, 0, steady_clock::now() + pause) == Woken::kCancelled;
}

}  // namespace pinion::kube
