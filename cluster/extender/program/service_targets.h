// Looks after services with a target while this replica leads: asks Prometheus, resizes pods, tells
// their owners.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/object.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/service/expose.h"
#include "cluster/extender/targets/controller.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

class ServiceTargets {
 public:
  struct Asks {
    std::function<bool()> may_act;  // while another replica leads nothing is done
    std::function<targets::NodeRoom(const std::string& node)> room;  // without `most_milli`
    std::function<std::int64_t()> most;  // asked seldom: it may look at all nodes
  };
  struct Options {
    std::chrono::milliseconds look{5'000};  // between two looks at a service
    kube::Reporter reporter{};              // of the events
  };

  struct Prometheus {
    std::string url;           // http or https
    std::string ca{};          // a file in PEM; empty: the system's authorities
    std::string token_file{};  // empty: no token is sent
  };
  // How it is asked. Errors: kInvalid for the URL and what is in the files, of reading the CA.
  static Result<std::unique_ptr<kube::Api>> reach(const Prometheus& prometheus);

  // Both are asked on threads of its own, `may_act` under a lock: it must be quick. What is passed
  // must outlive this.
  ServiceTargets(kube::Api& api, std::unique_ptr<kube::Api> prometheus, Log& log, Asks asks,
                 Options options);
  ServiceTargets(const ServiceTargets&) = delete;
  ServiceTargets& operator=(const ServiceTargets&) = delete;
  ~ServiceTargets();

  // A pod as it is now, and what was read of it; those that are no services are passed over. Only
  // notes what is to be done.
  void seen(kube::Change change, const kube::RawObject& object,
            const Result<wire::PodSpecView>& pod);
  [[nodiscard]] ServiceFigures figures() const;

 private:
  using Service = Result<targets::ServicePod>;
  // Of one pod; its work is done by one thread at a time.
  struct Care {
    targets::Controller controller;
    kube::PodRef pod;         // these under mutex_
    std::string refused;      // why it makes no sense, as was told last
    double performance = -1;  // -1: not known
    std::int64_t limit_milli = 0;
    std::int64_t rests_until_ms = 0;  // Prometheus takes long over its query
  };
  // A node on which a resize is under way, or was a moment ago: the fleet does not know of it yet.
  struct Turn {
    bool taken = false;
    std::int64_t until_ms = 0;
    std::int64_t request_milli = 0;  // more of it is gone
  };

  void gone(const std::string& uid);
  Worked look(const std::string& uid, const kube::PodRef& pod, const Service& service);
  void look(Care& care, const targets::ServicePod& service);
  std::int64_t resize_in(const targets::NodeRoom& room, Care& care,
                         const targets::ServicePod& service, const targets::Reading& reading);
  bool resize(Care& care, const targets::ServicePod& service, const targets::Step& step);
  targets::Reading read(const targets::ServicePod& service);
  Result<std::optional<double>> ask(const std::string& promql);
  std::int64_t most();
  bool seldom(std::int64_t& said_ms);
  void tell(const kube::PodRef& pod, const std::optional<kube::PodEvent>& event);

  struct Noted {
    kube::PodRef pod;
    Service service;
  };

  kube::Api& api_;
  const std::unique_ptr<kube::Api> prometheus_;
  Log& log_;
  const Asks asks_;
  const Options options_;
  kube::Cancel cancel_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Care>> cared_;  // by uid; all these under mutex_
  std::map<std::string, Turn> turns_;                   // by node
  std::int64_t most_milli_ = 0;
  std::int64_t most_at_ms_ = 0;
  std::int64_t silence_said_ms_ = 0;
  std::int64_t crowd_said_ms_ = 0;
  ServiceFigures figures_;
  KeyedQueue<std::string, Noted> queue_;  // by uid; last: it uses all above
};

}  // namespace pinion::cluster
