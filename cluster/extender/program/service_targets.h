// Looks after services with a target while this replica leads: asks Prometheus, resizes pods, tells
// their owners.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/watch.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/service/expose.h"
#include "cluster/extender/targets/controller.h"

namespace pinion::cluster {

class ServiceTargets {
 public:
  struct Asks {
    std::function<bool()> may_act;  // while another replica leads nothing is done
    std::function<targets::NodeRoom(const std::string& node)> room;
  };
  struct Options {
    std::chrono::milliseconds look{5'000};  // between two looks at a service
    kube::Reporter reporter{};              // of the events
  };

  // How Prometheus is asked at this URL, http or https. Errors: kInvalid.
  static Result<std::unique_ptr<kube::Api>> prometheus_at(const std::string& url);

  // Both are asked on threads of its own, `may_act` under a lock: it must be quick. What is passed
  // must outlive this.
  ServiceTargets(kube::Api& api, std::unique_ptr<kube::Api> prometheus, Log& log, Asks asks,
                 Options options);
  ServiceTargets(const ServiceTargets&) = delete;
  ServiceTargets& operator=(const ServiceTargets&) = delete;
  ~ServiceTargets();

  // A pod as it is now; those that are no services are passed over. Only notes what is to be done.
  void seen(kube::Change change, const nlohmann::json& pod);
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
  };

  void gone(const std::string& uid);
  Worked look(const std::string& uid, const kube::PodRef& pod, const Service& service);
  void look(Care& care, const targets::ServicePod& service);
  bool resize(Care& care, const targets::ServicePod& service, const targets::Step& step);
  targets::Reading read(const targets::ServicePod& service);
  Result<std::optional<double>> ask(const std::string& promql);
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
  std::map<std::string, std::shared_ptr<Care>> cared_;  // by uid; these two under mutex_
  ServiceFigures figures_;
  KeyedQueue<std::string, Noted> queue_;  // by uid; last: it uses all above
};

// Stands before the feed of pods, and tells both.
class ServicePods : public kube::WatchHandler {
 public:
  ServicePods(kube::WatchHandler& next, ServiceTargets& services)
      : next_(next), services_(services) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override { next_.on_synced(generation); }
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override {
    next_.on_trouble(error, pause);
  }
  void on_list_failed(const Error& error) override { next_.on_list_failed(error); }

 private:
  kube::WatchHandler& next_;
  ServiceTargets& services_;
};

}  // namespace pinion::cluster
