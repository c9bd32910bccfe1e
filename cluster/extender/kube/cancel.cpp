#include "cluster/extender/kube/cancel.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>

namespace pinion::kube {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Cancel::Cancel() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Cancel::cancel() {
  cancelled_ = true;
  if (event_.valid()) eventfd_write(event_.get(), 1);
}

bool Cancel::wait_for(milliseconds pause) const {
  constexpr milliseconds longest{60'000};  // in one call of poll(2)
  const auto until = steady_clock::now() + pause;
  while (!cancelled_) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (left <= left.zero()) return false;
    pollfd event{.fd = descriptor(), .events = POLLIN, .revents = 0};  // skipped when negative
    poll(&event, 1, static_cast<int>(std::min(left, event_.valid() ? longest : kLook).count()));
  }
  return true;
}

}  // namespace pinion::kube
