// What all connections to one API server share of TLS: whom we trust and who we are.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "base/error.h"
#include "cluster/extender/kube/access.h"

namespace pinion::kube {

struct SslContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, SslContextFree>;

// TLS 1.2 or newer. Errors: kInvalid for certificates and keys that are no PEM, do not belong
// together or are protected by a passphrase, naming the access' source.
Result<TlsContext> make_tls_context(const Access& access);

// What OpenSSL says of the error that this thread has just met; empty when it says nothing.
std::string take_tls_error();

}  // namespace pinion::kube
