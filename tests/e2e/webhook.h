// The extender's webhook at an API server, for all kinds of jobs that it knows.
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::e2e {

// Adds the stand-ins of crd.h, waits until pods are admitted, and registers the webhook at the
// extender's `url`, whose certificate is signed by that of `ca_file`. Returns when the API server
// asks it. The cluster must have a controller manager.
Status register_webhook(kube::Api& api, const std::string& url, const std::string& ca_file);

}  // namespace pinion::e2e
