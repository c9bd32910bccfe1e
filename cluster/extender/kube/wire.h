// One connection to the API server, as cpp-httplib reads and writes it. Everything on it ends at
// one deadline or by one Cancel; httplib's own time-outs begin anew with every byte.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "cluster/extender/kube/access.h"
#include "cluster/extender/kube/cancel.h"

namespace pinion::kube {

class Wire : public httplib::Stream {
 public:
  // Connects and, with a context, speaks TLS and checks the server's certificate. Names are looked
  // up by getaddrinfo(3), which nothing can interrupt; an address in numbers takes no time.
  // Errors: kUnavailable, saying which step failed; kDenied for a certificate that is not accepted.
  static Result<std::unique_ptr<Wire>> connect(const Access& access, SSL_CTX* tls, TimePoint until,
                                               const Cancel& cancel);

  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() override;

  // For the request that follows: when it ends, what ends it before, and how much may arrive.
  void begin(TimePoint until, const Cancel& cancel, std::size_t most_bytes);
  // From now on another deadline.
  void extend(TimePoint until) { until_ = until; }
  // Since begin().
  [[nodiscard]] std::size_t received() const { return received_; }
  // Why read() or write() failed.
  [[nodiscard]] const Error& trouble() const { return trouble_; }
  // Nothing has arrived since the last answer was read, and the server has not closed it.
  [[nodiscard]] bool reusable() const;

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override { return true; }
  // Bytes read; 0 at the end; -1 for trouble().
  ssize_t read(char* to, std::size_t size) override;
  // All of it, or -1.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_.get(); }

 private:
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  // What one attempt to move bytes, or to shake hands, came to.
  struct Moved {
    enum class What { kDone, kEnd, kWantsToRead, kWantsToWrite, kFailed } what;
    std::size_t bytes = 0;
  };

  Wire(Fd socket, TimePoint until, const Cancel& cancel);

  Status speak_tls(const Access& access, SSL_CTX* tls);
  [[nodiscard]] Error tls_refusal() const;
  Moved receive(char* to, std::size_t size);
  Moved send(const char* from, std::size_t size);
  Moved tls_outcome(int result);
  Moved plain_outcome(ssize_t result);
  template <class Attempt>
  Moved insist(const char* doing, const Attempt& attempt);

  Fd socket_;
  std::unique_ptr<SSL, SslFree> ssl_;
  TimePoint until_;
  const Cancel* cancel_;
  Error trouble_;
  std::array<char, 16384> buffer_{};  // httplib reads heads byte by byte
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t received_ = 0;
  std::size_t most_ = 0;
  bool ended_ = false;
};

}  // namespace pinion::kube
