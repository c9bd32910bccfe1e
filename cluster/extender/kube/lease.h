// Leader election by a Lease of the API server, so that of several replicas one plans.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/lease_object.h"
#include "cluster/extender/kube/random.h"

namespace pinion::kube {

struct LeaseOptions {
  LeaseName lease;       // made when missing
  std::string identity;  // no other process' ever: see unique_identity()
  LeaseTiming timing;
  Random random = system_random();
  // Called from the lease's own thread when it notices that it leads or does not lead any more;
  // and when it met trouble. They must not block: renewals wait for them.
  std::function<void(bool leading)> on_change;
  std::function<void(const Error& error)> on_trouble;
};

// "NAME_" and 64 random bits: a restarted process is another candidate.
std::string unique_identity(const std::string& name);

class Lease {
 public:
  // Tries to lead from now on. `api` must outlive it, and should be the lease's own: a renewal that
  // waits behind other calls for a connection may come too late. Errors: kInvalid for times that do
  // not keep two from leading at once: 0 < retry < renew_deadline < duration; for an empty name or
  // identity.
  static Result<std::unique_ptr<Lease>> start(Api& api, LeaseOptions options);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  // Whether we lead at this moment, by the steady clock: turns false by itself when the last
  // renewal is too long ago, also while the thread hangs in a call. What is begun while it is true
  // should end soon: there are duration - renew_deadline (3 s) until another can lead.
  [[nodiscard]] bool leading() const;
  // Who holds the lease as last seen; empty: nobody, or not known.
  [[nodiscard]] std::string holder() const;

  // Leads no more, gives the lease back so that another need not wait, within two seconds. Not from
  // on_change or on_trouble, nor from two threads at once.
  void stop();

 private:
  class Loop;
  explicit Lease(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace pinion::kube
