// A server's answer takes any bytes: they come to an answer or to an error with a text, and no more
// of them than was asked for. The first byte says what was asked. Over a connection on this
// machine, as that is what the client reads from.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "cluster/extender/kube/exchange.h"

namespace {

using namespace std::chrono_literals;
using pinion::Fd;

constexpr std::size_t kMostInput = 60'000;  // fits in the buffers of the connection
constexpr std::size_t kMostBody = 4096;

// Listens on a port of its own.
class Server {
 public:
  Server() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listening_.get(), any, size) != 0 || listen(listening_.get(), 1) != 0 ||
        getsockname(listening_.get(), any, &size) != 0) {
      std::abort();
    }
    access_.endpoint.host = "127.0.0.1";
    access_.endpoint.port = ntohs(address.sin_port);
  }
  [[nodiscard]] const pinion::kube::Access& access() const { return access_; }

  // Says all of it to who has connected, and no more.
  Fd answer(std::string_view bytes) {
    Fd connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    shutdown(connection.get(), SHUT_WR);
    // Closed without a wait of minutes, in which the port would be in use.
    const linger none{.l_onoff = 1, .l_linger = 0};
    setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    return connection;
  }

 private:
  Fd listening_;
  pinion::kube::Access access_;
};

void ask(Server& server, std::string_view bytes, bool with_body) {
  const pinion::kube::Cancel cancel;
  const auto until = std::chrono::steady_clock::now() + 60s;
  auto wire = pinion::kube::Wire::connect(server.access(), nullptr, until, cancel);
  if (!wire) std::abort();
  const Fd connection = server.answer(bytes);
  (*wire)->begin(until, cancel, kMostInput);
  pinion::kube::HttpRequest request{.method = with_body ? "POST" : "GET",
                                    .target = "/api/v1/pods",
                                    .content_type = {},
                                    .body = {}};
  if (with_body) {
    request.content_type = "application/json";
    request.body = "{}";
  }
  std::size_t taken = 0;
  bool full = false;
  const auto exchanged = pinion::kube::exchange(
      **wire, server.access(), request, "token", [](int) {},
      [&](std::string_view part) {
        if (full) std::abort();  // it was told to end
        taken += part.size();
        full = taken > kMostBody;
        return !full;
      });
  if (!exchanged && exchanged.error().text.empty()) std::abort();
  if (exchanged && full) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMostInput || data[0] > 1) return 0;
  static Server server;
  ask(server, {reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] == 1);
  return 0;
}
