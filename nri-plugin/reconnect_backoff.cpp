#include "nri-plugin/reconnect_backoff.h"

namespace pinion::nri {
namespace {

constexpr std::chrono::milliseconds kConnectFirst{10};
constexpr std::chrono::milliseconds kConnectLongest{200};
constexpr std::chrono::milliseconds kSessionFirst{50};
constexpr std::chrono::milliseconds kSessionLongest{10'000};

}  // namespace

ReconnectBackoff::ReconnectBackoff()
    : connect_(kConnectFirst, kConnectLongest), session_(kSessionFirst, kSessionLongest) {}

ReconnectBackoff::Milliseconds ReconnectBackoff::connect_failed() {
  return connect_.next();
}

ReconnectBackoff::Milliseconds ReconnectBackoff::session_failed(Milliseconds synchronized_for) {
  connect_.reset();  // the socket did take a connection
  if (synchronized_for < kStable) return session_.next();
  session_.reset();
  return kConnectFirst;
}

}  // namespace pinion::nri
