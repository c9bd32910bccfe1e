// A cluster of elastic Jobs: what the controller says is applied to them, and their pods come and
// go when they are told to.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/extender/elastic/controller.h"
#include "policy/annotations.h"
#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::cluster::elastic {

using Kind = Action::Kind;

// A cluster of so many CPUs, with its Jobs, whose pods come and go when they are told to.
class Cluster {
 public:
  explicit Cluster(std::int64_t cpus, ElasticPolicy policy = ElasticPolicy::kElastic)
      : cpus_(cpus), policy_(policy), controller_(policy) {}

  nlohmann::json& add(const test_support::JobShape& shape) {
    cpus_of_worker_["uid-" + shape.name] = shape.cpus;
    return jobs_["uid-" + shape.name] = test_support::make_job(shape);
  }
  // "high", which is urgent and waits for four workers.
  void add_high() {
    add({.name = "high",
         .suspended = true,
         .annotations = {{annotation::kMinWorkers, "4"},
                         {annotation::kMaxWorkers, "4"},
                         {annotation::kPriority, "5"}}});
  }
  nlohmann::json& at(const std::string& name) { return jobs_.at("uid-" + name); }
  void remove(const std::string& name) { jobs_.erase("uid-" + name); }

  // What the controller does now; all of it is carried out but what `lost` says.
  std::vector<Action> step(const std::function<bool(const Action&)>& lost = {}) {
    std::map<std::string, ElasticObject> seen;
    for (const auto& [uid, job] : jobs_) {
      ElasticObject& one = seen.emplace(uid, *read_elastic(job, {})).first->second;
      if (!hang_.contains(uid)) one.on_fleet.placed = one.ready;
      if (const auto asked = asked_.find(uid); asked != asked_.end()) one.asked = asked->second;
    }
    decided_ = controller_.step(seen, free(), now_ms_, settling_);
    for (const Action& action : decided_.actions) {
      if (lost && lost(action)) continue;
      nlohmann::json& job = jobs_.at(action.uid);
      EXPECT_EQ(action.patch["metadata"]["resourceVersion"], job["metadata"]["resourceVersion"]);
      job.merge_patch(action.patch);
      ++version_;
      job["metadata"]["resourceVersion"] = std::to_string(version_);
    }
    return decided_.actions;
  }
  // Why it waits, as the last step() has it.
  std::string why(const std::string& name) { return decided_.waits["uid-" + name]; }
  // Another replica leads from now on.
  void take_over() { controller_ = Controller(policy_); }

  // The Job controller and the kubelets: pods that are too many begin to end, those that are too
  // few are made; then pods are as they are to be.
  void make_pods(const std::string& name) {
    nlohmann::json& job = at(name);
    const int wanted = job["spec"]["suspend"] == true ? 0 : job["spec"]["parallelism"].get<int>();
    const int active = count(job, "active");
    job["status"]["terminating"] = count(job, "terminating") + std::max(0, active - wanted);
    job["status"]["active"] = wanted;
    const int first = hang_.contains("uid-" + name) ? 1 : 0;  // those that are ready come after it
    job["status"]["ready"] = std::min(count(job, "ready"), std::max(0, wanted - first));
  }
  void settle(const std::string& name) {
    make_pods(name);
    at(name)["status"]["ready"] = at(name)["status"]["active"];
    at(name)["status"]["terminating"] = 0;
  }
  void settle_all() {
    for (const auto& [uid, job] : jobs_) settle(uid.substr(4));
  }

  // Its application wishes so many.
  void asks_for(const std::string& name, int workers) { asked_["uid-" + name] = workers; }

  // CPUs are becoming free, or no more.
  void settles(bool settling) { settling_ = settling; }

  // The pod with index 0 never becomes ready.
  void first_hangs(const std::string& name) { hang_.insert("uid-" + name); }

  // Applications that agree to what they are asked.
  void acknowledge_all() {
    for (auto& [uid, job] : jobs_) {
      nlohmann::json& annotations = job["metadata"]["annotations"];
      if (annotations.contains(annotation::kWantedWorkers))
        annotations[annotation::kAcknowledgedWorkers] = annotations[annotation::kWantedWorkers];
    }
  }

  [[nodiscard]] static int count(const nlohmann::json& job, const char* what) {
    return job["status"].value(what, 0);
  }
  [[nodiscard]] std::int64_t held() const {
    std::int64_t held = 0;
    for (const auto& [uid, job] : jobs_) {
      held += cpus_of_worker_.at(uid) * (count(job, "active") + count(job, "terminating"));
    }
    return held;
  }
  [[nodiscard]] std::int64_t free() const { return std::max<std::int64_t>(0, cpus_ - held()); }
  [[nodiscard]] std::int64_t cpus() const { return cpus_; }
  int workers(const std::string& name) { return at(name)["spec"]["parallelism"]; }
  std::string annotation(const std::string& name, const char* key) {
    return at(name)["metadata"]["annotations"].value(key, "");
  }
  void annotate(const std::string& name, const char* key, const std::string& value) {
    at(name)["metadata"]["annotations"][key] = value;
  }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void wait(std::int64_t ms) { now_ms_ += ms; }

 private:
  std::int64_t cpus_;
  ElasticPolicy policy_;
  Controller controller_;
  Decided decided_;
  std::map<std::string, nlohmann::json> jobs_;
  std::map<std::string, std::int64_t> cpus_of_worker_;  // by uid
  std::set<std::string> hang_;                          // the same
  std::map<std::string, int> asked_;                    // the same
  std::int64_t now_ms_ = 1'795'532'400'000;
  int version_ = 100;
  bool settling_ = false;
};

inline std::vector<Kind> kinds(const std::vector<Action>& actions) {
  std::vector<Kind> kinds;
  for (const Action& action : actions) kinds.push_back(action.kind);
  return kinds;
}

}  // namespace pinion::cluster::elastic
