// A pod that its node's agent refuses: evicted with the reason, so that its controller makes
// another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "policy/runtime_pod.h"
#include "tests/e2e/scene.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

class Refused : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }

  // Its pods are for another scheduler, which knows nothing of cores: the test.
  void add_job(const PodShape& shape) {
    const json pod = pod_object(shape);
    json spec = pod.at("spec");
    spec["restartPolicy"] = "Never";
    const json job = {{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", {{"name", shape.name}}},
                      {"spec", {{"template", {{"spec", spec}}}}}};
    ASSERT_TRUE(ok(admin().api().create(kJobs, job)));
  }
  // The pod of the job that is not bound, as soon as there is one.
  kube::PodRef waiting_pod() {
    kube::PodRef found;
    EXPECT_TRUE(pods().wait([&](const Collection::Objects& all) {
      for (const auto& [name, pod] : all) {
        if (!name.starts_with("job-") || !node_of(pod).empty()) continue;
        found = {
            .name_space = "default", .name = name, .uid = kube::json_text(pod, "metadata", "uid")};
        return true;
      }
      return false;
    }));
    return found;
  }
};

TEST_F(Refused, APodIsEvictedAndItsJobMakesAnother) {
  start(2, {}, {"--refused-time", "1s"});
  const auto fillers = fill_nodes(2);
  const std::string full = node_of_pod(fillers.front());
  add_job({.name = "job", .milli_cpus = 12'000, .scheduler = "other"});
  const kube::PodRef first = waiting_pod();
  ASSERT_TRUE(ok(kube::bind_pod(admin().api(), first, full)));
  ASSERT_TRUE(pods().wait_until_gone(first.name));
  const auto bounced = nodes().take_bounced();
  ASSERT_EQ(bounced.size(), 1U);
  EXPECT_EQ(bounced.front().pod, first.name);

  // Of what the runtime says, the agent's part.
  const std::string& text = bounced.front().text;
  ASSERT_THAT(text, HasSubstr(policy::kRefusalBegins));
  const std::string why = text.substr(text.find(policy::kRefusalBegins));
  Collection events(admin().api(), "/apis/events.k8s.io/v1/namespaces/default/events");
  EXPECT_TRUE(events.wait([&](const Collection::Objects& all) {
    return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
      return kube::json_text(entry.second, "reason") == "CoresRefused" &&
             kube::json_text(entry.second, "note") == why &&
             kube::json_text(entry.second, "regarding", "uid") == first.uid;
    });
  })) << text;
  EXPECT_EQ(extender().figure("pinion_extender_evicted_total"), 1);

  // Of the next one's node the first has taken nothing.
  const kube::PodRef second = waiting_pod();
  agents().expect_no_plan(second.name);
  ASSERT_TRUE(ok(admin().remove_pod(fillers.front())));
  ASSERT_TRUE(ok(kube::bind_pod(admin().api(), second, full)));
  EXPECT_TRUE(run({second.name}));
}

}  // namespace
}  // namespace pinion::e2e
