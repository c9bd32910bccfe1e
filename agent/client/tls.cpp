#include "agent/client/tls.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "base/whole_file.h"

namespace pinion::agent::api {
namespace {

constexpr std::size_t kMaxBytes = 1U << 20U;  // of one file

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Result<std::string> read(const std::string& path, const char* what) {
  if (path.empty()) {
    return failure(Errc::kInvalid, std::string("no file is given for the ") + what);
  }
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("read " + path);
  auto text = read_whole(file, path, kMaxBytes);
  if (!text) return failure(std::move(text.error()));
  if (!*text) return failure(Errc::kInvalid, path + " is too large");
  return **std::move(text);
}

Bio bio_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// The first certificate of the text.
Certificate certificate_of(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

// A passphrase is never asked for: there is nobody to answer.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

Key key_of(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_passphrase, nullptr), &EVP_PKEY_free};
}

Status check_certificate(const std::string& path, const Certificate& certificate) {
  if (!certificate) return failure(Errc::kInvalid, path + " holds no certificate in PEM");
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return failure(Errc::kInvalid, "the certificate in " + path + " has expired");
  }
  return {};
}

Status check(const TlsFiles& files, const TlsTexts& texts) {
  const Certificate certificate = certificate_of(texts.certificate);
  if (Status sound = check_certificate(files.certificate, certificate); !sound) return sound;
  const Key key = key_of(texts.key);
  if (!key) {
    return failure(Errc::kInvalid, files.key + " holds no private key in PEM without passphrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return failure(Errc::kInvalid, "the key in " + files.key + " is not of the certificate in " +
                                       files.certificate);
  }
  return check_certificate(files.ca, certificate_of(texts.ca));
}

}  // namespace

Result<TlsTexts> read_tls(const TlsFiles& files) {
  auto certificate = read(files.certificate, "certificate");
  if (!certificate) return failure(certificate.error());
  auto key = read(files.key, "certificate's key");
  if (!key) return failure(key.error());
  auto ca = read(files.ca, "other side's CA");
  if (!ca) return failure(ca.error());
  TlsTexts texts{
      .certificate = *std::move(certificate), .key = *std::move(key), .ca = *std::move(ca)};
  const Status sound = check(files, texts);
  ERR_clear_error();
  if (!sound) return failure(sound.error());
  return texts;
}

}  // namespace pinion::agent::api
