// FakeRuntime on a unix socket, blocking: what tests of the agent and the benchmark drive it with.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::test_support {

class RuntimeSocket {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Listens on `path`, which must not exist; the file is removed with the object.
  static Result<RuntimeSocket> listen(const std::string& path);
  // Uses a connected socket: one end of a socketpair.
  explicit RuntimeSocket(Fd connected) : peer_(std::move(connected)) {}
  RuntimeSocket(RuntimeSocket&&) = default;
  RuntimeSocket& operator=(RuntimeSocket&&) = default;
  ~RuntimeSocket();

  // Every wait below ends with kUnavailable after `patience`.
  void set_patience(Milliseconds patience) { patience_ = patience; }

  // Waits for a plugin to connect, and forgets the one before.
  Status accept();
  // RegisterPlugin, Configure, Synchronize; the answer to Synchronize comes back.
  Result<wire::SynchronizeResponse> handshake(const wire::SynchronizeRequest& request = {},
                                              int request_timeout_ms = 2000);
  // Sends a call and waits for its answer. An error status is a CallResult, not an Error.
  Result<CallResult> call(std::string_view method, const google::protobuf::MessageLite& request);

  Status send(std::string_view bytes);
  // Waits until `done` of the bytes received so far; false results in an error.
  template <class Done>
  Status wait_for(Done done) {
    while (!done()) {
      if (auto status = receive_some(); !status) return status;
    }
    return {};
  }
  // Waits for the plugin to close the connection.
  Status wait_for_close();

  void close_peer() { peer_.reset(); }
  // No plugin can connect any more; the file stays, as after a crash, unless `unlink`.
  void stop_listening(bool unlink);
  FakeRuntime& runtime() { return runtime_; }

 private:
  RuntimeSocket() = default;
  Status receive_some();
  Status wait_readable(int fd) const;

  std::string path_;
  Fd listener_;
  Fd peer_;
  Milliseconds patience_{5000};
  FakeRuntime runtime_;
};

}  // namespace pinion::test_support
