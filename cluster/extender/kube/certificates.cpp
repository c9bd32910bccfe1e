#include "cluster/extender/kube/certificates.h"

#include "base/x509/read.h"

namespace pinion::kube {

Status check_certificates(const Access& access) {
  if (!access.ca.empty() && !x509::read_certificates(access.ca)) {
    return failure(Errc::kInvalid,
                   access.source + ": the certificate authority holds no certificate in PEM");
  }
  if (access.certificate.empty()) return {};
  const Status good = x509::check_pair({.certificate = access.certificate, .key = access.key});
  return good ? Status() : failure(good.error().within(access.source + ": client certificate"));
}

}  // namespace pinion::kube
