#include "nri-plugin/backoff.h"

#include <algorithm>

namespace pinion::nri {
namespace {

using Milliseconds = Backoff::Milliseconds;

constexpr Milliseconds kConnectFirst{10};
constexpr Milliseconds kConnectMost{200};
constexpr Milliseconds kSessionFirst{50};
constexpr Milliseconds kSessionMost{10000};

Milliseconds grow(Milliseconds last, Milliseconds first, Milliseconds most) {
  return std::clamp(2 * last, first, most);
}

}  // namespace

Milliseconds Backoff::connect_failed() {
  connect_wait_ = grow(connect_wait_, kConnectFirst, kConnectMost);
  return connect_wait_;
}

Milliseconds Backoff::session_failed(Milliseconds synchronized_for) {
  connect_wait_ = Milliseconds(0);  // the socket did take a connection
  if (synchronized_for >= kStable) {
    session_wait_ = Milliseconds(0);
    return kConnectFirst;
  }
  session_wait_ = grow(session_wait_, kSessionFirst, kSessionMost);
  return session_wait_;
}

}  // namespace pinion::nri
