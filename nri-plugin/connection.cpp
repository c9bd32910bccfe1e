#include "nri-plugin/connection.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace pinion::nri {
namespace {

constexpr std::size_t kInputBuffer = std::size_t{64} << 10;
constexpr int kReadsPerTurn = 16;  // so that the main loop gets its turn in a long Synchronize

Result<Fd> open_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return failure(Errc::kInvalid, "connect to NRI socket '" + path +
                                       "': the path must have 1 to " +
                                       std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return sys_failure("open a unix socket");
  // A unix socket connects at once or not at all: EAGAIN means a full backlog.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return sys_failure("connect to NRI socket " + path);
  }
  return fd;
}

Status prepare_inherited(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return sys_failure("use the NRI socket inherited as descriptor " + std::to_string(fd));
  }
  return {};
}

// A Synchronize takes megabytes for a moment; without this they would stay with the process.
void give_memory_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

Connection::Connection(ConnectionOptions options, Handler& handler)
    : options_(std::move(options)), handler_(handler), input_(kInputBuffer) {}

Connection::Connection(ConnectionOptions options, Handler& handler, Fd socket)
    : options_(std::move(options)),
      handler_(handler),
      launched_(std::move(socket)),
      reconnects_(false),
      input_(kInputBuffer) {}

Connection::~Connection() = default;

bool Connection::wants_write() const {
  return pending_output() > 0;
}

std::size_t Connection::pending_output() const {
  return session_ ? session_->output().size() : 0;
}

std::optional<Phase> Connection::phase() const {
  if (!session_) return std::nullopt;
  return session_->phase();
}

std::optional<TimePoint> Connection::deadline() const {
  if (finished_) return std::nullopt;
  return session_ && !resync_ ? session_->deadline() : connect_at_;
}

void Connection::connect(TimePoint now) {
  if (!reconnects_) {
    if (auto status = prepare_inherited(launched_.get()); !status) {
      finished_ = true;
      handler_.runtime_disconnected(status.error(), false);
      return;
    }
    begin_session(std::move(launched_), now);
    return;
  }
  auto socket = open_socket(options_.socket);
  if (socket && options_.before_session) {
    if (auto allowed = options_.before_session(); !allowed) socket = failure(allowed.error());
  }
  if (!socket) {
    ++counters_.connect_failures;
    connect_at_ = now + backoff_.connect_failed();
    handler_.runtime_disconnected(socket.error(), true);
    return;
  }
  begin_session(*std::move(socket), now);
}

void Connection::begin_session(Fd socket, TimePoint now) {
  ++counters_.connects;
  socket_ = std::move(socket);
  synchronized_at_.reset();
  session_ = std::make_unique<Session>(options_.session, handler_, counters_);
  session_->start(now);
  flush(now);
}

void Connection::end_session(TimePoint now, const Error& why) {
  const auto lived = synchronized_at_ ? now - *synchronized_at_ : TimePoint::duration(0);
  ++counters_.sessions_failed;
  finished_ = !reconnects_;
  connect_at_ = now + backoff_.session_failed(
                          std::chrono::duration_cast<ReconnectBackoff::Milliseconds>(lived));
  close_session(why);
}

void Connection::close_session(const Error& why) {
  session_.reset();
  socket_.reset();
  resync_.reset();
  handler_.runtime_disconnected(why, !finished_);
}

void Connection::note_progress(TimePoint now) {
  if (runtime_ != session_->runtime() && session_->runtime()) runtime_ = session_->runtime();
  if (!synchronized_at_ && session_->phase() == Phase::kSynchronized) synchronized_at_ = now;
}

void Connection::on_readable(TimePoint now) {
  for (int reads = 0; session_ && reads < kReadsPerTurn; ++reads) {
    const ssize_t got = ::recv(socket_.get(), input_.data(), input_.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return end_session(now, sys_failure("read from the NRI socket").value());
    if (got == 0) {
      return end_session(now, Error{.code = Errc::kUnavailable,
                                    .sys_errno = 0,
                                    .text = "the runtime closed the NRI connection"});
    }
    const auto size = static_cast<std::size_t>(got);
    const std::uint64_t synchronizes = counters_.calls_of(Method::kSynchronize);
    const Status status = session_->receive(ByteSpan(input_).first(size), now);
    if (!status) return end_session(now, status.error());
    note_progress(now);
    flush(now);
    if (counters_.calls_of(Method::kSynchronize) != synchronizes) give_memory_back();
    if (size < input_.size()) return;
  }
}

void Connection::on_writable(TimePoint now) {
  flush(now);
}

void Connection::flush(TimePoint now) {
  while (session_ && !session_->output().empty()) {
    const std::string_view output = session_->output();
    const ssize_t put = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (put < 0) return end_session(now, sys_failure("write to the NRI socket").value());
    session_->consume_output(static_cast<std::size_t>(put));
  }
}

void Connection::tick(TimePoint now) {
  if (finished_) return;
  if (session_ && resync_) {
    ++counters_.resyncs;
    connect_at_ = now;
    close_session(Error{.code = Errc::kUnavailable,
                        .sys_errno = 0,
                        .text = "closed to synchronize anew: " + *resync_});
  }
  if (!session_) {
    if (now >= connect_at_) connect(now);
    return;
  }
  if (const Status status = session_->tick(now); !status) end_session(now, status.error());
}

bool Connection::resync(TimePoint now, std::string why) {
  if (!reconnects_) return false;
  if (!session_) return true;  // it will synchronize anyway
  resync_ = std::move(why);
  connect_at_ = now;
  return true;
}

}  // namespace pinion::nri
