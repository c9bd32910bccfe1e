// OpenSSL's objects from PEM, for this folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace pinion::x509 {

using BioHandle = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Handle = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyHandle = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

inline BioHandle bio_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

inline X509Handle next_certificate(const BioHandle& bio) {
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

inline X509Handle first_certificate(const std::string& pem) {
  return next_certificate(bio_of(pem));
}

// Null for one with a passphrase: OpenSSL would ask for it at the terminal.
inline KeyHandle private_key(const std::string& pem) {
  const auto nobody = [](char*, int, int, void*) { return -1; };
  const BioHandle bio = bio_of(pem);
  return {PEM_read_bio_PrivateKey(bio.get(), nullptr, nobody, nullptr), &EVP_PKEY_free};
}

}  // namespace pinion::x509
