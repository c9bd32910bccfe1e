#include "ctl/doctor/certificates.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <ctime>
#include <memory>

#include "base/cli/table.h"

namespace pinion::ctl::doctor {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;

Bio bio_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

X509Pointer next_certificate(const Bio& bio) {
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

std::optional<std::int64_t> seconds_of(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return timegm(&parts);
}

std::string subject_of(const X509* certificate) {
  std::array<char, 256> text{};
  if (X509_NAME_oneline(X509_get_subject_name(certificate), text.data(), text.size()) == nullptr) {
    return "";
  }
  const std::string subject = plain(text.data());
  return subject.empty() ? "no subject" : subject;
}

}  // namespace

Result<std::vector<Certificate>> read_certificates(const std::string& text) {
  const Bio bio = bio_of(text);
  std::vector<Certificate> found;
  while (const X509Pointer one = next_certificate(bio)) {
    const auto from = seconds_of(X509_get0_notBefore(one.get()));
    const auto to = seconds_of(X509_get0_notAfter(one.get()));
    if (!from || !to) return failure(Errc::kInvalid, "a certificate without readable dates");
    found.push_back({.subject = subject_of(one.get()), .not_before = *from, .not_after = *to});
  }
  // The end of the text is PEM_R_NO_START_LINE; anything else is a certificate that is none.
  const unsigned long why = ERR_peek_last_error();
  ERR_clear_error();
  const bool at_end = ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
  if (found.empty() || !at_end) {
    return failure(Errc::kInvalid, found.empty() ? "no certificate in PEM"
                                                 : "a certificate in it "
                                                   "cannot be read");
  }
  return found;
}

}  // namespace pinion::ctl::doctor
