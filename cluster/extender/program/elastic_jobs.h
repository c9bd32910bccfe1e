// Follows elastic jobs and carries out what their controller says, while this replica leads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/log/log.h"
#include "cluster/core/learnt_profile.h"
#include "cluster/core/settling.h"
#include "cluster/extender/elastic/actuator.h"
#include "cluster/extender/elastic/controller.h"
#include "cluster/extender/elastic/speedometer.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/program/elastic_asks.h"
#include "cluster/extender/program/feeds.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/program/quota.h"
#include "cluster/extender/program/rounds.h"
#include "cluster/extender/service/expose.h"
#include "cluster/extender/service/views.h"

namespace pinion::cluster {

class ElasticJobs {
 public:
  struct Asks {
    // While another replica leads nothing is done: asked before each call.
    std::function<bool()> may_act;
    std::function<std::int64_t()> free;  // CPUs that no pod holds and none is promised
    // What the containers of that job have counted so far, asked on several threads; empty: nothing
    // is counted.
    std::function<std::optional<RunFigures>(const std::string& name_space, const std::string& job)>
        counted = {};
    // elastic::on_fleet() of these jobs, asked while one of them waits or could expand; empty: not
    // wanted.
    std::function<std::map<std::string, elastic::OnFleet>(
        const std::vector<elastic::ElasticObject>& jobs)>
        on_fleet = {};
  };

  struct Pace {
    std::chrono::milliseconds look{1'000};         // between two looks, when nothing has changed
    std::chrono::milliseconds least{250};          // the same, whatever has
    std::chrono::milliseconds tell_again{60'000};  // a ConfigMap so long ago is looked at again
  };
  // Jobs that wait, for which it cares; more are not looked at until others have started.
  struct Most {
    std::size_t all = 10'000;
    std::size_t of_namespace = 2'500;
  };

  // Both are asked on a thread of its own; what is passed must outlive this, but for `controller`.
  ElasticJobs(kube::Api& api, Log& log, const elastic::Controller& controller,
              const policy::Defaults& defaults, Asks asks, const Pace& pace, const Most& most);
  ElasticJobs(const ElasticJobs&) = delete;
  ElasticJobs& operator=(const ElasticJobs&) = delete;
  ~ElasticJobs();

  // Of each of elastic::kCollections, in that order.
  kube::WatchHandler& feed(std::size_t collection) { return *feeds_[collection]; }

  // Its rows: of the replica that decides alone, and of 2,000 jobs at most.
  [[nodiscard]] ElasticFigures figures() const;
  // By name.
  [[nodiscard]] std::vector<ElasticRow> rows() const;

 private:
  using Clock = std::chrono::steady_clock;

  // One collection's jobs. A kind that the cluster does not have, or does not show to us, is none.
  class KindFeed : public Feed {
   public:
    KindFeed(ElasticJobs& jobs, const elastic::Collection& collection, Log& log)
        : Feed(std::string("elastic jobs of ") + collection.api_version, log),
          jobs_(jobs),
          collection_(collection) {}

    void on_object(kube::Change change, const nlohmann::json& object) override;
    void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
    [[nodiscard]] bool complete() const { return absent_ || synced(); }

   private:
    ElasticJobs& jobs_;
    const elastic::Collection& collection_;
    std::atomic<bool> absent_ = false;
  };

  // A job whose patch failed: nothing is done to it, and the others get what it would have had.
  struct Rest {
    Backoff pause{std::chrono::seconds(5), std::chrono::minutes(5)};
    std::int64_t until_ms = 0;  // since 1970
  };
  struct Told {
    elastic::SizeTold size;
    Clock::time_point again;  // somebody may have changed or deleted the ConfigMap by then
  };

  // That there is no room for yet.
  struct Left {
    std::string name_space;
    std::string path;
    std::int64_t submitted_ms = 0;
    Clock::time_point again{};  // it could not be read
  };

  void changed(const nlohmann::json& object);
  void take_in(const std::string& uid, Result<elastic::ElasticObject> job);  // under mutex_
  void gone(const std::string& uid);
  void forget(const std::string& uid);            // under mutex_
  void remove(const std::string& uid);            // under mutex_: from jobs_
  void leave(const elastic::ElasticObject& job);  // under mutex_
  void forget_left(const std::string& uid);       // under mutex_
  void take_in_left();
  std::vector<std::unique_ptr<KindFeed>> make_feeds();
  void look_if_complete();
  void look();
  void look_at_fleet();
  void hear_applications();  // under mutex_: how far they are, and what they wish for
  [[nodiscard]] std::optional<elastic::WorkDone> work_of(const elastic::ElasticObject& job) const;
  void carry_out(const elastic::Action& action);
  void note_written(const elastic::Action& action);      // under mutex_
  void heed_written(elastic::ElasticObject& job) const;  // under mutex_
  void answered(const elastic::ElasticObject& was, const Result<nlohmann::json>& now);
  void refused(const elastic::ElasticObject& was, const Error& why);
  void tell_sizes();                                    // under mutex_
  bool tell_if_new(const elastic::ElasticObject& job);  // under mutex_
  Worked tell(const std::string& uid);

  kube::Api& api_;
  Log& log_;
  const policy::Defaults& defaults_;
  const Asks asks_;
  const Pace pace_;
  kube::Cancel cancel_;
  mutable std::mutex mutex_;
  const std::vector<std::unique_ptr<KindFeed>> feeds_;
  std::map<std::string, elastic::ElasticObject> jobs_;  // by uid: of none that is over
  Quota quota_;                                         // of them, those that are suspended
  std::map<std::string, Left> left_;                    // by uid
  Quota left_quota_;
  std::map<std::string, std::string> refused_;  // by uid: why it is left alone
  std::map<std::string, Rest> rests_;           // by uid
  // By uid: what this leader has written last. On the job its user could write something else.
  std::map<std::string, elastic::Moments> written_;
  std::map<std::string, std::int64_t> wishes_;  // by uid: since when one for more is not met
  std::map<std::string, std::string> waits_;    // by uid: why, since the last look
  ElasticFigures done_;                         // the steps and the rescales
  elastic::Speedometer speeds_;
  const elastic::Controller controller_;
  Settling settling_;                 // on the rounds' thread, while this replica leads
  std::map<std::string, Told> told_;  // by uid, its ConfigMap
  ElasticAsks applications_;
  KeyedQueue<std::string, std::string> maps_;  // by uid: the namespace
  Rounds rounds_;                              // last: it uses all above
};

}  // namespace pinion::cluster
