// Elastic Jobs with the real Job controller, scheduler and API server: they start, make room, grow,
// and go on where a killed extender has left them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/with_agents.h"
#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using test_support::JobShape;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

class Elastic : public WithAgents<Scene> {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }

  void start_elastic(int count, const char* policy = "elastic") {
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

std::map<std::string, std::string> sizes(int least, int most, int priority = 0) {
  return {{"pinion.dev/min-workers", std::to_string(least)},
          {"pinion.dev/max-workers", std::to_string(most)},
          {"pinion.dev/priority", std::to_string(priority)},
          {"pinion.dev/rescale-gap-seconds", "0"}};
}

TEST_F(Elastic, AJobStartsWideMakesRoomAndGrowsBack) {
  start_elastic(2);  // four NUMA nodes of 16 CPUs
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  const std::map<int, std::string> first = {{0, wide.at(0)}, {1, wide.at(1)}};
  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_EQ(places_of("low", 2), first);
  remove_job("high");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  const auto again = places_of("low", 4);
  EXPECT_EQ((std::map<int, std::string>{{0, again.at(0)}, {1, again.at(1)}}), first);
  EXPECT_GT(extender().figure("pinion_extender_elastic_steps_total{step=\"expand\"}"), 0);
  remove_job("low");
}

TEST_F(Elastic, WorkersThatStayKeepTheirCpusAndThoseOfTheOthersAreFree) {
  start_elastic(2);
  const int all = free_cpus();
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  EXPECT_TRUE(has_free(all - 4 * 15));
  wish("low", "2");
  ASSERT_TRUE(runs_with("low", 2)) << job("low");
  const auto narrow = places_of("low", 2);
  EXPECT_EQ(narrow, (std::map<int, std::string>{{0, wide.at(0)}, {1, wide.at(1)}}));
  EXPECT_TRUE(has_free(all - 2 * 15)) << "those of 2 and 3 are";
  wish("low", nullptr);
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  auto again = places_of("low", 4);
  EXPECT_TRUE(has_free(all - 4 * 15));
  again.erase(2);
  again.erase(3);
  EXPECT_EQ(again, narrow);
  remove_job("low");
}

// Of a job that is no faster with more.
TEST_F(Elastic, AWishForMoreIsMetUnderOursToo) {
  start_elastic(2, "ours");
  auto annotations = sizes(1, 4);
  annotations["pinion.dev/speed-up"] = "1:1 4:1";
  annotations["pinion.dev/requested-workers"] = "1";
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = annotations});
  ASSERT_TRUE(runs_with("low", 1)) << job("low");
  wish("low", "4");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  EXPECT_EQ(places_of("low", 4).size(), 4U);
  remove_job("low");
}

// An application that does 50 in a second for each of its workers, and reports that on its job.
class Reporter {
 public:
  Reporter(Admin& admin, const std::string& name)
      : thread_([&admin, name](const std::stop_token& stop) {
          const std::string path = std::string(kJobs) + "/" + name;
          const auto begin = std::chrono::steady_clock::now();
          while (!stop.stop_requested()) {
            const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
            const json patch = {
                {"metadata",
                 {{"annotations",
                   {{"pinion.dev/progress", std::to_string(100 * since.count()) + "/1000000"}}}}}};
            (void)admin.api().patch(path, kube::PatchKind::kMerge, patch);
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
          }
        }) {}

 private:
  std::jthread thread_;
};

TEST_F(Elastic, WhatAnApplicationReportsIsKnownToTheNextLeader) {
  start_elastic(2);
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(2, 2)});
  ASSERT_TRUE(runs_with("low", 2)) << job("low");
  {
    const Reporter reporter(admin(), "low");
    ASSERT_TRUE(lab::eventually(lab::Milliseconds(2 * kPatience),
                                [&] { return speed_with("low", 2) > 0; }));
    EXPECT_NEAR(speed_with("low", 2), 100, 20);
    ASSERT_TRUE(ok(
        admin().api().patch(std::string(kJobs) + "/low", kube::PatchKind::kMerge,
                            {{"metadata", {{"annotations", {{"pinion.dev/max-workers", "3"}}}}}})));
    ASSERT_TRUE(runs_with("low", 3)) << job("low");
  }
  extender().kill();
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(lab::eventually(lab::Milliseconds(kPatience), [&] {
    return speed_with("low", 2) > 0;
  })) << job("low");
  EXPECT_EQ(speed_with("low", 3), 0) << "nobody has measured it with three";
  remove_job("low");
}

TEST_F(Elastic, AKilledExtenderGoesOnInTheMiddleOfARescale) {
  start_elastic(2);
  auto annotations = sizes(1, 4);
  annotations["pinion.dev/acknowledge"] = "annotation";
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = annotations});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  // Asked, and not answered yet.
  ASSERT_TRUE(lab::eventually(lab::Milliseconds(kPatience), [&] {
    return kube::json_text(job("low"), "metadata", "annotations", "pinion.dev/wanted-workers") ==
           "2";
  })) << job("low");
  extender().kill();
  ASSERT_TRUE(ok(admin().api().patch(
      std::string(kJobs) + "/low", kube::PatchKind::kMerge,
      {{"metadata", {{"annotations", {{"pinion.dev/acknowledged-workers", "2"}}}}}})));
  EXPECT_EQ(kube::json_integer(job("low"), "spec", "parallelism"), 4) << "nobody is there to act";
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  for (const char* name : {"low", "high"}) remove_job(name);
}

TEST_F(Elastic, AnExtenderKilledInAnyPhaseIsFollowedByOneThatGoesOn) {
  start_elastic(2);
  const int all = free_cpus();
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(says("low", "/metadata/annotations/pinion.dev~1wanted-workers", "4"))
      << "its start is decided: " << job("low");
  kill_and_restart("low", "4");
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  const std::map<int, std::string> first = {{0, wide.at(0)}, {1, wide.at(1)}};

  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  ASSERT_TRUE(says("low", "/spec/parallelism", 2)) << "pods of its shrink end: " << job("low");
  kill_and_restart("low", "2");
  ASSERT_TRUE(says("high", "/spec/suspend", false)) << "its start is decided, too";
  kill_and_restart("high", "2");
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  EXPECT_EQ(places_of("low", 2), first);
  places_of("high", 2);
  EXPECT_TRUE(has_free(all - 4 * 15));

  remove_job("high");
  ASSERT_TRUE(says("low", "/spec/parallelism", 4)) << "its expand is decided: " << job("low");
  kill_and_restart("low", "4");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  const auto again = places_of("low", 4);
  EXPECT_EQ((std::map<int, std::string>{{0, again.at(0)}, {1, again.at(1)}}), first);
  EXPECT_TRUE(has_free(all - 4 * 15));
  remove_job("low");
}

}  // namespace
}  // namespace pinion::e2e
