// What somebody may have put into the Secrets of the certificates: any text as certificate and key
// is an error with a text, or is followed by what stays as it is at the next look.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/extender/certificates/plan.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_certificates {

constexpr std::int64_t kNowS = 1'790'000'000;

PINION_FUZZ_TARGET(extender_certificates) {
  using namespace pinion::cluster::certificates;
  static const Data ours = authority(std::nullopt, kNowS)->data;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Data theirs{{kCertificate, text}, {kKey, text}, {kPrevious, text}, {kCross, text}};
  if (const auto read = x509::read_certificates(text)) {
    for (const x509::Certificate& one : *read) require(!one.subject.empty());
  }
  if (const auto step = authority(theirs, kNowS)) {
    require(authority(step->data, kNowS)->why.empty());
  } else {
    require(!step.error().text.empty());
  }
  const Wanted wanted{.subject = {.common_name = "a", .names = {"a.svc"}}};
  const auto step = certificate(theirs, ours, wanted, kNowS);
  require(step && certificate(step->data, ours, wanted, kNowS)->why.empty());
  return 0;
}

}  // namespace pinion::fuzz::extender_certificates
