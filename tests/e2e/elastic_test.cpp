// Elastic Jobs with the real Job controller, scheduler and API server: they start, make room, grow,
// and go on where a killed extender has left them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/scene.h"
#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using test_support::JobShape;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

class Elastic : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }

  void start_elastic(int count) {
    start(count, {}, {"--elastic", "elastic"});
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
  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  remove_job("high");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  EXPECT_GT(extender().figure("pinion_extender_elastic_steps_total{step=\"expand\"}"), 0);
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

}  // namespace
}  // namespace pinion::e2e
