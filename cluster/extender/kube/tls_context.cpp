#include "cluster/extender/kube/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>

namespace pinion::kube {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio bio_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

Certificate next_certificate(BIO* bio) {
  return {PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), &X509_free};
}

// A passphrase is never asked for: there is nobody to answer.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

Status trust(SSL_CTX* context, const std::string& ca) {
  if (ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  const Bio bio = bio_of(ca);
  int found = 0;
  while (const Certificate certificate = next_certificate(bio.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
    ++found;
  }
  if (found > 0) return {};
  return failure(Errc::kInvalid, "the certificate authority holds no certificate in PEM");
}

Status present_chain(SSL_CTX* context, const std::string& chain) {
  const Bio bio = bio_of(chain);
  const Certificate own = next_certificate(bio.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return failure(Errc::kInvalid, "the client certificate is no certificate in PEM");
  }
  while (const Certificate above = next_certificate(bio.get())) {
    SSL_CTX_add1_chain_cert(context, above.get());
  }
  return {};
}

Status present(SSL_CTX* context, const Access& access) {
  if (access.certificate.empty()) return {};
  if (Status chain = present_chain(context, access.certificate); !chain) return chain;
  const Bio bio = bio_of(access.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_passphrase, nullptr),
                &EVP_PKEY_free);
  if (!key) {
    return failure(Errc::kInvalid, "the client key is no private key in PEM without passphrase");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return failure(Errc::kInvalid, "the client key is not of the client certificate");
  }
  return {};
}

}  // namespace

std::string take_tls_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return {};
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

Result<TlsContext> make_tls_context(const Access& access) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return failure(Errc::kExhausted, "make a TLS context: " + take_tls_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), access.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  Status done = trust(context.get(), access.ca);
  if (done) done = present(context.get(), access);
  ERR_clear_error();  // the end of a PEM text is one
  if (!done) return failure(done.error().within(access.source));
  return context;
}

}  // namespace pinion::kube
