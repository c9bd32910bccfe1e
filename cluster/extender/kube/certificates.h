// Whether certificates and keys can be used, said before anything is connected.
#pragma once

#include "base/error.h"
#include "cluster/extender/kube/access.h"

namespace pinion::kube {

// Errors: kInvalid for certificates and keys that are no PEM, do not belong together or are
// protected by a passphrase, which nobody is there to type; the text names the access' source.
Status check_certificates(const Access& access);

}  // namespace pinion::kube
