// What the pod scheduler wants done, done at the API server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/service/cluster.h"

namespace pinion::cluster {

class KubeCluster : public Cluster {
 public:
  // `may_act()`: asked before each call; we may have ceased to lead. `reporter`: of the events.
  // What is passed must outlive it.
  KubeCluster(kube::Api& api, Log& log, std::function<bool()> may_act, kube::Reporter reporter);
  KubeCluster(const KubeCluster&) = delete;
  KubeCluster& operator=(const KubeCluster&) = delete;
  ~KubeCluster() override = default;  // what is noted and not done yet is dropped

  Status bind(const PodRef& pod, const std::string& node,
              const std::map<std::string, std::string>& annotations) override;
  void wake(const PodRef& pod) override;
  void nominate(const PodRef& pod, const std::string& node) override;
  void open(const Opening& opening) override;
  void explain(const PodRef& pod, const std::string& why) override;
  void warn(const PodRef& pod, const std::string& why) override;  // by an Event

  // Notes that were dropped because too many waited, and that the API server refused.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

 private:
  struct Note {
    enum class Kind { kWake, kNominate, kOpen, kExplain, kWarn };
    Kind kind = Kind::kWake;
    PodRef pod;
    std::string text;        // the node to nominate, or why
    bool nominated = false;  // it is already
  };

  void add(const Note& note);
  Worked carry_out(const Note& note);
  Status done(const Note& note);

  kube::Api& api_;
  Log& log_;
  const std::function<bool()> may_act_;
  const kube::Reporter reporter_;
  std::atomic<std::uint64_t> failed_ = 0;
  // By uid, warnings by themselves: the last one counts. Last: it uses all above.
  KeyedQueue<std::string, Note> notes_;
};

}  // namespace pinion::cluster
