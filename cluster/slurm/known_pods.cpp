#include "cluster/slurm/known_pods.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/slurm/node_count_json.h"
#include "policy/annotations.h"

namespace pinion::slurm {
namespace {

using kube::Change;
using kube::json_text;
using nlohmann::json;
using Phase = Placeholder::Phase;

}  // namespace

class KnownPods::PodFeed : public kube::WatchHandler {
 public:
  explicit PodFeed(KnownPods& known) : known_(known) {}
  void on_object(Change change, const json& object) override { known_.on_pod(change, object); }
  void on_synced(std::uint64_t /*generation*/) override {
    known_.complete_ = true;
    known_.current_ = true;
    known_.tell();
  }
  void on_trouble(const Error& error, std::chrono::milliseconds /*pause*/) override {
    known_.current_ = false;
    known_.trouble("pods", error);
  }

 private:
  KnownPods& known_;
};

class KnownPods::EventFeed : public kube::WatchHandler {
 public:
  explicit EventFeed(KnownPods& known) : known_(known) {}
  void on_object(Change change, const json& object) override { known_.on_event(change, object); }
  void on_synced(std::uint64_t /*generation*/) override {}
  void on_trouble(const Error& error, std::chrono::milliseconds /*pause*/) override {
    known_.trouble("events", error);
  }

 private:
  KnownPods& known_;
};

class KnownPods::CountFeed : public kube::WatchHandler {
 public:
  explicit CountFeed(KnownPods& known) : known_(known) {}
  void on_object(Change change, const json& object) override { known_.on_count(change, object); }
  void on_synced(std::uint64_t /*generation*/) override {
    known_.counts_complete_ = true;
    known_.tell();
  }
  void on_trouble(const Error& error, std::chrono::milliseconds /*pause*/) override {
    known_.trouble("jobs", error);
  }

 private:
  KnownPods& known_;
};

KnownPods::KnownPods(kube::Api& api, const PodTemplate& all, bool elastic, Log& log)
    : all_(all),
      log_(log),
      changed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      counts_complete_(!elastic) {
  const std::string name_space = "/namespaces/" + kube::percent_encoded(all.name_space);
  kube::WatchOptions pods;
  pods.path = "/api/v1" + name_space + "/pods";
  pods.label_selector = std::string(label::kSlurmCluster) + "=" + all.cluster;
  pods.backoff_longest = std::chrono::milliseconds(5000);
  feeds_.push_back(std::make_unique<PodFeed>(*this));
  watches_.push_back(std::make_unique<kube::Watch>(api, pods, *feeds_.back()));
  if (elastic) {
    kube::WatchOptions jobs;  // no copy: that would draw from the same random numbers
    jobs.path = "/apis/batch/v1" + name_space + "/jobs";
    jobs.label_selector = pods.label_selector;
    jobs.backoff_longest = pods.backoff_longest;
    feeds_.push_back(std::make_unique<CountFeed>(*this));
    watches_.push_back(std::make_unique<kube::Watch>(api, jobs, *feeds_.back()));
  }
  for (const char* reason : {kube::kNeverFits, kube::kGangWaits}) {
    kube::WatchOptions events;
    events.path = "/apis/events.k8s.io/v1" + name_space + "/events";
    events.field_selector = std::string("reason=") + reason;
    feeds_.push_back(std::make_unique<EventFeed>(*this));
    watches_.push_back(std::make_unique<kube::Watch>(api, events, *feeds_.back()));
  }
}

KnownPods::~KnownPods() {
  for (auto& watch : watches_) watch->stop();
}

std::vector<Placeholder> KnownPods::now() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, const Note*> notes;  // by the pod's uid
  for (const auto& [uid, note] : notes_) {
    const Note*& kept = notes[note.pod];
    if (kept == nullptr || note.at > kept->at) kept = &note;
  }
  std::vector<Placeholder> all;
  all.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) {
    all.push_back(pod);
    const auto note = notes.find(uid);
    // Where it has a node, its kubelet says more than what was told of its wait for one.
    if (note != notes.end() && pod.phase == Placeholder::Phase::kWaiting && pod.node.empty()) {
      all.back().why = note->second->text;
      all.back().never = note->second->never;
    }
  }
  return all;
}

std::vector<NodeCount> KnownPods::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeCount> all;
  for (const auto& [uid, count] : counts_) all.push_back(count);
  return all;
}

bool KnownPods::seen() {
  eventfd_t count = 0;
  return eventfd_read(changed_.get(), &count) == 0;
}

void KnownPods::tell() {
  (void)eventfd_write(changed_.get(), 1);
}

void KnownPods::on_pod(Change change, const json& pod) {
  const std::string uid = json_text(pod, "metadata", "uid");
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    const auto read = placeholder_of(all_, pod);
    const auto before = pods_.find(uid);
    const auto phase = before == pods_.end() ? Phase::kWaiting : before->second.phase;
    if (change == Change::kDeleted || !read) {
      news = before != pods_.end() && phase != Phase::kLost;
      pods_.erase(uid);
      std::erase_if(notes_, [&](const auto& note) { return note.second.pod == uid; });
    } else {
      pods_[uid] = *read;
      news = read->phase != phase && (read->phase == Phase::kLost || all_run(*read));
    }
  }
  if (news) tell();
}

void KnownPods::on_count(Change change, const json& job) {
  const std::string uid = json_text(job, "metadata", "uid");
  const auto read = change == Change::kDeleted ? std::nullopt : node_count_of(all_, job);
  {
    const std::lock_guard lock(mutex_);
    if (read) {
      counts_[uid] = *read;
    } else {
      counts_.erase(uid);
    }
  }
  tell();
}

bool KnownPods::all_run(const Placeholder& one) const {
  const auto running = std::count_if(pods_.begin(), pods_.end(), [&](const auto& entry) {
    return entry.second.attempt == one.attempt && entry.second.phase == Phase::kRunning;
  });
  return running >= one.size;
}

void KnownPods::on_event(Change change, const json& event) {
  const std::string pod = json_text(event, "regarding", "uid");
  const std::lock_guard lock(mutex_);
  const std::string uid = json_text(event, "metadata", "uid");
  if (change == Change::kDeleted) {
    notes_.erase(uid);
  } else if (json_text(event, "regarding", "kind") == "Pod" &&
             json_text(event, "regarding", "name")
                     .compare(0, all_.cluster.size() + 1, all_.cluster + "-") == 0) {
    const std::string again = json_text(event, "series", "lastObservedTime");
    notes_[uid] = {.pod = pod,
                   .text = json_text(event, "note"),
                   .at = again.empty() ? json_text(event, "eventTime") : again,
                   .never = json_text(event, "reason") == kube::kNeverFits};
  }
}

void KnownPods::trouble(const char* list, const Error& error) {
  log_.warn("the API server was not understood or not reached",
            {{"list", list}, {"why", error.text}});
}

}  // namespace pinion::slurm
