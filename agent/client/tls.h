// Certificates of the interface.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::agent::api {

// Files in PEM.
struct TlsFiles {
  std::string certificate;  // one's own, with the chain to the CA
  std::string key;          // of it, without a passphrase
  std::string ca;           // who the other side's certificate must be signed by

  [[nodiscard]] bool empty() const { return certificate.empty() && key.empty() && ca.empty(); }
};

// What the files hold.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string ca;
};

// Reads and checks them. Errors, naming the file: kNotFound, kDenied, kInvalid for one that is not
// given, no PEM of its kind, a certificate that has expired, or a key of another certificate.
Result<TlsTexts> read_tls(const TlsFiles& files);

}  // namespace pinion::agent::api
