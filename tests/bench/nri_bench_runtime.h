// The runtime's end of one plugin's connection, with a clock: FakeRuntime on a socket of its own,
// so that neither encoding a call nor clearing buffers counts as the plugin's time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::bench {

namespace wire = ::nri::pkg::api::v1alpha1;

struct Answered {
  test_support::CallResult result;
  double ms = 0;  // from the first byte sent to the answer's last byte received
};

struct Synchronized {
  wire::SynchronizeResponse response;
  double call_ms = 0;   // the Synchronize call alone
  double total_ms = 0;  // from the beginning of the wait for a connection
};

class BenchRuntime {
 public:
  // Listens on `path`, which must not exist.
  static Result<BenchRuntime> listen(const std::string& path);

  // Closes the connection if there is one, waits for the next one and takes the plugin in. Every
  // wait here and below ends with kUnavailable after 10 s.
  Result<Synchronized> take_in(const wire::SynchronizeRequest& request);
  // Error statuses of the plugin are results.
  Result<Answered> call(std::string_view method, const google::protobuf::MessageLite& request);
  // Whether the plugin subscribed to the event.
  [[nodiscard]] bool wants(wire::Event event) const {
    return ((events_ >> (static_cast<unsigned>(event) - 1)) & 1U) != 0;
  }
  [[nodiscard]] std::uint32_t events() const { return events_; }

 private:
  explicit BenchRuntime(Fd listener) : listener_(std::move(listener)), buffer_(1U << 18) {}
  Status accept();
  Result<test_support::CallResult> exchange(std::string_view bytes);
  Status send(std::string_view bytes);
  Status receive_some();

  Fd listener_;
  Fd peer_;
  std::uint32_t events_ = 0;
  std::vector<char> buffer_;
  test_support::FakeRuntime bytes_;
};

}  // namespace pinion::bench
