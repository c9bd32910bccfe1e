// A do-nothing NRI plugin on Pinion's own protocol code: the baseline where there is no Go.
// Usage: pinion-nri-floor --nri-socket PATH
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "nri-plugin/connection.h"

namespace {

using pinion::nri::Connection;
using Clock = std::chrono::steady_clock;

namespace wire = pinion::nri::wire;
using pinion::nri::Outcome;

class Nothing : public pinion::nri::Handler {
 public:
  [[nodiscard]] std::int32_t events() const override { return 0x7ff; }  // what the agent hears of
  std::size_t list_pod(const wire::PodSandbox& /*pod*/) override { return 0; }
  std::size_t list_container(const wire::Container& /*container*/) override { return 0; }
  void forget_listed() override {}
  Outcome synchronize(wire::SynchronizeResponse& /*response*/) override { return {}; }
  Outcome create_container(const wire::CreateContainerRequest& /*request*/,
                           wire::CreateContainerResponse& /*response*/) override {
    return {};
  }
  Outcome update_container(const wire::UpdateContainerRequest& /*request*/,
                           wire::UpdateContainerResponse& /*response*/) override {
    return {};
  }
  Outcome stop_container(const wire::StopContainerRequest& /*request*/,
                         wire::StopContainerResponse& /*response*/) override {
    return {};
  }
  Outcome tell(wire::Event /*event*/, const wire::PodSandbox& /*pod*/,
               const wire::Container& /*container*/) override {
    return {};
  }
};

int milliseconds_until(const Connection& connection) {
  const auto now = Clock::now();
  const auto until = connection.deadline().value_or(now + std::chrono::seconds(1));
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  return static_cast<int>(std::max<decltype(wait)>(wait, 0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--nri-socket") {
    std::fputs("usage: pinion-nri-floor --nri-socket PATH\n", stderr);
    return 2;
  }
  Nothing handler;
  pinion::nri::ConnectionOptions options;
  options.socket = argv[2];
  options.session.name = "floor";
  Connection connection(options, handler);
  while (!connection.finished()) {
    connection.tick(Clock::now());
    const auto events = static_cast<short>(connection.wants_write() ? POLLIN | POLLOUT : POLLIN);
    pollfd fd{.fd = connection.fd(), .events = events, .revents = 0};
    if (poll(&fd, 1, milliseconds_until(connection)) < 0) return 1;
    const auto now = Clock::now();
    if ((fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0) connection.on_readable(now);
    if ((fd.revents & POLLOUT) != 0) connection.on_writable(now);
  }
  return 0;
}
