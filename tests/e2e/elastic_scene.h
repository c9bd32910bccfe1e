// Elastic Jobs on nodes without machines, with the real Job controller.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/scene.h"
#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::e2e {

using nlohmann::json;
using test_support::JobShape;

inline constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

class Elastic : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }

  void start_elastic(int count, const char* policy = "elastic") {
    ASSERT_TRUE(ok(admin().let_extender_resize_jobs()));
    start(count, {}, {"--elastic", policy});
    nodes().tell_ready();
  }

  void add_job(const JobShape& shape) {
    json job = test_support::make_job(shape);
    json& metadata = job["metadata"];
    for (const char* server : {"uid", "resourceVersion", "creationTimestamp"}) {
      metadata.erase(server);
    }
    job.erase("status");
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never";
    ASSERT_TRUE(ok(admin().api().create(kJobs, job)));
  }
  // Its pods go, too: without a policy batch/v1 leaves them.
  void remove_job(const std::string& name) {
    ASSERT_TRUE(
        ok(admin().remove(std::string(kJobs) + "/" + name + "?propagationPolicy=Background")));
  }
  json job(const std::string& name) {
    auto object = admin().api().get(std::string(kJobs) + "/" + name);
    return object ? *object : json();
  }
  // Which CPUs of which node the pod of each of its workers has, by their index.
  std::map<int, std::string> places(const std::string& name) {
    std::map<int, std::string> places;
    for (const auto& [pod, held] : nodes().held()) {
      if (!pod.starts_with(name + "-")) continue;
      places[std::stoi(pod.substr(name.size() + 1))] =
          held.uid + " on " + held.node + ": " + held.cpus.to_string();
    }
    return places;
  }
  // As soon as the agents have so many of its workers.
  std::map<int, std::string> places_of(const std::string& name, std::size_t workers) {
    EXPECT_TRUE(nodes().wait([&] { return places(name).size() == workers; }));
    return places(name);
  }
  int free_cpus() {
    int free = 0;
    for (const auto& [node, room] : nodes().rooms()) {
      free = std::accumulate(room.free_cpus.begin(), room.free_cpus.end(), free);
    }
    return free;
  }
  // As soon as the agents say so, after what their runtimes have done.
  bool has_free(int cpus) {
    return lab::eventually(kPatience, [&] { return free_cpus() == cpus; });
  }
  void wish(const std::string& name, const json& workers) {
    ASSERT_TRUE(ok(admin().api().patch(
        std::string(kJobs) + "/" + name, kube::PatchKind::kMerge,
        {{"metadata", {{"annotations", {{"pinion.dev/requested-workers", workers}}}}}})));
  }
  // What /v1/jobs has of how fast it was with so many workers; 0: nothing.
  double speed_with(const std::string& name, int workers) {
    const auto jobs = extender().page("/v1/jobs");
    if (!jobs) return 0;
    for (const json& one : kube::json_at(*jobs, "elastic")) {
      if (kube::json_text(one, "name") != "default/" + name) continue;
      for (const json& rate : kube::json_at(one, "speed", "rates")) {
        if (kube::json_integer(rate, "workers") == workers) return rate.value("perSecond", 0.0);
      }
    }
    return 0;
  }
  // As soon as the job says so at this JSON pointer.
  bool says(const std::string& name, const std::string& path, const json& value) {
    const json::json_pointer at(path);
    return lab::eventually(lab::Milliseconds(kPatience), [&] {
      const json now = job(name);
      return now.contains(at) && now.at(at) == value;
    });
  }
  // By SIGKILL, while the job goes to so many workers.
  void kill_and_restart(const std::string& name, const char* workers) {
    extender().kill();
    EXPECT_EQ(kube::json_text(job(name), "metadata", "annotations", "pinion.dev/wanted-workers"),
              workers)
        << "killed too late: " << job(name);
    ASSERT_TRUE(ok(extender().restart()));
  }
  // It runs with so many workers, and nothing of a rescale is under way.
  bool runs_with(const std::string& name, int workers) {
    return lab::eventually(lab::Milliseconds(kPatience), [&] {
      const json now = job(name);
      return kube::json_integer(now, "status", "ready") == workers &&
             kube::json_integer(now, "status", "terminating") == 0 &&
             kube::json_text(now, "metadata", "annotations", "pinion.dev/wanted-workers").empty();
    });
  }
};

inline std::map<std::string, std::string> sizes(int least, int most, int priority = 0) {
  return {{"pinion.dev/min-workers", std::to_string(least)},
          {"pinion.dev/max-workers", std::to_string(most)},
          {"pinion.dev/priority", std::to_string(priority)},
          {"pinion.dev/rescale-gap-seconds", "0"}};
}

}  // namespace pinion::e2e
