#include "cluster/extender/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <utility>

#include "cluster/extender/http/connection.h"
#include "cluster/extender/http/tls_stream.h"

namespace pinion::cluster {
namespace {

// Threads beyond the limit of connections: they say that there are too many, and answer probes.
constexpr std::size_t kTurningAway = 16;
// Refused handshakes are all counted and not all told: anybody can make them.
constexpr std::chrono::seconds kBetweenRefusals{1};

bool peer_address(const Fd& socket, sockaddr_storage& address) {
  socklen_t length = sizeof address;
  return getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0;
}

Status check(const ServerOptions& options) {
  const std::string& prefix = options.prefix;
  if (!prefix.empty() && (prefix.front() != '/' || prefix.back() == '/')) {
    return failure(Errc::kInvalid,
                   "prefix '" + prefix + "': begins with a slash and does not end with one");
  }
  if (options.limits.connections <= options.limits.kept_from_binds) {
    return failure(Errc::kInvalid, "limit of " + std::to_string(options.limits.connections) +
                                       " connections: none is left for bind, as " +
                                       std::to_string(options.limits.kept_from_binds) +
                                       " are kept for other calls");
  }
  return {};
}

Result<std::unique_ptr<TlsContext>> tls_of(const TlsFiles& files) {
  if (files.certificate.empty()) {
    if (files.key.empty() && files.client_ca.empty()) return std::unique_ptr<TlsContext>();
    return failure(Errc::kInvalid, "a key or a CA of clients is given, and no certificate");
  }
  if (files.clients_only && files.client_ca.empty()) {
    return failure(Errc::kInvalid, "only clients may connect, and no CA of them is given");
  }
  return TlsContext::load(files);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Served served) {
  if (Status good = check(options); !good) return failure(std::move(good.error()));
  auto tls = tls_of(options.tls);
  if (!tls) return failure(std::move(tls.error()));
  auto listener = net::listen_on(options.listen);
  if (!listener) return failure(std::move(listener.error()));
  std::unique_ptr<Server> server(
      new Server(std::move(options), std::move(*tls), std::move(served)));
  auto acceptor = net::Acceptor::start(
      std::move(*listener), [to = server.get()](Fd socket) { to->take(std::move(socket)); });
  if (!acceptor) return failure(std::move(acceptor.error()));
  server->acceptor_ = std::move(*acceptor);
  return server;
}

Server::Server(ServerOptions options, std::unique_ptr<TlsContext> tls, Served served)
    : context_(std::move(served), options.limits, std::move(options.prefix)),
      tls_(std::move(tls)),
      peers_({.most = options.limits.connections,
              .most_of_peer = options.limits.connections,
              .most_proved = options.limits.connections}),
      threads_(2 * options.limits.connections + kTurningAway, options.limits.stack_bytes) {}

Server::~Server() {
  context_.stopping = true;
  acceptor_.reset();
  if (context_.served.scheduler != nullptr) context_.served.scheduler->stopping();
  cut(/*busy_ones_too=*/false);
  if (!threads_.wait_idle(context_.limits.stop)) cut(/*busy_ones_too=*/true);
}

// On the acceptor's thread.
void Server::take(Fd socket) {
  // Answers are written in two parts, headers and body; the second one would wait for the
  // acknowledgement of the first.
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_storage address{};
  if (!peer_address(socket, address)) return;
  OpenList::iterator open;
  {
    const std::lock_guard lock(mutex_);
    open = open_.emplace(open_.end());
    open->socket = std::move(socket);
    end(peers_.add(open->socket.get(), net::peer_of(address)));
  }
  if (!threads_.run([this, open] { serve(open); })) forget(open);
}

void Server::serve(OpenList::iterator open) {
  talk(*open);
  net::close_gently(open->socket.get());
  forget(open);
}

void Server::forget(OpenList::iterator open) {
  const std::lock_guard lock(mutex_);
  peers_.remove(open->socket.get());
  open_.erase(open);
}

// With the lock, for another one. Its thread ends then.
void Server::end(std::optional<int> out) {
  if (!out) return;
  ++turned_away_;
  shutdown(*out, SHUT_RDWR);
}

// It has sent a request and, where there is no connection without one, shown a certificate;
// `known`: it has shown one in any case.
bool Server::let_in(const Open& open, bool known) {
  const int key = open.socket.get();
  const std::lock_guard lock(mutex_);
  const auto out = peers_.prove(key, known);
  if (out == key) {
    ++turned_away_;  // it is told so
    return false;
  }
  end(out);
  peers_.waits(key);
  return true;
}

void Server::talk(Open& open) {
  const net::StreamLimits limits{
      .head = context_.limits.headers, .write = context_.limits.answer, .head_bytes = 32768};
  const int key = open.socket.get();
  Connection::Manner manner{.admitted = [&] { return let_in(open, false); },
                            .trusted = {},
                            .waits =
                                [&] {
                                  const std::lock_guard lock(mutex_);
                                  peers_.waits(key);
                                },
                            .works =
                                [&] {
                                  const std::lock_guard lock(mutex_);
                                  return peers_.works(key);
                                }};
  if (!tls_) {
    net::DeadlineStream stream(open.socket.get(), limits);
    Connection(stream, context_, open.busy, std::move(manner)).serve();
    return;
  }
  TlsStream stream(open.socket.get(), limits, tls_->current());
  if (tls_->asks_for_clients()) {
    manner.trusted = [&] { return stream.client_is_known(); };
    manner.admitted = [&] {
      if (const std::int64_t end_s = stream.client_end_s(); end_s != 0) client_end_s_ = end_s;
      return let_in(open, stream.client_is_known());
    };
  }
  Connection(stream, context_, open.busy, std::move(manner)).serve();
  if (!stream.refusal().empty()) refused(open.socket, stream.refusal());
}

// The other side learns no more than an alert of TLS.
void Server::refused(const Fd& socket, const std::string& why) {
  ++handshakes_refused_;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < tell_refused_) return;
    tell_refused_ = now + kBetweenRefusals;
  }
  if (!context_.served.refused) return;
  sockaddr_storage address{};
  const std::string peer = peer_address(socket, address) ? net::peer_of(address) : "a peer";
  context_.served.refused("TLS with " + peer + ": " + why);
}

// Whoever waits for one of these wakes up; an answer that is being made can still be written,
// unless it is cut, too.
void Server::cut(bool busy_ones_too) {
  const std::lock_guard lock(mutex_);
  for (const Open& open : open_) {
    shutdown(open.socket.get(), open.busy && !busy_ones_too ? SHUT_RD : SHUT_RDWR);
  }
}

ServerFigures Server::figures() const {
  ServerFigures result;
  result.verbs = context_.figures();
  result.turned_away = turned_away_;
  result.handshakes_refused = handshakes_refused_;
  result.client_end_s = client_end_s_;
  if (tls_) {
    result.own_end_s = tls_->end_s();
    result.tls_error = tls_->last_error();
  }
  const std::lock_guard lock(mutex_);
  result.connections = open_.size();
  return result;
}

}  // namespace pinion::cluster
