// Which certificates are to be made: from what there is and the time, nothing else. No clock; the
// keys are OpenSSL's random ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/x509/issue.h"

namespace pinion::cluster::certificates {

// The decoded `data` of a Secret; nullopt: there is no such Secret.
using Data = std::map<std::string, std::string>;
using Secret = std::optional<Data>;

// Its keys, the first three as in every Secret of the type kubernetes.io/tls.
inline constexpr const char* kCertificate = "tls.crt";
inline constexpr const char* kKey = "tls.key";
inline constexpr const char* kAuthorities = "ca.crt";  // all that are to be trusted
// Of the authority's Secret, once it has taken another's place.
inline constexpr const char* kPrevious = "previous.crt";  // that one
inline constexpr const char* kCross = "cross.crt";        // ours, signed by that one

inline constexpr std::int64_t kDayS = 86'400;
inline constexpr std::int64_t kAuthorityS = 3'650 * kDayS;
inline constexpr std::int64_t kEndS = 90 * kDayS;

struct Wanted {
  x509::Subject subject;
  bool lasting = false;  // as long as its authority, for who has to be given it by hand; else kEndS
};

struct Step {
  Data data;        // that the Secret is to have
  std::string why;  // empty: it has it already
};

// The authority's Secret. A new one where there is none or it has ended, and one to take its place
// where less than a third of its life is left. Errors: kInvalid where what is there is no authority
// with its key, or begins in the future: it is not replaced, as somebody put it there; kExhausted.
Result<Step> authority(const Secret& now, std::int64_t now_s);

// A certificate of it, given the `data` of that Secret. A new one where there is none that can be
// used, where it has other names or another authority, or less than a third of its life is left.
// Errors: kInvalid for names, kExhausted.
Result<Step> certificate(const Secret& now, const Data& authority, const Wanted& wanted,
                         std::int64_t now_s);

}  // namespace pinion::cluster::certificates
