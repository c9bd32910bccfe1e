#include "cluster/extender/kube/wire.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>

#include "cluster/extender/kube/dial.h"
#include "cluster/extender/kube/quiet_bio.h"
#include "cluster/extender/kube/tls_context.h"

namespace pinion::kube {
namespace {

bool is_address(const std::string& host) {
  in6_addr v6{};
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 || inet_pton(AF_INET6, host.c_str(), &v6) == 1;
}

// The name that the certificate must have; an address is compared with its addresses.
bool expect_name(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1;
  return X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size()) == 1 &&
         // What the macro SSL_set_tlsext_host_name does, without its cast.
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                  const_cast<char*>(name.c_str())) == 1;
}

}  // namespace

Wire::Wire(Fd socket, TimePoint until, const Cancel& cancel)
    : socket_(std::move(socket)), until_(until), cancel_(&cancel) {}

Wire::~Wire() {
  // A word of good-bye, if it can be said at once; the error queue is this thread's, not the
  // connection's.
  if (ssl_ && !ended_ && trouble_.text.empty()) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

Result<std::unique_ptr<Wire>> Wire::connect(const Access& access, SSL_CTX* tls, TimePoint until,
                                            const Cancel& cancel) {
  auto socket = dial(access.endpoint, until, cancel);
  if (!socket) return failure(std::move(socket.error()));
  auto wire = std::unique_ptr<Wire>(new Wire(*std::move(socket), until, cancel));
  if (tls != nullptr) {
    if (Status done = wire->speak_tls(access, tls); !done) {
      return failure(done.error().within(access.endpoint.authority()));
    }
  }
  return wire;
}

Status Wire::speak_tls(const Access& access, SSL_CTX* tls) {
  ssl_.reset(SSL_new(tls));
  const std::string& name = access.server_name.empty() ? access.endpoint.host : access.server_name;
  BIO* bio = quiet_socket_bio(socket_.get());
  if (!ssl_ || bio == nullptr || !expect_name(ssl_.get(), name)) {
    BIO_free(bio);
    return failure(Errc::kInternal, "set up TLS: " + take_tls_error());
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  const Moved moved =
      insist("shake hands", [this] { return tls_outcome(SSL_connect(ssl_.get())); });
  if (moved.what == Moved::What::kDone) return {};
  return failure(tls_refusal());
}

Error Wire::tls_refusal() const {
  const long verdict = SSL_get_verify_result(ssl_.get());
  const bool looked = SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE;
  if (!looked || verdict == X509_V_OK) return trouble_.within("TLS");
  return {.code = Errc::kDenied,
          .sys_errno = 0,
          .text = std::string("the server's certificate is not accepted: ") +
                  X509_verify_cert_error_string(verdict)};
}

void Wire::begin(TimePoint until, const Cancel& cancel, std::size_t most_bytes) {
  most_ = most_bytes;
  until_ = until;
  cancel_ = &cancel;
  received_ = 0;
  trouble_ = {};
}

bool Wire::reusable() const {
  if (ended_ || at_ != end_ || !trouble_.text.empty()) return false;
  pollfd fd{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return poll(&fd, 1, 0) == 0;
}

Wire::Moved Wire::plain_outcome(ssize_t result) {
  if (result > 0) return {Moved::What::kDone, static_cast<std::size_t>(result)};
  if (result == 0) return {Moved::What::kEnd};
  trouble_ = {.code = Errc::kUnavailable,
              .sys_errno = errno,
              .text = std::string("connection: ") + std::strerror(errno)};
  return {Moved::What::kFailed};
}

Wire::Moved Wire::tls_outcome(int result) {
  if (result > 0) return {Moved::What::kDone, static_cast<std::size_t>(result)};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {Moved::What::kWantsToRead};
    case SSL_ERROR_WANT_WRITE:
      return {Moved::What::kWantsToWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {Moved::What::kEnd};
    default:
      break;
  }
  const std::string why = take_tls_error();
  trouble_ = {.code = Errc::kUnavailable,
              .sys_errno = 0,
              .text = why.empty() ? "the server closed the connection" : why};
  return {Moved::What::kFailed};
}

Wire::Moved Wire::receive(char* to, std::size_t size) {
  if (ssl_) {
    ERR_clear_error();
    return tls_outcome(SSL_read(ssl_.get(), to, static_cast<int>(size)));
  }
  const ssize_t n = recv(socket_.get(), to, size, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {Moved::What::kWantsToRead};
  return plain_outcome(n);
}

Wire::Moved Wire::send(const char* from, std::size_t size) {
  if (ssl_) {
    ERR_clear_error();
    const std::size_t part = std::min(size, buffer_.size());
    return tls_outcome(SSL_write(ssl_.get(), from, static_cast<int>(part)));
  }
  const ssize_t n = ::send(socket_.get(), from, size, MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {Moved::What::kWantsToWrite};
  return plain_outcome(n);
}

// Again and again until it has moved something. The deadline counts for bytes that are there
// already, too: else a server that always has one more would be read for ever.
template <class Attempt>
Wire::Moved Wire::insist(const char* doing, const Attempt& attempt) {
  while (!cancel_->cancelled() && std::chrono::steady_clock::now() < until_) {
    const Moved moved = attempt();
    short events = POLLIN;
    if (moved.what == Moved::What::kWantsToWrite) {
      events = POLLOUT;
    } else if (moved.what != Moved::What::kWantsToRead) {
      return moved;
    }
    if (cancel_->wait(socket_.get(), events, until_) != Cancel::Woken::kReady) break;
  }
  const char* why = cancel_->cancelled() ? ": cancelled" : ": took too long";
  trouble_ = {.code = Errc::kUnavailable, .sys_errno = 0, .text = doing + std::string(why)};
  return {Moved::What::kFailed};
}

ssize_t Wire::read(char* to, std::size_t size) {
  if (at_ == end_) {
    const Moved moved =
        insist("read the answer", [this] { return receive(buffer_.data(), buffer_.size()); });
    if (moved.what == Moved::What::kFailed) return -1;
    ended_ = moved.what == Moved::What::kEnd;
    at_ = 0;
    end_ = moved.bytes;
    received_ += end_;
    if (received_ > most_) {
      trouble_ = {.code = Errc::kExhausted, .sys_errno = 0, .text = "the answer is too large"};
      return -1;
    }
  }
  const std::size_t n = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, n, to);
  at_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t Wire::write(const char* from, std::size_t size) {
  std::size_t sent = 0;
  while (sent < size) {
    const Moved moved = insist("send the request", [&] { return send(from + sent, size - sent); });
    if (moved.what != Moved::What::kDone) return -1;
    sent += moved.bytes;
  }
  return static_cast<ssize_t>(size);
}

// Nothing here depends on who answers.
void Wire::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Wire::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace pinion::kube
