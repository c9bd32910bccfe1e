#include "base/x509/issue.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

#include "base/x509/pem.h"

namespace pinion::x509 {
namespace {

using BignumHandle = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
constexpr int kSerialBits = 127;  // positive, and far below the 20 bytes of RFC 5280, 4.1.2.2

tl::unexpected<Error> openssl_failure(const std::string& what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_last_error(), text.data(), text.size());
  ERR_clear_error();
  return failure(Errc::kExhausted, what + ": " + text.data());
}

bool is_address(const std::string& name) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string text_of(const BioHandle& memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

struct Extension {
  int nid;
  std::string value;  // as in openssl.cnf, x509v3_config(5)
};
using Extensions = std::vector<Extension>;

const Extensions& of_authority() {
  static const Extensions all{{NID_basic_constraints, "critical,CA:TRUE,pathlen:1"},
                              {NID_key_usage, "critical,keyCertSign,cRLSign"}};
  return all;
}

Extensions of_end(const std::vector<std::string>& names) {
  Extensions all{{NID_basic_constraints, "critical,CA:FALSE"},
                 {NID_key_usage, "critical,digitalSignature"},
                 {NID_ext_key_usage, "serverAuth,clientAuth"}};
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  }
  if (!text.empty()) all.push_back({NID_subject_alt_name, std::move(text)});
  return all;
}

bool set_serial(X509* made) {
  const BignumHandle number(BN_new(), &BN_free);
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made)) != nullptr;
}

bool extend(X509* made, X509* issuer, const Extension& extension) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, made, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> one(
      X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()),
      &X509_EXTENSION_free);
  return one && X509_add_ext(made, one.get(), -1) == 1;
}

struct Content {
  const X509_NAME* subject;
  EVP_PKEY* key;
  Validity validity;
  Extensions extensions;
};

// `issuer`: null, it signs itself.
Result<std::string> sign(const Content& content, X509* issuer, EVP_PKEY* issuer_key) {
  const X509Handle made(X509_new(), &X509_free);
  if (!made) return openssl_failure("make a certificate");
  X509* by = issuer == nullptr ? made.get() : issuer;
  const auto from = static_cast<time_t>(content.validity.from_s);
  const auto to = static_cast<time_t>(content.validity.to_s);
  bool good = X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get()) &&
              X509_set_subject_name(made.get(), content.subject) == 1 &&
              X509_set_issuer_name(made.get(), X509_get_subject_name(by)) == 1 &&
              X509_set_pubkey(made.get(), content.key) == 1 &&
              ASN1_TIME_set(X509_getm_notBefore(made.get()), from) != nullptr &&
              ASN1_TIME_set(X509_getm_notAfter(made.get()), to) != nullptr;
  Extensions all = content.extensions;
  all.push_back({NID_subject_key_identifier, "hash"});
  all.push_back({NID_authority_key_identifier, "keyid:always"});
  for (const Extension& extension : all) good = good && extend(made.get(), by, extension);
  good = good && X509_sign(made.get(), issuer_key, EVP_sha256()) > 0;
  const BioHandle text(BIO_new(BIO_s_mem()), &BIO_free);
  if (!good || !text || PEM_write_bio_X509(text.get(), made.get()) != 1) {
    return openssl_failure("make a certificate");
  }
  return text_of(text);
}

Result<std::string> text_of(EVP_PKEY* key) {
  const BioHandle text(BIO_new(BIO_s_secmem()), &BIO_free);
  if (!text ||
      PEM_write_bio_PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failure("write a key");
  }
  return text_of(text);
}

using NameHandle = std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)>;

Result<NameHandle> name_of(const std::string& common_name) {
  NameHandle name(X509_NAME_new(), &X509_NAME_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(common_name.data());
  if (!name || X509_NAME_add_entry_by_NID(name.get(), NID_commonName, MBSTRING_UTF8, bytes,
                                          static_cast<int>(common_name.size()), -1, 0) != 1) {
    ERR_clear_error();
    return failure(Errc::kInvalid, "'" + common_name + "' is no name for a certificate");
  }
  return name;
}

// With a key of its own.
Result<Pair> make(const std::string& common_name, const Validity& validity,
                  const Extensions& extensions, X509* issuer, EVP_PKEY* issuer_key) {
  const auto name = name_of(common_name);
  if (!name) return failure(name.error());
  const KeyHandle key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  if (!key) return openssl_failure("make a key");
  auto certificate = sign(
      {.subject = name->get(), .key = key.get(), .validity = validity, .extensions = extensions},
      issuer, issuer == nullptr ? key.get() : issuer_key);
  if (!certificate) return failure(certificate.error());
  auto text = text_of(key.get());
  if (!text) return failure(text.error());
  return Pair{.certificate = *std::move(certificate), .key = *std::move(text)};
}

}  // namespace

bool sound_name(const std::string& name) {
  constexpr std::string_view known =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
  constexpr std::size_t longest = 253;  // RFC 1035, 2.3.4
  if (is_address(name)) return true;
  return !name.empty() && name.size() <= longest && name.front() != '.' &&
         name.find_first_not_of(known) == std::string::npos;
}

Result<Pair> make_authority(const std::string& common_name, const Validity& validity) {
  return make(common_name, validity, of_authority(), nullptr, nullptr);
}

Result<Pair> issue(const Pair& authority, const Subject& subject, const Validity& validity) {
  if (const Status good = check_pair(authority); !good) return failure(good.error());
  for (const std::string& name : subject.names) {
    if (!sound_name(name)) {
      return failure(Errc::kInvalid, "'" + name + "' is neither a DNS name nor an address");
    }
  }
  const X509Handle issuer = first_certificate(authority.certificate);
  const KeyHandle key = private_key(authority.key);
  return make(subject.common_name, validity, of_end(subject.names), issuer.get(), key.get());
}

Result<std::string> cross_sign(const Pair& other, const Pair& authority) {
  for (const Pair* pair : {&other, &authority}) {
    if (const Status good = check_pair(*pair); !good) return failure(good.error());
  }
  const auto ours = read_certificates(authority.certificate);
  const auto theirs = read_certificates(other.certificate);
  if (!ours || !theirs) return failure(ours ? theirs.error() : ours.error());
  const X509Handle own = first_certificate(authority.certificate);
  const X509Handle issuer = first_certificate(other.certificate);
  const KeyHandle key = private_key(other.key);
  return sign(
      {.subject = X509_get_subject_name(own.get()),
       .key = X509_get0_pubkey(own.get()),
       .validity = {.from_s = ours->front().validity.from_s,
                    .to_s = std::min(ours->front().validity.to_s, theirs->front().validity.to_s)},
       .extensions = of_authority()},
      issuer.get(), key.get());
}

}  // namespace pinion::x509
