#include "cluster/extender/certificates/plan.h"

#include <algorithm>
#include <utility>

namespace pinion::cluster::certificates {
namespace {

using x509::Pair;
using x509::Validity;

constexpr std::int64_t kSkewS = 3'600;  // of the clocks of who reads them

std::string part(const Data& data, const char* key) {
  const auto found = data.find(key);
  return found == data.end() ? std::string() : found->second;
}

Pair pair_of(const Data& data) {
  return {.certificate = part(data, kCertificate), .key = part(data, kKey)};
}

bool ends_soon(const Validity& validity, std::int64_t now_s) {
  return validity.to_s - now_s < (validity.to_s - validity.from_s) / 3;
}

// Of the first certificate.
Validity validity_of(const std::string& pem) {
  const auto read = x509::read_certificates(pem);
  return read ? read->front().validity : Validity();
}

// What is trusted: an authority that has ended helps nobody.
std::string trusted(const Data& data, std::int64_t now_s) {
  const std::string previous = part(data, kPrevious);
  const bool lives = !previous.empty() && validity_of(previous).to_s > now_s;
  return part(data, kCertificate) + (lives ? previous : "");
}

// `previous`: nullptr, it takes nobody's place.
Result<Step> new_authority(const Pair* previous, std::string why, std::int64_t now_s) {
  // Two authorities of one name would be taken for one.
  auto made = x509::make_authority("pinion authority " + std::to_string(now_s),
                                   {.from_s = now_s - kSkewS, .to_s = now_s + kAuthorityS});
  if (!made) return failure(made.error());
  Data data{{kCertificate, made->certificate}, {kKey, made->key}};
  if (previous != nullptr) {
    auto cross = x509::cross_sign(*previous, *made);
    if (!cross) return failure(cross.error());
    data[kCross] = *std::move(cross);
    data[kPrevious] = previous->certificate;
  }
  data[kAuthorities] = trusted(data, now_s);
  return Step{.data = std::move(data), .why = std::move(why)};
}

// Why it cannot stay; empty: it can.
std::string why_not(const Data& data, const Data& authority, const Wanted& wanted,
                    std::int64_t now_s) {
  const Pair pair = pair_of(data);
  if (const Status good = x509::check_pair(pair); !good) return good.error().text;
  const auto read = x509::read_certificates(pair.certificate);
  if (!read) return read.error().text;
  const x509::Certificate& own = read->front();
  if (!x509::signed_by(pair.certificate, part(authority, kCertificate))) {
    return "it is of another authority";
  }
  auto has = own.names;
  auto wants = wanted.subject.names;
  std::sort(has.begin(), has.end());
  std::sort(wants.begin(), wants.end());
  if (has != wants) return "it has other names";
  if (now_s < own.validity.from_s) return "it begins in the future";
  // One that ends with its authority is as good as any that could be made.
  const bool last = own.validity.to_s >= validity_of(part(authority, kCertificate)).to_s;
  if (now_s >= own.validity.to_s || (!last && ends_soon(own.validity, now_s))) {
    return "less than a third of its life is left";
  }
  return "";
}

}  // namespace

Result<Step> authority(const Secret& now, std::int64_t now_s) {
  if (!now) return new_authority(nullptr, "there is none", now_s);
  const Pair pair = pair_of(*now);
  if (const Status good = x509::check_pair(pair); !good) return failure(good.error());
  const auto read = x509::read_certificates(pair.certificate);
  if (!read) return failure(read.error());
  if (!read->front().authority) {
    return failure(Errc::kInvalid, "the certificate may sign no others");
  }
  const Validity validity = read->front().validity;
  if (now_s < validity.from_s) {
    return failure(Errc::kInvalid, "the authority begins in the future: is the clock right?");
  }
  if (now_s >= validity.to_s) return new_authority(nullptr, "it has ended", now_s);
  if (ends_soon(validity, now_s)) {
    return new_authority(&pair, "less than a third of its life is left", now_s);
  }
  Step step{.data = *now, .why = ""};
  step.data[kAuthorities] = trusted(*now, now_s);
  if (step.data != *now) step.why = "the former one has ended, or ca.crt is not of it";
  return step;
}

Result<Step> certificate(const Secret& now, const Data& authority, const Wanted& wanted,
                         std::int64_t now_s) {
  std::string why = now ? why_not(*now, authority, wanted, now_s) : "there is none";
  Step step{.data = now.value_or(Data()), .why = std::move(why)};
  if (!step.why.empty()) {
    const std::int64_t end = validity_of(part(authority, kCertificate)).to_s;
    const Validity validity{.from_s = now_s - kSkewS,
                            .to_s = wanted.lasting ? end : std::min(now_s + kEndS, end)};
    const auto made = x509::issue(pair_of(authority), wanted.subject, validity);
    if (!made) return failure(made.error());
    step.data = {{kCertificate, made->certificate + part(authority, kCross)}, {kKey, made->key}};
  }
  const std::string authorities = part(authority, kAuthorities);
  if (part(step.data, kAuthorities) == authorities) return step;
  step.data[kAuthorities] = authorities;
  if (step.why.empty()) step.why = "other authorities are trusted";
  return step;
}

}  // namespace pinion::cluster::certificates
