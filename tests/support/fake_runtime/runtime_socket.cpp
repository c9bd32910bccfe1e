#include "tests/support/fake_runtime/runtime_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace pinion::test_support {

Result<RuntimeSocket> RuntimeSocket::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failure(Errc::kInvalid, "path too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  RuntimeSocket socket;
  socket.listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.listener_.valid()) return sys_failure("socket");
  if (::bind(socket.listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return sys_failure("bind " + path);
  }
  socket.path_ = path;
  if (::listen(socket.listener_.get(), 8) != 0) return sys_failure("listen on " + path);
  return socket;
}

RuntimeSocket::~RuntimeSocket() {
  stop_listening(true);
}

void RuntimeSocket::stop_listening(bool unlink) {
  listener_.reset();
  if (unlink && !path_.empty()) ::unlink(path_.c_str());
  if (unlink) path_.clear();
}

Status RuntimeSocket::wait_readable(int fd) const {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&poll_fd, 1, static_cast<int>(patience_.count()));
  if (ready < 0) return sys_failure("poll");
  if (ready == 0) {
    return failure(Errc::kUnavailable,
                   "nothing came for " + std::to_string(patience_.count()) + " ms");
  }
  return {};
}

Status RuntimeSocket::accept() {
  peer_.reset();
  runtime_ = FakeRuntime();
  if (auto status = wait_readable(listener_.get()); !status) {
    return failure(std::move(status.error()).within("wait for a plugin to connect"));
  }
  peer_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer_.valid()) return sys_failure("accept");
  return {};
}

Status RuntimeSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0) return sys_failure("send to the plugin");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Status RuntimeSocket::receive_some() {
  if (auto status = wait_readable(peer_.get()); !status) return status;
  std::vector<char> buffer(std::size_t{256} << 10);
  const ssize_t got = ::recv(peer_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) return sys_failure("receive from the plugin");
  if (got == 0) return failure(Errc::kUnavailable, "the plugin closed the connection");
  runtime_.receive({buffer.data(), static_cast<std::size_t>(got)});
  if (!runtime_.broken().empty()) return failure(Errc::kInvalid, runtime_.broken());
  return {};
}

Status RuntimeSocket::wait_for_close() {
  while (true) {
    const Status status = receive_some();
    if (status) continue;
    const bool closed = status.error().text.find("closed") != std::string::npos ||
                        status.error().sys_errno == ECONNRESET;
    return closed ? Status() : status;
  }
}

Result<CallResult> RuntimeSocket::call(std::string_view method,
                                       const google::protobuf::MessageLite& request) {
  if (auto status = send(runtime_.call(method, request)); !status) return failure(status.error());
  const auto answered = [this] { return runtime_.result() != nullptr; };
  if (auto status = wait_for(answered); !status) {
    return failure(std::move(status.error()).within("call " + std::string(method)));
  }
  CallResult result = *runtime_.result();
  runtime_.forget_results();
  return result;
}

Result<wire::SynchronizeResponse> RuntimeSocket::handshake(const wire::SynchronizeRequest& request,
                                                           int request_timeout_ms) {
  const auto registered = [this] { return runtime_.registration().has_value(); };
  if (auto status = wait_for(registered); !status) return failure(status.error());
  if (auto status = send(runtime_.register_answer()); !status) return failure(status.error());
  if (auto status = send(runtime_.configure("v2.1.9", request_timeout_ms)); !status)
    return failure(status.error());
  const auto configured = [this] { return runtime_.result() != nullptr; };
  if (auto status = wait_for(configured); !status) return failure(status.error());
  const auto result = call("Synchronize", request);
  if (!result) return failure(result.error());
  wire::SynchronizeResponse response;
  if (result->code != 0 || !response.ParseFromString(result->payload)) {
    return failure(Errc::kInternal, "Synchronize failed: " + result->text);
  }
  return response;
}

}  // namespace pinion::test_support
