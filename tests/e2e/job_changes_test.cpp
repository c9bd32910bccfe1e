// Indexed Jobs that their users change, whose pods end and that come again: the real Job controller
// makes the pods, and the gang, its hostfile and its cores follow.
#include <gtest/gtest.h>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/webhook_scene.h"

namespace pinion::e2e {
namespace {

using kube::json_text;
using nlohmann::json;

constexpr const char* kIndexedJobs = "/apis/batch/v1/namespaces/default/jobs";

class ChangedJobs : public WebhookScene {
 protected:
  void SetUp() override {
    WebhookScene::SetUp();
    if (IsSkipped() || HasFailure()) return;
    maps_ = std::make_unique<Collection>(admin().api(), "/api/v1/namespaces/default/configmaps");
  }
  // Of tasks of 2 CPUs, in as many workers as the webhook finds good: four.
  void create(const std::string& name, const std::string& tasks) {
    json job = captured("job_create", name);
    job["metadata"]["annotations"] = {{"pinion.dev/tasks", tasks},
                                      {"pinion.dev/cpus-per-task", "2"},
                                      {"pinion.dev/memory-per-task", "64Mi"},
                                      {"pinion.dev/profile", "cpu"},
                                      {"pinion.dev/policy", "scale"}};
    json& spec = job["spec"];
    spec.erase("parallelism");
    spec.erase("completions");
    spec["template"]["spec"]["subdomain"] = name;
    spec["template"]["spec"]["containers"][0].erase("resources");
    EXPECT_TRUE(ok(admin().api().create(kIndexedJobs, job)));
  }
  void patch(const std::string& name, const json& spec) {
    EXPECT_TRUE(ok(admin().api().patch(std::string(kIndexedJobs) + "/" + name,
                                       kube::PatchKind::kMerge, {{"spec", spec}})));
  }
  testing::AssertionResult has_hostfile(const std::string& name, const std::string& text) {
    const bool has = maps_->wait_for(name + "-pinion", [&](const json& map) {
      return json_text(map, "data", "hostfile") == text;
    });
    if (has) return testing::AssertionSuccess();
    return testing::AssertionFailure() << name << " has another hostfile, or none";
  }
  void expect_two(const std::string& name) {
    ASSERT_TRUE(run(pods_called(name + "-", 2)));
    EXPECT_TRUE(has_hostfile(name, name + "-0." + name + " slots=4\n" +  //
                                       name + "-1." + name + " slots=4\n"));
  }
  Collection& maps() { return *maps_; }

 private:
  std::unique_ptr<Collection> maps_;
};

TEST_F(ChangedJobs, StartWithFewerThanTheyWaitedFor) {
  const auto fillers = fill_cores({15, 15, 15, 15, 15, 15, 12, 8});  // holes of 4, 8 and one
  ASSERT_TRUE(run(fillers));
  create("scale", "8");
  ASSERT_TRUE(wait_in_vain(pods_called("scale-", 4)));
  patch("scale", {{"parallelism", 2}, {"completions", 2}});
  expect_two("scale");
}

TEST_F(ChangedJobs, StartAgainAfterASuspension) {
  create("scale", "8");
  ASSERT_TRUE(run(pods_called("scale-", 4)));
  patch("scale", {{"suspend", true}});
  pods_called("scale-", 0);
  patch("scale", {{"suspend", false}, {"parallelism", 2}, {"completions", 2}});
  expect_two("scale");
}

// Three have succeeded, and the only other one is made anew: it waits for nobody.
TEST_F(ChangedJobs, GoOnWithThoseWhoStillRun) {
  create("scale", "8");
  const auto first = pods_called("scale-", 4);
  ASSERT_TRUE(run(first));
  EXPECT_TRUE(last_is_replaced("scale", first));
}

// Deleted and applied once more, as people do: nothing of the first one is left to stand for it.
TEST_F(ChangedJobs, ThatComeAgainUnderTheirNameHaveAHostfileOfTheirOwn) {
  create("again", "8");
  ASSERT_TRUE(run(pods_called("again-", 4)));
  ASSERT_TRUE(maps().wait_for("again-pinion", [](const json&) { return true; }));
  ASSERT_TRUE(
      ok(admin().remove(std::string(kIndexedJobs) + "/again?propagationPolicy=Background")));
  ASSERT_TRUE(maps().wait_until_gone("again-pinion"));
  pods_called("again-", 0);
  create("again", "4");
  ASSERT_TRUE(run(pods_called("again-", 4)));
  EXPECT_TRUE(maps().wait_for("again-pinion", [](const json& map) {
    return json_text(map, "data", "hostfile").starts_with("again-0.again slots=1\n");
  }));
}

}  // namespace
}  // namespace pinion::e2e
