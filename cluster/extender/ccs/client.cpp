#include "cluster/extender/ccs/client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "cluster/extender/ccs/codec.h"

namespace pinion::cluster::ccs {
namespace {

using std::chrono::milliseconds;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

tl::unexpected<Error> not_reached(const std::string& what, int error) {
  return failure(Errc::kUnavailable, what + ": " + std::generic_category().message(error));
}

Result<Addresses> addresses_of(const Address& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &list) != 0) {
    return failure(Errc::kInvalid, "'" + to.host + "' is no address");
  }
  return Addresses(list);
}

// Until something of `events` can be done.
Status wait_for(int fd, int events, Deadline deadline, const kube::Cancel& cancel) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (cancel.cancelled()) return failure(Errc::kUnavailable, "cancelled");
    if (left <= milliseconds(0)) return failure(Errc::kUnavailable, "no answer in time");
    const auto pause = cancel.descriptor() < 0 ? std::min(left, kube::Cancel::kLook) : left;
    std::array<pollfd, 2> waits{
        pollfd{.fd = fd, .events = static_cast<short>(events), .revents = 0},
        pollfd{.fd = cancel.descriptor(), .events = POLLIN, .revents = 0}};
    const int ready = poll(waits.data(), waits.size(), static_cast<int>(pause.count()));
    if (ready < 0 && errno != EINTR) return not_reached("poll", errno);
    if (ready > 0 && waits[0].revents != 0) return {};
  }
}

Status finish_connect(int fd, Deadline deadline, const kube::Cancel& cancel) {
  if (Status ready = wait_for(fd, POLLOUT, deadline, cancel); !ready) return ready;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? Status() : Status(not_reached("connect", error));
}

}  // namespace

Result<Fd> send(const Address& to, const std::string& request, Deadline deadline,
                const kube::Cancel& cancel) {
  const auto list = addresses_of(to);
  if (!list) return failure(list.error());
  const addrinfo& at = **list;
  Fd fd(socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return not_reached("socket", errno);
  if (connect(fd.get(), at.ai_addr, at.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return not_reached("connect", errno);
    if (Status done = finish_connect(fd.get(), deadline, cancel); !done) {
      return failure(done.error());
    }
  }
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t some =
        ::send(fd.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (some >= 0) {
      sent += static_cast<std::size_t>(some);
    } else if (errno != EAGAIN && errno != EINTR) {
      return not_reached("send", errno);
    } else if (Status ready = wait_for(fd.get(), POLLOUT, deadline, cancel); !ready) {
      return failure(ready.error());
    }
  }
  return fd;
}

Result<std::string> call(const Address& to, const std::string& request, Deadline deadline,
                         const kube::Cancel& cancel) {
  const auto fd = send(to, request, deadline, cancel);
  if (!fd) return failure(fd.error());
  std::string bytes;
  std::array<char, 4096> part{};
  while (true) {
    const auto answer = answer_in(bytes);
    if (!answer) return failure(answer.error());
    if (*answer) return std::string(**answer);
    if (Status ready = wait_for(fd->get(), POLLIN, deadline, cancel); !ready) {
      return failure(ready.error());
    }
    const ssize_t some = recv(fd->get(), part.data(), part.size(), 0);
    if (some == 0) return failure(Errc::kUnavailable, "the answer is cut off");
    if (some > 0) {
      bytes.append(part.data(), static_cast<std::size_t>(some));
    } else if (errno != EAGAIN && errno != EINTR) {
      return not_reached("receive", errno);
    }
  }
}

}  // namespace pinion::cluster::ccs
