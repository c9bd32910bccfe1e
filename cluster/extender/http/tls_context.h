// The server's certificate, read anew when its files change: certificates are renewed while the
// extender runs.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::cluster {

// Files in PEM.
struct TlsFiles {
  std::string certificate;    // the server's, with its chain; empty: no TLS
  std::string key;            // of it, without a passphrase
  std::string client_ca;      // whose certificates clients may show; empty: none is asked for
  bool clients_only = false;  // there is no connection without such a certificate
  // Of these a client's certificate must have one, as a DNS name or as its common name, without
  // regard to case; empty: any.
  std::vector<std::string> client_names = {};
};

class TlsContext {
 public:
  // Errors, naming the file: not readable, no PEM of its kind, a key of another certificate.
  static Result<std::unique_ptr<TlsContext>> load(TlsFiles files);

  // For the next connection. Looks whether the files have changed; a change that cannot be used
  // leaves what was there before, and says so in last_error().
  [[nodiscard]] std::shared_ptr<SSL_CTX> current();
  [[nodiscard]] bool asks_for_clients() const { return !files_.client_ca.empty(); }
  // When the server's certificate ends, in seconds since 1970.
  [[nodiscard]] std::int64_t end_s() const;
  // Why the files as they are now are not used; empty: they are.
  [[nodiscard]] std::string last_error() const;

 private:
  // What tells one state of the files from another.
  struct Stamp {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::uint64_t inode = 0;

    bool operator==(const Stamp&) const = default;
  };

  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}

  [[nodiscard]] std::vector<Stamp> stamps() const;

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<SSL_CTX> context_;  // these under mutex_
  std::vector<Stamp> seen_;
  std::string last_error_;
};

}  // namespace pinion::cluster
