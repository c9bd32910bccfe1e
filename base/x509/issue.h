// An authority, and certificates that it signs: version 3 (RFC 5280), keys of the curve P-256, with
// SHA-256.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/x509/read.h"

namespace pinion::x509 {

struct Subject {
  std::string common_name;         // of 1 to 64 bytes
  std::vector<std::string> names;  // DNS names and IP addresses, see sound_name()
};

// Whether it is an IP address, or a DNS name of letters, digits, '-' and '.'.
[[nodiscard]] bool sound_name(const std::string& name);

// One that signs itself, and may sign what signs no others. Errors: kInvalid for a name that a
// certificate cannot have, kExhausted: OpenSSL has no memory or randomness.
Result<Pair> make_authority(const std::string& common_name, const Validity& validity);

// For a server and a client, with a key of its own. Errors: kInvalid for names and for an authority
// that check_pair() refuses, kExhausted as above.
Result<Pair> issue(const Pair& authority, const Subject& subject, const Validity& validity);

// The authority's own certificate signed by another one, so that whoever trusts that one alone also
// trusts what the authority signs: valid as long as the other one at most. Errors: as issue().
Result<std::string> cross_sign(const Pair& other, const Pair& authority);

}  // namespace pinion::x509
