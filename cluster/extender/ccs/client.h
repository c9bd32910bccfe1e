// One CCS request to a program over TCP.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "cluster/extender/kube/cancel.h"

namespace pinion::cluster::ccs {

using Deadline = std::chrono::steady_clock::time_point;

struct Address {
  std::string host;  // numeric, IPv4 or IPv6: a pod's
  int port = 0;
};

// Connects and sends; what is returned is open for the answer. Errors: kInvalid for an address that
// is none, kUnavailable.
Result<Fd> send(const Address& to, const std::string& request, Deadline deadline,
                const kube::Cancel& cancel);

// The data of the answer. Errors: as send() and answer_in(); kUnavailable also for an answer that
// is cut off.
Result<std::string> call(const Address& to, const std::string& request, Deadline deadline,
                         const kube::Cancel& cancel);

}  // namespace pinion::cluster::ccs
