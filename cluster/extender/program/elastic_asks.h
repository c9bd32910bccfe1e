// Asks the applications of elastic jobs whether they are ready for another size, over HTTP or CCS,
// and writes down on their jobs what they answer. A job that is not answered is asked again when it
// is passed again. Applications may be slow on purpose, so no namespace gets all threads.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/log/log.h"
#include "cluster/extender/elastic/controller.h"
#include "cluster/extender/elastic/elastic_job.h"
#include "cluster/extender/elastic/going_on.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/http.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/program/quota.h"

namespace pinion::cluster {

class ElasticAsks {
 public:
  // What is known of what a job has done; nothing: nothing.
  using Work = std::function<std::optional<elastic::WorkDone>(const elastic::ElasticObject&)>;

  // What is passed must outlive this. `may_act`: asked before each question; must be quick. `work`:
  // asked on threads of its own; empty: nothing is known of any job.
  ElasticAsks(kube::Api& api, Log& log, const policy::Defaults& defaults,
              elastic::ControllerLimits limits, std::function<bool()> may_act, Work work = {});
  ElasticAsks(const ElasticAsks&) = delete;
  ElasticAsks& operator=(const ElasticAsks&) = delete;
  ~ElasticAsks();

  // Precondition: elastic::is_to_be_asked(). Nothing where it is being asked, or was a moment ago.
  void ask(const elastic::ElasticObject& job);
  // It is not to be asked any more, if it still waits for its turn.
  void withdraw(const std::string& uid) { questions_.erase(uid); }

  // Precondition: elastic::is_to_tell_progress(). Its application is asked every few seconds, one
  // that does not answer more seldom, until it is forgotten. Nothing where too many are asked.
  // Until it has answered, it wishes what is noted on the job; another wish is noted there, now and
  // then.
  void look_at_progress(const elastic::ElasticObject& job);
  // What it has said last.
  struct Told {
    elastic::Said said;
    double at_s = 0;  // of the steady clock
  };
  [[nodiscard]] std::optional<Told> told(const std::string& uid) const;
  void forget_progress(const std::string& uid);

 private:
  using Clock = std::chrono::steady_clock;
  struct Reporter {
    std::string name_space{};
    std::string address{};           // of its pod, as long as it answers
    Clock::time_point find_again{};  // the pod
    Clock::time_point heard{};
    std::optional<Told> told{};
    Clock::time_point note_again{};  // its wish
  };
  // What a Charm++ program was sent: its connection is kept until it has acted (ccs/rescale.h), as
  // long as it is asked.
  struct Sent {
    std::int64_t rescaled_ms = 0;  // which rescale it was
    std::optional<elastic::Sent> what;
    Fd connection;
    std::optional<elastic::GoingOn> going_on;  // since it has come
    Clock::time_point until;
  };
  // The pod whose program listens.
  struct Head {
    std::string address;
    std::string id;  // elastic::Sent::head
  };
  using Patch = std::function<Result<nlohmann::json>(const elastic::ElasticObject&)>;

  void answer(const elastic::ElasticObject& job);
  // False: it gives none.
  bool read_progress(const elastic::ElasticObject& job);
  // False: somebody was first, and it is looked at again with the next answer.
  bool note_wish(const elastic::ElasticObject& job, std::optional<int> workers);
  // `address`: empty where it has to be found, or was of no use.
  Result<elastic::Said> progress_by_http(const elastic::ElasticObject& job, std::string& address);
  // To the pod with this address.
  Result<kube::HttpAnswer> send(const elastic::ElasticObject& job, const std::string& address,
                                const kube::HttpRequest& request);
  // The number that it acknowledges, or has come to; nothing while it is not decided.
  Result<std::optional<int>> answer_by_http(const elastic::ElasticObject& job);
  Result<std::optional<int>> answer_by_ccs(const elastic::ElasticObject& job);
  Result<std::optional<int>> look_at_charm(const elastic::ElasticObject& job, Sent& sent);
  // The number to acknowledge, once it goes on with its work.
  Result<std::optional<int>> look_if_it_goes_on(const elastic::ElasticObject& job, Sent& sent,
                                                int pes, int workers);
  // It has been acted on, or its program is gone.
  Result<std::optional<int>> forget(const elastic::ElasticObject& job, const elastic::Sent& what);
  Sent take_sent(const elastic::ElasticObject& job);
  // Of those that run the one with this id, else any; nothing: none runs.
  [[nodiscard]] bool is_overdue(const std::optional<elastic::Sent>& sent) const;
  Result<std::optional<Head>> find_head(const elastic::ElasticObject& job, const std::string& id);
  // Of the job as it is now, if the same is under way there; tried again where somebody was first.
  Status write_down(const elastic::ElasticObject& job, const Patch& patch);

  kube::Api& api_;
  Log& log_;
  const policy::Defaults& defaults_;
  const elastic::ControllerLimits limits_;
  const std::function<bool()> may_act_;
  const Work work_;
  kube::Cancel cancel_;
  mutable std::mutex mutex_;
  std::map<std::string, Reporter> reporters_;  // by uid
  Quota reporters_of_;
  std::map<std::string, Sent> sent_;             // by uid
  std::map<std::string, std::string> troubles_;  // by uid: why it gave no answer the last time
  // By uid; last: they use all above.
  KeyedQueue<std::string, elastic::ElasticObject> questions_;
  KeyedQueue<std::string, elastic::ElasticObject> progress_;
};

}  // namespace pinion::cluster
