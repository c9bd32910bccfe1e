// OpenSSL's way to a socket, without the signal: its own writes with write(2), which ends a process
// that does not ignore SIGPIPE when the other side has closed.
#pragma once

#include <openssl/bio.h>

namespace pinion::kube {

// For SSL_set_bio(), once for both directions. The socket, which does not block, stays the
// caller's. Null when memory is short.
BIO* quiet_socket_bio(int socket);

}  // namespace pinion::kube
