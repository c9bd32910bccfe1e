// What is in certificates and keys in PEM.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::x509 {

// Seconds since 1970.
struct Validity {
  std::int64_t from_s = 0;
  std::int64_t to_s = 0;

  bool operator==(const Validity&) const = default;
};

struct Certificate {
  std::string subject;  // "/O=example/CN=name", what cannot be printed as \xHH; or "no subject"
  Validity validity;
  std::vector<std::string> names;  // DNS names and IP addresses of subjectAltName, in its order
  bool authority = false;          // it may sign others
};

// A certificate, which others may follow, and its private key.
struct Pair {
  std::string certificate;
  std::string key;
};

// When it begins and ends; zeros: its dates cannot be read.
[[nodiscard]] Validity validity_of(const X509* certificate);

// All certificates of the text, in its order; keys and other parts are passed over. Errors:
// kInvalid where it holds none, or one that cannot be read.
Result<std::vector<Certificate>> read_certificates(const std::string& pem);

// Errors: kInvalid where one of the two is not there, they do not belong together, or the key has a
// passphrase, which nobody is there to type.
Status check_pair(const Pair& pair);

// Whether the first certificate of the text is signed by the first one of `authority`.
[[nodiscard]] bool signed_by(const std::string& pem, const std::string& authority);

}  // namespace pinion::x509
