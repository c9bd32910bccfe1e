// One service, look by look: resizes and Events.
#include "cluster/extender/targets/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policy/annotations.h"
#include "tests/unit/extender_targets/sample_service.h"

namespace pinion::cluster::targets {
namespace {

using nlohmann::json;
using test_support::refuses_resize;
using test_support::service_pod;
using testing::HasSubstr;

constexpr NodeRoom kRoomy{.spare_milli = 20'000, .shared_milli = 30'000, .most_milli = 30'000};

class ControllerTest : public testing::Test {
 protected:
  Step look(std::optional<double> metric, const NodeRoom& room = kRoomy) {
    now_ms_ += 5000;
    return controller_.look(*read_service(pod_), {.metric = metric, .used_cpus = used_cpus_}, room,
                            now_ms_);
  }
  // As often; the last step.
  Step look(int times, std::optional<double> metric, const NodeRoom& room = kRoomy) {
    Step step;
    for (int i = 0; i < times; ++i) step = look(metric, room);
    return step;
  }
  // The first Event of so many looks.
  std::optional<kube::PodEvent> event(int times, std::optional<double> metric,
                                      const NodeRoom& room = kRoomy) {
    for (int i = 0; i < times; ++i) {
      if (const Step step = look(metric, room); step.event) return step.event;
    }
    return std::nullopt;
  }

  Controller controller_;
  json pod_ = service_pod("1", "500m");
  std::optional<double> used_cpus_{};
  std::int64_t now_ms_ = 0;
};

TEST_F(ControllerTest, ResizesWithTheSameShareOfARequest) {
  const Step step = look(2, 400);
  EXPECT_EQ(step.limit_milli, 2560);
  EXPECT_EQ(step.request_milli, 1280);
  ASSERT_TRUE(step.event);
  EXPECT_EQ(step.event->reason, "ServiceResized");
  EXPECT_FALSE(step.event->warning);
  EXPECT_EQ(step.event->note,
            "CPU limit of container nginx from 1.00 to 2.56 (short): measured 400, target at least "
            "1000");
}

TEST_F(ControllerTest, TakesOnlyWhatTheNodeLeaves) {
  EXPECT_EQ(
      look(2, 400, {.spare_milli = 300, .shared_milli = 9000, .most_milli = 9000}).limit_milli,
      1600)
      << "a request of 300 more is a limit of 600 more";
  controller_ = Controller();
  EXPECT_EQ(
      look(2, 400, {.spare_milli = 9000, .shared_milli = 1800, .most_milli = 9000}).limit_milli,
      1800)
      << "the others are ranks' own";
}

TEST_F(ControllerTest, AsksForAMoveOnceWhereTheNodeIsFull) {
  const NodeRoom full{.spare_milli = 0, .shared_milli = 9000, .most_milli = 9000};
  const auto told = event(20, 400, full);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "ServiceNeedsMove");
  EXPECT_TRUE(told->warning);
  EXPECT_THAT(told->note, HasSubstr("node n1 has no room for the 2.56 CPUs"));
  EXPECT_EQ(event(100, 400, full), std::nullopt) << "not again within ten minutes";
  EXPECT_TRUE(event(30, 400, full));
}

TEST_F(ControllerTest, AsksForReplicasWhereNoNodeHasSoMuch) {
  const auto told = event(20, 400, {.spare_milli = 0, .shared_milli = 2000, .most_milli = 2000});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "ServiceNeedsReplicas");
}

// Of 64 CPUs it has all but a tenth of one. The paper's loop would halve it as it doubles the
// replicas, and nobody has doubled them.
TEST_F(ControllerTest, UnderThePapersPolicyItKeepsItsCpusUntilThereAreReplicas) {
  pod_ = service_pod("63900m", "63900m");
  pod_["metadata"]["annotations"][annotation::kServicePolicy] = "paper";
  pod_["metadata"]["annotations"][annotation::kServiceTarget] = "1000000";
  pod_["metadata"]["annotations"][annotation::kServiceCpu] = "500m..128";
  const Step step =
      look(300'000, {.spare_milli = 100, .shared_milli = 64'000, .most_milli = 64'000});
  EXPECT_EQ(step.limit_milli, std::nullopt);
  EXPECT_EQ(step.reason, ServiceReason::kFull);
  ASSERT_TRUE(step.event);
  EXPECT_EQ(step.event->reason, "ServiceNeedsReplicas");
  EXPECT_THAT(step.event->note, HasSubstr("node n1 has no room for the 64.22 CPUs"));
}

TEST_F(ControllerTest, SaysThatATargetIsImpossible) {
  pod_ = service_pod("8", "4");
  const auto told = event(20, 400);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "ServiceTargetImpossible");
  EXPECT_THAT(told->note, HasSubstr("8.00: measured 400, target at least 1000. Raise the maximum"));
}

TEST_F(ControllerTest, SaysThatTheMetricIsMissingAndHolds) {
  EXPECT_EQ(event(2, std::nullopt), std::nullopt);
  const Step step = look(std::nullopt);
  EXPECT_EQ(step.limit_milli, std::nullopt);
  ASSERT_TRUE(step.event);
  EXPECT_EQ(step.event->reason, "ServiceMetricMissing");
  EXPECT_THAT(step.event->note, HasSubstr("gives no number"));
}

TEST_F(ControllerTest, SaysThatNobodyAsksAnythingAndTakesCpusBack) {
  pod_ = service_pod("4", "2");
  pod_["metadata"]["annotations"][annotation::kServiceDirection] = "at-most";
  used_cpus_ = 0.01;
  EXPECT_EQ(event(2, std::nan("")), std::nullopt) << "it may be a short pause";
  const auto told = look(std::nan("")).event;
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "ServiceIdle");
  EXPECT_FALSE(told->warning);
  EXPECT_THAT(told->note, HasSubstr("nobody asks anything"));
  const Step step = look(9, std::nan(""));
  EXPECT_EQ(step.limit_milli, 2400);
  EXPECT_EQ(step.request_milli, 1200);
  ASSERT_TRUE(step.event);
  EXPECT_EQ(step.event->note,
            "CPU limit of container nginx from 4.00 to 2.40 (idle): nobody asks anything");
}

TEST_F(ControllerTest, AServiceThatAnswersNobodyButWorksIsNotCalledIdle) {
  pod_ = service_pod("4", "2");
  pod_["metadata"]["annotations"][annotation::kServiceDirection] = "at-most";
  for (const auto used : {std::optional<double>(2), std::optional<double>()}) {
    controller_ = Controller();
    used_cpus_ = used;
    const auto told = event(3, std::nan(""));
    ASSERT_TRUE(told);
    EXPECT_EQ(told->reason, "ServiceMetricMissing");
    EXPECT_THAT(told->note, HasSubstr("gives no latency: no request has ended"));
    EXPECT_EQ(look(40, std::nan("")).limit_milli, std::nullopt);
  }
}

TEST_F(ControllerTest, TakesBackWhatTheKubeletCannotGiveAndRests) {
  pod_["spec"]["containers"][0]["resources"] = {{"limits", {{"cpu", "6"}}},
                                                {"requests", {{"cpu", "3"}}}};
  pod_ = refuses_resize(pod_, "Infeasible");
  const Step step = look(400);
  EXPECT_EQ(step.limit_milli, 1000);
  EXPECT_EQ(step.request_milli, 500);
  EXPECT_EQ(step.event->reason, "ServiceNeedsMove");
  pod_ = service_pod("1", "500m");
  EXPECT_EQ(look(11, 400).limit_milli, std::nullopt) << "a minute";
  EXPECT_TRUE(look(2, 400).limit_milli);
}

// The kubelet clears its word some seconds after it.
TEST_F(ControllerTest, TakesBackOnce) {
  pod_ = refuses_resize(pod_, "Infeasible");
  EXPECT_EQ(look(20, 400).limit_milli, std::nullopt);
  pod_ = service_pod("1", "500m");
  EXPECT_TRUE(look(2, 400).limit_milli) << "and does not rest";
}

TEST_F(ControllerTest, TakesBackWhatTheKubeletDefersForLong) {
  pod_["spec"]["containers"][0]["resources"] = {{"limits", {{"cpu", "6"}}},
                                                {"requests", {{"cpu", "3"}}}};
  pod_ = refuses_resize(pod_, "Deferred");
  EXPECT_EQ(event(12, 400), std::nullopt);
  const Step step = look(400);
  EXPECT_EQ(step.limit_milli, 1000);
  EXPECT_EQ(step.event->reason, "ServiceNeedsMove");
}

TEST_F(ControllerTest, AfterARefusalNothingIsChanged) {
  pod_ = service_pod("4", "2");
  ASSERT_TRUE(look(3, 9000).limit_milli) << "it has more than it needs";
  controller_.refused("a quota", now_ms_);
  EXPECT_EQ(look(11, 9000).limit_milli, std::nullopt) << "a minute";
  EXPECT_TRUE(look(2, 9000).limit_milli);
}

TEST_F(ControllerTest, ANodeWithoutAnAgentIsNotCalledFull) {
  EXPECT_EQ(event(40, 400, {.most_milli = 9000, .live = false}), std::nullopt);
}

TEST_F(ControllerTest, RestsLongerAfterEachRefusal) {
  std::int64_t last = 0;
  std::vector<std::int64_t> pauses;
  for (int i = 0; i < 200 && pauses.size() < 4; ++i) {
    if (!look(400).limit_milli) continue;
    if (last != 0) pauses.push_back((now_ms_ - last) / 1000);
    last = now_ms_;
    controller_.refused("no", now_ms_);
  }
  ASSERT_EQ(pauses.size(), 4U);
  EXPECT_EQ(pauses[0], 60);
  EXPECT_EQ(pauses[1], 120);
  EXPECT_EQ(pauses[2], 240);
}

TEST_F(ControllerTest, BeginsAnewWithAnotherTarget) {
  look(10, 1020);
  pod_["metadata"]["annotations"][annotation::kServiceTarget] = "2000";
  EXPECT_EQ(look(1020).limit_milli, std::nullopt);
  EXPECT_EQ(look(1020).limit_milli, 2010);
}

}  // namespace
}  // namespace pinion::cluster::targets
