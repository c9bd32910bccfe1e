#include "tests/unit/extender_ccs/charm_program.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pinion::test_support {
namespace {

constexpr std::size_t kHead = 40;

std::string number(std::uint32_t value) {
  const std::uint32_t there = htonl(value);
  std::string bytes(sizeof there, '\0');
  std::memcpy(bytes.data(), &there, sizeof there);
  return bytes;
}

bool receive(int fd, char* into, std::size_t size) {
  return recv(fd, into, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

void answer(int fd, const std::string& bytes) {
  (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace

CharmProgram::CharmProgram(int pes, const CharmManners& manners)
    : manners_(manners),
      pes_(pes),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (bind(listener_.get(), address, size) != 0 || listen(listener_.get(), 16) != 0 ||
      getsockname(listener_.get(), address, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(at.sin_port);
  thread_ = std::thread([this] { run(); });
}

CharmProgram::~CharmProgram() {
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  thread_.join();
}

std::vector<std::string> CharmProgram::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void CharmProgram::run() {
  while (true) {
    std::array<pollfd, 2> waits{pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    if (poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    Fd connection(accept(listener_.get(), nullptr, nullptr));
    if (!connection.valid()) continue;
    if (restart_ > 0) {
      --restart_;  // the listener of a program that ends is gone; this is as near as one port comes
      continue;
    }
    if (rest_of_life_ == 0) continue;
    if (rest_of_life_ > 0) --rest_of_life_;
    if (!manners_.answers || !may_answer_) {
      silent_.push_back(std::move(connection));
      continue;
    }
    serve(std::move(connection));
  }
}

void CharmProgram::act() {
  if (asker_.valid()) {
    char none = 0;
    found_asker_ = recv(asker_.get(), &none, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
    answer(asker_.get(), number(0));
    asker_.reset();
  }
  pes_ = manners_.ends_with > 0 ? manners_.ends_with : wanted_;
  wanted_ = 0;
  restart_ = manners_.looks_while_restart;
  if (manners_.looks_until_it_dies > 0) rest_of_life_ = manners_.looks_until_it_dies;
}

void CharmProgram::serve(Fd from) {
  const int connection = from.get();
  std::array<char, kHead> head{};
  if (!receive(connection, head.data(), head.size())) return;
  std::uint32_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  std::string data(ntohl(size), '\0');
  if (!data.empty() && !receive(connection, data.data(), data.size())) return;
  if (manners_.garbage != nullptr) return answer(connection, manners_.garbage);
  if (std::string(head.data() + 8) == "set_bitmap") {
    const std::lock_guard lock(mutex_);
    asked_.push_back(data);
    std::int32_t wanted = 0;
    if (data.size() > sizeof wanted) {
      std::memcpy(&wanted, data.data() + data.size() - sizeof wanted - 1, sizeof wanted);
    }
    if (manners_.acts) wanted_ = wanted;
    looks_ = 0;
    if (manners_.answers_at_step) {
      asker_ = std::move(from);
      return;
    }
    return answer(connection, number(0));
  }
  if (wanted_ > 0 && may_act_ && looks_++ >= manners_.looks_before_step) {
    return act();
  }
  std::string info = number(static_cast<std::uint32_t>(pes_));
  for (int i = 0; i < pes_; ++i) info += number(1);
  answer(connection, number(static_cast<std::uint32_t>(info.size())) + info);
  ++answered_;
}

}  // namespace pinion::test_support
