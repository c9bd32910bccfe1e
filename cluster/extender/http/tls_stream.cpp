#include "cluster/extender/http/tls_stream.h"

#include <openssl/err.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "base/x509/read.h"

namespace pinion::cluster {
namespace {

int at_most_int(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

TlsStream::TlsStream(int socket, const net::StreamLimits& limits, std::shared_ptr<SSL_CTX> context)
    : DeadlineStream(socket, limits),
      context_(std::move(context)),
      session_(SSL_new(context_.get()), &SSL_free) {
  // OpenSSL writes with write(2): of a connection that is closed the thread would be told by a
  // signal that ends the program.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  if (!session_) return;
  SSL_set_fd(session_.get(), socket);
  SSL_set_accept_state(session_.get());
}

// Tells the other side that nothing was cut off; does not wait for its answer.
TlsStream::~TlsStream() {
  if (!session_ || !SSL_is_init_finished(session_.get())) return;
  ERR_clear_error();
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

bool TlsStream::client_is_known() const {
  if (!session_) return false;
  return SSL_get0_peer_certificate(session_.get()) != nullptr &&
         SSL_get_verify_result(session_.get()) == X509_V_OK;
}

std::int64_t TlsStream::client_end_s() const {
  return client_is_known() ? x509::validity_of(SSL_get0_peer_certificate(session_.get())).to_s : 0;
}

// The first of them shakes hands.
TlsStream::Try TlsStream::receive(char* to, std::size_t size) {
  if (!session_) return {};
  ERR_clear_error();
  return outcome(SSL_read(session_.get(), to, at_most_int(size)));
}

TlsStream::Try TlsStream::transmit(const char* from, std::size_t size) {
  if (!session_) return {};
  ERR_clear_error();
  return outcome(SSL_write(session_.get(), from, at_most_int(size)));
}

std::string TlsStream::why_refused() const {
  const long verified = SSL_get_verify_result(session_.get());
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH) return "its certificate has another name";
  if (verified != X509_V_OK) {
    return std::string("its certificate: ") + X509_verify_cert_error_string(verified);
  }
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the handshake failed" : reason;
}

TlsStream::Try TlsStream::outcome(int result) {
  if (result > 0) return {.bytes = result};
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {.again_after = POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {.again_after = POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return {.bytes = 0};
    case SSL_ERROR_SSL:
      if (!SSL_is_init_finished(session_.get())) refusal_ = why_refused();
      return {};
    default:
      return {};
  }
}

}  // namespace pinion::cluster
