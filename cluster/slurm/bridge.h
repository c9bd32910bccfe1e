// Looks at Slurm and the API server, and does what follows: round after round, nothing remembered
// but how long to leave alone what has failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/backoff.h"
#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/slurm/config.h"
#include "cluster/slurm/known_pods.h"
#include "cluster/slurm/slurm.h"

namespace pinion::slurm {

class Bridge {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins to follow the placeholders. `log` must outlive it. Errors: of the access to the API
  // server.
  static Result<std::unique_ptr<Bridge>> start(const Config& config, Log& log);

  // Looks and acts once. It ends early, between two actions, once `stop` says so. How long to wait
  // for the next one, unless descriptor() is readable before.
  std::chrono::milliseconds round(const std::function<bool()>& stop);

  // For poll(2): placeholders have changed.
  [[nodiscard]] int descriptor() const { return pods_->descriptor(); }
  // Slurm and the API server have told everything at least once.
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  Bridge(const Config& config, PodTemplate all, std::unique_ptr<kube::Api> api, Log& log);

  Status list(View& view);  // what Slurm has
  Status carry_out(const Action& action, const Job* job);
  Status create(const Create& what);
  void tell(const Job& job, const std::string& why);
  bool may_try(std::uint32_t job) const;
  void failed(const Action& action, const Error& error);

  const Config config_;
  const Rules rules_;
  const PodTemplate all_;
  Log& log_;
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<KnownPods> pods_;
  Slurm slurm_;
  bool ready_ = false;
  Backoff listing_;  // pauses while Slurm does not answer
  struct Trouble {
    Backoff pauses;
    Clock::time_point until;
  };
  std::map<std::uint32_t, Trouble> troubles_;  // by job
};

}  // namespace pinion::slurm
