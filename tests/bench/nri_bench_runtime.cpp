#include "tests/bench/nri_bench_runtime.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>

namespace pinion::bench {
namespace {

using Clock = std::chrono::steady_clock;
using test_support::CallResult;

constexpr int kPatienceMs = 10'000;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status wait_readable(int fd) {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&poll_fd, 1, kPatienceMs);
  if (ready < 0) return sys_failure("poll");
  if (ready == 0) return failure(Errc::kUnavailable, "the plugin is silent");
  return {};
}

}  // namespace

Result<BenchRuntime> BenchRuntime::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failure(Errc::kInvalid, "path too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return sys_failure("socket");
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener.get(), 8) != 0) {
    return sys_failure("listen on " + path);
  }
  return BenchRuntime(std::move(listener));
}

Status BenchRuntime::accept() {
  peer_.reset();
  bytes_ = test_support::FakeRuntime();
  if (auto ready = wait_readable(listener_.get()); !ready) return ready;
  peer_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer_.valid()) return sys_failure("accept");
  return {};
}

Result<Synchronized> BenchRuntime::take_in(const wire::SynchronizeRequest& request) {
  const auto start = Clock::now();
  if (auto accepted = accept(); !accepted) return failure(accepted.error());
  while (!bytes_.registration()) {
    if (auto status = receive_some(); !status) return failure(status.error().within("register"));
  }
  if (auto sent = send(bytes_.register_answer()); !sent) return failure(sent.error());
  const auto configured = exchange(bytes_.configure());
  wire::ConfigureResponse configuration;
  if (!configured) return failure(configured.error().within("Configure"));
  if (configured->code != 0 || !configuration.ParseFromString(configured->payload)) {
    return failure(Errc::kInvalid, "Configure: " + configured->text);
  }
  events_ = static_cast<std::uint32_t>(configuration.events());
  const auto answered = call("Synchronize", request);
  if (!answered) return failure(answered.error());
  Synchronized done{.response = {}, .call_ms = answered->ms, .total_ms = ms_since(start)};
  if (answered->result.code != 0 || !done.response.ParseFromString(answered->result.payload)) {
    return failure(Errc::kInvalid, "Synchronize: " + answered->result.text);
  }
  return done;
}

Result<Answered> BenchRuntime::call(std::string_view method,
                                    const google::protobuf::MessageLite& request) {
  const std::string bytes = bytes_.call(method, request);
  const auto start = Clock::now();
  auto result = exchange(bytes);
  const double ms = ms_since(start);
  if (!result) return failure(result.error().within("call " + std::string(method)));
  return Answered{.result = std::move(*result), .ms = ms};
}

Result<CallResult> BenchRuntime::exchange(std::string_view bytes) {
  if (auto sent = send(bytes); !sent) return failure(sent.error());
  while (bytes_.result() == nullptr) {
    if (auto status = receive_some(); !status) return failure(status.error());
  }
  CallResult result = *bytes_.result();
  bytes_.forget_results();
  return result;
}

Status BenchRuntime::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0) return sys_failure("send to the plugin");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Status BenchRuntime::receive_some() {
  if (auto ready = wait_readable(peer_.get()); !ready) return ready;
  const ssize_t got = ::recv(peer_.get(), buffer_.data(), buffer_.size(), 0);
  if (got < 0) return sys_failure("receive from the plugin");
  if (got == 0) return failure(Errc::kUnavailable, "the plugin closed the connection");
  bytes_.receive({buffer_.data(), static_cast<std::size_t>(got)});
  if (!bytes_.broken().empty()) return failure(Errc::kInvalid, bytes_.broken());
  return {};
}

}  // namespace pinion::bench
