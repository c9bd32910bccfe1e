#include "base/x509/read.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/x509/pem.h"

namespace pinion::x509 {
namespace {

// Of this thread, where the next to use OpenSSL would take them for its own.
struct ErrorsForgotten {
  ErrorsForgotten() = default;
  ErrorsForgotten(const ErrorsForgotten&) = delete;
  ErrorsForgotten& operator=(const ErrorsForgotten&) = delete;
  ~ErrorsForgotten() { ERR_clear_error(); }
};

std::optional<std::int64_t> seconds_of(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return timegm(&parts);
}

std::string subject_of(const X509* certificate) {
  std::array<char, 256> text{};
  const char* made =
      X509_NAME_oneline(X509_get_subject_name(certificate), text.data(), text.size());
  return made == nullptr || *made == '\0' ? "no subject" : made;
}

std::string_view bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_of(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool six = bytes.size() == 16;
  if (!six && bytes.size() != 4) return "";
  return inet_ntop(six ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
}

std::vector<std::string> names_of(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(all.get(), i);
    if (one->type == GEN_DNS) names.emplace_back(bytes_of(one->d.dNSName));
    if (one->type == GEN_IPADD) names.push_back(address_of(bytes_of(one->d.iPAddress)));
  }
  return names;
}

}  // namespace

Validity validity_of(const X509* certificate) {
  const auto from = seconds_of(X509_get0_notBefore(certificate));
  const auto to = seconds_of(X509_get0_notAfter(certificate));
  return from && to ? Validity{.from_s = *from, .to_s = *to} : Validity();
}

Result<std::vector<Certificate>> read_certificates(const std::string& pem) {
  const ErrorsForgotten forgotten;
  const BioHandle bio = bio_of(pem);
  std::vector<Certificate> found;
  while (const X509Handle one = next_certificate(bio)) {
    const Validity validity = validity_of(one.get());
    if (validity == Validity()) {
      return failure(Errc::kInvalid, "a certificate without readable dates");
    }
    found.push_back({.subject = subject_of(one.get()),
                     .validity = validity,
                     .names = names_of(one.get()),
                     .authority = X509_check_ca(one.get()) == 1});
  }
  if (found.empty()) return failure(Errc::kInvalid, "no certificate in PEM");
  // The end of the text is PEM_R_NO_START_LINE; anything else is a certificate that is none.
  const unsigned long why = ERR_peek_last_error();
  if (ERR_GET_LIB(why) != ERR_LIB_PEM || ERR_GET_REASON(why) != PEM_R_NO_START_LINE) {
    return failure(Errc::kInvalid, "a certificate in it cannot be read");
  }
  return found;
}

Status check_pair(const Pair& pair) {
  const ErrorsForgotten forgotten;
  const X509Handle certificate = first_certificate(pair.certificate);
  if (!certificate) return failure(Errc::kInvalid, "the certificate is none in PEM");
  const KeyHandle key = private_key(pair.key);
  if (!key) {
    return failure(Errc::kInvalid, "the key is no private key in PEM without passphrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return failure(Errc::kInvalid, "the key is not of the certificate");
  }
  return {};
}

bool signed_by(const std::string& pem, const std::string& authority) {
  const ErrorsForgotten forgotten;
  const X509Handle certificate = first_certificate(pem);
  const X509Handle signer = first_certificate(authority);
  return certificate && signer &&
         X509_verify(certificate.get(), X509_get0_pubkey(signer.get())) == 1;
}

}  // namespace pinion::x509
