#include "cluster/extender/kube/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace pinion::kube {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio bio_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

Certificate first_certificate(const std::string& pem) {
  const Bio bio = bio_of(pem);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

// Without this OpenSSL would ask at the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

Key private_key(const std::string& pem) {
  const Bio bio = bio_of(pem);
  return {PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_passphrase, nullptr), &EVP_PKEY_free};
}

Status check_own(const Access& access) {
  const Certificate certificate = first_certificate(access.certificate);
  if (!certificate) {
    return failure(Errc::kInvalid, "the client certificate is no certificate in PEM");
  }
  const Key key = private_key(access.key);
  if (!key) {
    return failure(Errc::kInvalid, "the client key is no private key in PEM without passphrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return failure(Errc::kInvalid, "the client key is not of the client certificate");
  }
  return {};
}

Status check_all(const Access& access) {
  if (!access.ca.empty() && !first_certificate(access.ca)) {
    return failure(Errc::kInvalid, "the certificate authority holds no certificate in PEM");
  }
  if (access.certificate.empty()) return {};
  return check_own(access);
}

}  // namespace

Status check_certificates(const Access& access) {
  const Status checked = check_all(access);
  ERR_clear_error();  // of this thread, where the next to use OpenSSL would take it for its own
  if (!checked) return failure(checked.error().within(access.source));
  return {};
}

}  // namespace pinion::kube
