// A connection with TLS; deadlines are those of the stream below it, the handshake's included. The
// thread that makes it has SIGPIPE blocked from then on.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/net/deadline_stream.h"

namespace pinion::cluster {

class TlsStream : public net::DeadlineStream {
 public:
  // `socket` does not block, and stays the caller's.
  TlsStream(int socket, const net::StreamLimits& limits, std::shared_ptr<SSL_CTX> context);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Whether the client has shown a certificate, which the handshake has then checked.
  [[nodiscard]] bool client_is_known() const;
  // When that certificate ends, in seconds since 1970; 0: there is none.
  [[nodiscard]] std::int64_t client_end_s() const;
  // Why the handshake failed, of what the client sent; empty: it has not, or the client went away.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 protected:
  Try receive(char* to, std::size_t size) override;
  Try transmit(const char* from, std::size_t size) override;

 private:
  [[nodiscard]] Try outcome(int result);
  [[nodiscard]] std::string why_refused() const;

  std::shared_ptr<SSL_CTX> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> session_;
  std::string refusal_;
};

}  // namespace pinion::cluster
