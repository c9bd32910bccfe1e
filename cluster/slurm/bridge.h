// Looks at Slurm and the API server, and does what follows: round after round, nothing remembered
// but how long to leave alone what has failed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/backoff.h"
#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/slurm/config.h"
#include "cluster/slurm/expose.h"
#include "cluster/slurm/known_pods.h"
#include "cluster/slurm/slurm.h"

namespace pinion::slurm {

class Bridge {
 public:
  using Clock = std::chrono::steady_clock;

  // Between tries of what fails: of one job, or of all calls of the API server while it does not
  // answer.
  struct Pauses {
    std::chrono::milliseconds first{500};
    std::chrono::milliseconds longest{30'000};
  };

  // Begins to follow the placeholders. `log` must outlive it. Errors: of the access to the API
  // server.
  static Result<std::unique_ptr<Bridge>> start(const Config& config, Log& log, Pauses pauses);

  // Looks and acts once. It ends early, between two actions, once `stop` says so. How long to wait
  // for the next one, unless descriptor() is readable before.
  std::chrono::milliseconds round(const std::function<bool()>& stop);

  // For poll(2): placeholders have changed.
  [[nodiscard]] int descriptor() const { return pods_->descriptor(); }
  // Slurm and the API server have told everything at least once.
  [[nodiscard]] bool ready() const { return ready_; }

  // These from any thread. Why not, in a few words; empty: it is.
  [[nodiscard]] std::string not_live() const;   // rounds go on
  [[nodiscard]] std::string not_ready() const;  // Slurm and the API server tell
  [[nodiscard]] Figures figures() const;

 private:
  Bridge(const Config& config, PodTemplate all, std::unique_ptr<kube::Api> api, Log& log,
         Pauses pauses);

  Status list(View& view);  // what Slurm has
  bool changed();           // its jobs have
  Status carry_out(const Action& action, const Job* job);
  Status hold(const Job& job, const Hold& what);
  Status create(const Create& what);
  Status ask(const Job& job, const Ask& what);
  Status unask(const Unask& what);
  Status patch(const std::string& name, const nlohmann::json& patch, const char* part);
  Status shrink(const Job& job, const Shrink& what);
  void tell(const Job& job, const std::string& why);
  Status remove(const Delete& what);
  void tell_event(const Placeholder& pod, const std::string& why);
  bool may_try(const Action& action) const;
  void succeeded(const Action& action);
  std::chrono::milliseconds rest(const std::string& key, int times);
  void failed(const Action& action, const Error& error);
  void give_back(const Job& job, const std::string& why, const View& view);
  void note(const View& view);
  void note_done(const Action& action, const Job* job, bool done);

  const Config config_;
  const Rules rules_;
  const PodTemplate all_;
  Log& log_;
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<KnownPods> pods_;
  Slurm slurm_;
  std::atomic<bool> ready_ = false;
  std::atomic<std::int64_t> alive_ms_;     // of the steady clock: something was done last
  std::atomic<std::int64_t> told_ms_ = 0;  // Slurm answered last
  mutable std::mutex mutex_;
  Figures figures_;                 // under mutex_
  std::string outline_;             // of Slurm's jobs, as it was seen last
  bool news_ = true;                // since the last list
  Clock::time_point list_next_;     // not before, unless there is news
  Clock::time_point list_soonest_;  // not even then
  Backoff listing_;                 // pauses while Slurm does not answer
  const Pauses pauses_;
  struct Trouble {
    Backoff pauses;
    Clock::time_point until;
    int places = 0;  // of a job, that Slurm has refused
  };
  // By what they are with: a job's number, a placeholder's uid, or all creates or deletes.
  std::map<std::string, Trouble> troubles_;
};

}  // namespace pinion::slurm
