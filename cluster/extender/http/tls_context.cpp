#include "cluster/extender/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>

#include "base/x509/read.h"

namespace pinion::cluster {
namespace {

using Context = std::shared_ptr<SSL_CTX>;

// What OpenSSL has noted last, and nothing of it later.
std::string openssl_text() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return code == 0 ? "not usable" : text.data();
}

tl::unexpected<Error> unusable(const std::string& what, const std::string& file) {
  return failure(Errc::kInvalid, what + " " + file + ": " + openssl_text());
}

// A passphrase is never asked for: there is nobody to answer.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

// Unless all need one, a client without a certificate may still ask for what probes need; which
// paths those are is not decided here.
Status ask_for_clients(SSL_CTX* context, const TlsFiles& files) {
  const char* ca = files.client_ca.c_str();
  if (SSL_CTX_load_verify_locations(context, ca, nullptr) != 1) {
    return unusable("CA of clients in", files.client_ca);
  }
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(ca));
  SSL_CTX_set_verify(context,
                     SSL_VERIFY_PEER | (files.clients_only ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  // OpenSSL compares a client's names as it does a server's.
  X509_VERIFY_PARAM* param = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT);
  for (const std::string& name : files.client_names) {
    if (X509_VERIFY_PARAM_add1_host(param, name.data(), name.size()) == 1) continue;
    return failure(Errc::kInvalid, "'" + name + "' is no name that a certificate can have");
  }
  return {};
}

Result<Context> read_files(const TlsFiles& files) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context) return failure(Errc::kExhausted, "make a TLS context: " + openssl_text());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(raw, &no_passphrase);
  // Resumption would let a client in whose certificate is not looked at again.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
    return unusable("certificate in", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return unusable("key in", files.key);
  }
  if (!files.client_ca.empty()) {
    if (Status good = ask_for_clients(raw, files); !good) {
      return failure(good.error());
    }
  }
  return context;
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::load(TlsFiles files) {
  std::unique_ptr<TlsContext> result(new TlsContext(std::move(files)));
  result->seen_ = result->stamps();
  auto context = read_files(result->files_);
  if (!context) return failure(std::move(context.error()));
  result->context_ = std::move(*context);
  return result;
}

// A file that is not there has stamp zero.
std::vector<TlsContext::Stamp> TlsContext::stamps() const {
  std::vector<Stamp> result;
  for (const std::string* file : {&files_.certificate, &files_.key, &files_.client_ca}) {
    struct stat state {};
    if (stat(file->c_str(), &state) != 0) state = {};
    result.push_back({.seconds = state.st_mtim.tv_sec,
                      .nanoseconds = state.st_mtim.tv_nsec,
                      .inode = state.st_ino});
  }
  return result;
}

Context TlsContext::current() {
  const std::lock_guard lock(mutex_);
  // Before the files: what changes while they are read is read again.
  std::vector<Stamp> now = stamps();
  if (now == seen_) return context_;
  seen_ = std::move(now);
  auto context = read_files(files_);
  last_error_ = context ? "" : context.error().text;
  if (context) context_ = std::move(*context);
  return context_;
}

std::int64_t TlsContext::end_s() const {
  const std::lock_guard lock(mutex_);
  return x509::validity_of(SSL_CTX_get0_certificate(context_.get())).to_s;
}

std::string TlsContext::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace pinion::cluster
