// The hostfiles of jobs: a ConfigMap for each job whose pods wait for one, made when the first of
// them is seen, as the job has no uid before.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <thread>

#include "agent/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

class Hostfiles {
 public:
  // `may_act()`: asked before each call; nothing is made while another replica leads. What is
  // passed must outlive it.
  Hostfiles(kube::Api& api, agent::Log& log, std::function<bool()> may_act);
  Hostfiles(const Hostfiles&) = delete;
  Hostfiles& operator=(const Hostfiles&) = delete;
  ~Hostfiles();

  // A pod exists. Only notes what is to be done.
  void seen(const wire::PodSpecView& pod);

 private:
  struct Job {
    std::string name_space;
    std::string path;  // of the job, on the API server
    // Of who made the pod, so that a job that is made anew under its name is another one.
    std::string made_by;

    auto operator<=>(const Job&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  void run();
  // Makes the job's ConfigMap; it may be there. Errors: as kube/api.h, or of the job; kUnavailable
  // while that of a job of the same name that is gone has not been collected.
  Status make(const Job& job);
  Status look_at_existing(const std::string& path, const nlohmann::json& wanted);

  kube::Api& api_;
  agent::Log& log_;
  const std::function<bool()> may_act_;
  kube::Cancel cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::set<Job> known_;  // queued or done
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all above
};

}  // namespace pinion::cluster
