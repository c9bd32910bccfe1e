// The placeholders as the API server tells of them, what the extender says about those that wait,
// and how many nodes it gives to elastic jobs. Followed by watches; whoever wants to decide is
// woken by a descriptor.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log/log.h"
#include "cluster/extender/kube/watch.h"
#include "cluster/slurm/node_count.h"
#include "cluster/slurm/pod_json.h"

namespace pinion::slurm {

class KnownPods {
 public:
  // Begins. `elastic`: follows numbers of nodes, too. What is passed must outlive it.
  KnownPods(kube::Api& api, const PodTemplate& all, bool elastic, Log& log);
  KnownPods(const KnownPods&) = delete;
  KnownPods& operator=(const KnownPods&) = delete;
  ~KnownPods();

  // False before the first complete list: then nobody knows what there is.
  [[nodiscard]] bool complete() const { return complete_ && counts_complete_; }
  // False while the API server is not reached.
  [[nodiscard]] bool current() const { return current_; }
  [[nodiscard]] std::vector<Placeholder> now() const;
  [[nodiscard]] std::vector<NodeCount> counts() const;

  // For poll(2): readable when there is something to do, until seen(): all of a job's run, one
  // was lost, or an elastic job is to have another size. The rest can wait until somebody looks.
  [[nodiscard]] int descriptor() const { return changed_.get(); }
  bool seen();  // whether something had

 private:
  class PodFeed;
  class EventFeed;
  class CountFeed;

  void on_pod(kube::Change change, const nlohmann::json& pod);
  // Under mutex_.
  [[nodiscard]] bool all_run(const Placeholder& one) const;
  void on_count(kube::Change change, const nlohmann::json& job);
  void on_event(kube::Change change, const nlohmann::json& event);
  void tell();
  void trouble(const char* list, const Error& error);

  const PodTemplate& all_;
  Log& log_;
  Fd changed_;
  std::atomic<bool> complete_ = false;
  std::atomic<bool> counts_complete_;
  std::atomic<bool> current_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, Placeholder> pods_;  // by uid; these four under mutex_
  std::map<std::string, NodeCount> counts_;  // by uid
  struct Note {
    std::string pod;  // uid
    std::string text;
    std::string at;  // RFC 3339, when it was told last
    bool never = false;
  };
  std::map<std::string, Note> notes_;  // by the event's uid
  std::vector<std::unique_ptr<kube::WatchHandler>> feeds_;
  std::vector<std::unique_ptr<kube::Watch>> watches_;  // the last: they use all the others
};

}  // namespace pinion::slurm
