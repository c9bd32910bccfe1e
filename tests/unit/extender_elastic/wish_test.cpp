// What users and applications wish for themselves, under each policy that rescales.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/elastic/reasons.h"
#include "tests/unit/extender_elastic/play_cluster.h"

namespace pinion::cluster::elastic {
namespace {

using test_support::JobShape;
using testing::HasSubstr;

class ElasticWish : public testing::TestWithParam<ElasticPolicy> {};

TEST_P(ElasticWish, WhatItsUserWishesComesFirst) {
  Cluster cluster(32, GetParam());
  cluster.add({.workers = 6});
  cluster.settle("wave");
  cluster.annotate("wave", annotation::kRequestedWorkers, "3");
  const auto actions = cluster.step();
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kShrink));
  EXPECT_THAT(actions[0].why, HasSubstr("as its user wishes"));
  EXPECT_EQ(cluster.workers("wave"), 3);
  cluster.settle("wave");
  cluster.step();
  cluster.wait(1'000'000);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "it stays there";
  cluster.annotate("wave", annotation::kRequestedWorkers, "5");
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kExpand));
  EXPECT_EQ(cluster.workers("wave"), 5);
  cluster.settle("wave");
  cluster.step();
  cluster.at("wave")["metadata"]["annotations"].erase(annotation::kRequestedWorkers);
  cluster.wait(1'000'000);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kExpand));
  EXPECT_EQ(cluster.workers("wave"), 8) << "as the policy says again";
}

// Though it is no faster with more, is nearly done, and rescales are dear: the gap that it states
// is all that holds.
TEST_P(ElasticWish, IsMetWithoutAnyGain) {
  Cluster cluster(32, GetParam());
  auto annotations = JobShape().annotations;
  annotations[annotation::kSpeedUp] = "1:1 8:1";
  annotations[annotation::kRunSeconds] = "2000";
  annotations[annotation::kRescaleCostSeconds] = "3600";
  annotations[annotation::kRescaleGapSeconds] = "60";
  cluster.add({.annotations = annotations});
  cluster.settle("wave");
  cluster.annotate("wave", annotation::kRequestedWorkers, "2");
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
  cluster.settle("wave");
  cluster.step();
  cluster.annotate("wave", annotation::kRequestedWorkers, "8");
  cluster.wait(59'999);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  cluster.wait(1);
  const auto actions = cluster.step();
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kExpand));
  EXPECT_THAT(actions[0].why, HasSubstr("as its user wishes"));
  EXPECT_EQ(cluster.workers("wave"), 8);
}

TEST_P(ElasticWish, SaysWhyItIsNotMet) {
  struct Case {
    const char* name;
    const char* requested;
    std::function<void(Cluster&)> and_so;
    std::string why;
  };
  const auto annotated = [](const char* key, const std::string& value) {
    return [=](Cluster& cluster) { cluster.annotate("wave", key, value); };
  };
  const auto other_takes = [](int cpus) {
    return [=](Cluster& cluster) {
      cluster.add({.name = "other", .cpus = cpus, .workers = 1, .annotations = {}});
      cluster.settle("other");
    };
  };
  for (const Case& c :
       {Case{"met", "4", [](Cluster&) {}, ""},
        Case{"max", "12",
             [](Cluster& cluster) { cluster.annotate("wave", annotation::kMaxWorkers, "4"); },
             "its user wishes 12 workers, and max-workers is 4"},
        Case{"min", "1", annotated(annotation::kMinWorkers, "4"),
             "its user wishes 1 workers, and min-workers is 4"},
        Case{"moldable", "6",
             [](Cluster& cluster) {
               cluster.at("wave")["metadata"]["labels"][label::kElastic] = "moldable";
             },
             "its user wishes 6 workers, and it keeps its size while it runs, as it is moldable"},
        Case{"it ends", "6",
             [](Cluster& cluster) { cluster.at("wave")["status"]["succeeded"] = 1; },
             "its user wishes 6 workers, and some of its workers have ended"},
        Case{"declined", "6", annotated(annotation::kDeclinedUntil, "1795532520000"),
             "its user wishes 6 workers, not tried before 2026-11-24T15:02:00Z"},
        Case{"gap", "6", annotated(annotation::kRescaledAt, "1795532400000"),
             "its user wishes 6 workers, and rescale-gap-seconds are over at "
             "2026-11-24T15:03:00Z"},
        Case{"no room", "6", other_takes(15),
             "its user wishes 6 workers, and a worker needs 4 CPUs, 1 CPU is free"}}) {
    SCOPED_TRACE(c.name);
    Cluster cluster(32, GetParam());
    auto annotations = JobShape().annotations;
    annotations[annotation::kRequestedWorkers] = c.requested;
    cluster.add({.workers = 4, .annotations = annotations});
    cluster.settle("wave");
    c.and_so(cluster);
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
    EXPECT_EQ(cluster.why("wave"), c.why);
  }
}

TEST_P(ElasticWish, IsMetAsFarAsCpusAreFree) {
  Cluster cluster(20, GetParam());
  auto annotations = JobShape().annotations;
  annotations[annotation::kRequestedWorkers] = "7";
  cluster.add({.workers = 2, .annotations = annotations});
  cluster.settle("wave");
  cluster.add({.name = "other", .cpus = 4, .workers = 1, .annotations = {}});
  cluster.settle("other");
  const auto actions = cluster.step();
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kExpand));
  EXPECT_EQ(actions[0].why, "from 2 to 4 workers, as its user wishes more, and 8 CPUs are free");
}

TEST_P(ElasticWish, AnApplicationsIsBoundedAndGoesAfterItsUsers) {
  struct Case {
    const char* name;
    int asked;
    const char* requested;  // by its user; empty: nothing
    int gets;
    const char* why;
  };
  for (const Case& c :
       {Case{"more", 6, "", 6, "from 4 to 6 workers, as its application wishes"},
        Case{"fewer", 3, "", 3, "from 4 to 3 workers, as its application wishes"},
        Case{"more than it may have", 1000, "", 8, "from 4 to 8 workers, as its application"},
        Case{"fewer than it may have", 1, "", 2, "from 4 to 2 workers, as its application"},
        Case{"its user says something else", 6, "5", 5, "from 4 to 5 workers, as its user"}}) {
    SCOPED_TRACE(c.name);
    Cluster cluster(64, GetParam());
    auto annotations = JobShape().annotations;
    if (*c.requested != '\0') annotations[annotation::kRequestedWorkers] = c.requested;
    cluster.add({.workers = 4, .annotations = annotations});
    cluster.settle("wave");
    cluster.asks_for("wave", c.asked);
    const auto actions = cluster.step();
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_THAT(actions[0].why, HasSubstr(c.why));
    cluster.settle("wave");
    cluster.step();
    EXPECT_EQ(cluster.workers("wave"), c.gets);
    cluster.wait(1'000'000);
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "it stays there";
  }
}

// Whoever wishes it, and however many.
TEST_P(ElasticWish, GivesWayToAMoreUrgentJob) {
  for (const bool by_user : {false, true}) {
    for (const int wish : {8, 12}) {
      SCOPED_TRACE(std::to_string(wish) + (by_user ? " by its user" : " by its application"));
      Cluster cluster(32, GetParam());
      auto annotations = JobShape().annotations;
      annotations[annotation::kMaxWorkers] = "12";
      cluster.add({.workers = 8, .annotations = annotations});
      cluster.settle("wave");
      if (by_user) {
        cluster.annotate("wave", annotation::kRequestedWorkers, std::to_string(wish));
      } else {
        cluster.asks_for("wave", wish);
      }
      cluster.step();
      cluster.add_high();
      const auto actions = cluster.step();
      ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kShrink));
      EXPECT_THAT(actions[0].why, HasSubstr("to make room for high"));
      EXPECT_EQ(cluster.workers("wave"), 4);
      cluster.settle("wave");
      cluster.step();
      cluster.step();
      EXPECT_EQ(cluster.workers("high"), 4);
      EXPECT_EQ(cluster.at("high")["spec"]["suspend"], false);
    }
  }
}

TEST_P(ElasticWish, HoldsAgainstOneAsUrgentUntilThatHasWaitedForTooLong) {
  Cluster cluster(32, GetParam());
  cluster.add({.workers = 8});
  cluster.settle("wave");
  cluster.asks_for("wave", 8);
  cluster.add({.name = "next",
               .suspended = true,
               .annotations = {{annotation::kMinWorkers, "4"}, {annotation::kMaxWorkers, "4"}}});
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  const bool ours = GetParam() == ElasticPolicy::kOurs;
  EXPECT_THAT(cluster.why("next"), HasSubstr(ours ? "no other job may shrink for it; 24 CPUs are "
                                                    "held by wishes"
                                                  : "no other job may shrink for it"));
  cluster.wait(2 * ElasticKnobs().patience_ms);
  EXPECT_EQ(kinds(cluster.step()), ours ? std::vector{Kind::kShrink} : std::vector<Kind>());
}

TEST_P(ElasticWish, AnApplicationsShrinksKeepTheGapAndItsUsersDoNot) {
  constexpr std::int64_t kHour = 3'600'000;
  constexpr std::int64_t kGap = 180'000;
  for (const bool by_user : {false, true}) {
    SCOPED_TRACE(by_user);
    Cluster cluster(64, GetParam());
    cluster.add({.workers = 4});
    cluster.settle("wave");
    int steps = 0;
    std::int64_t changed_ms = -kGap;
    std::int64_t soonest_shrink_ms = kHour;
    for (std::int64_t ms = 0; ms < kHour; ms += 10'000) {
      const int wish = cluster.workers("wave") == 8 ? 2 : 8;
      if (by_user) {
        cluster.annotate("wave", annotation::kRequestedWorkers, std::to_string(wish));
      } else {
        cluster.asks_for("wave", wish);
      }
      for (const Action& action : cluster.step()) {
        if (action.kind == Kind::kDone) continue;
        ++steps;
        if (action.kind == Kind::kShrink) {
          soonest_shrink_ms = std::min(soonest_shrink_ms, ms - changed_ms);
        }
        changed_ms = ms;
      }
      cluster.settle_all();
      cluster.wait(10'000);
    }
    if (by_user) {
      EXPECT_LT(soonest_shrink_ms, kGap);
    } else {
      EXPECT_EQ(soonest_shrink_ms, kGap);
      EXPECT_GE(steps, 10);
      EXPECT_LE(steps, kHour / kGap + 1);
    }
  }
}

TEST_P(ElasticWish, AnApplicationIsToldWhenItsGapIsOver) {
  Cluster cluster(32, GetParam());
  cluster.add({.workers = 4});
  cluster.settle("wave");
  cluster.annotate("wave", annotation::kRescaledAt, std::to_string(cluster.now_ms()));
  cluster.asks_for("wave", 3);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_EQ(cluster.why("wave"),
            "its application wishes 3 workers, and rescale-gap-seconds are over at "
            "2026-11-24T15:03:00Z");
  cluster.wait(180'000);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
}

TEST(ElasticWishReasons, OfHolesAndOfThoseThatWaitAndOfPolicies) {
  auto job = *read_elastic(test_support::make_job({.workers = 4}), {});
  job.asked = 6;
  const auto why = [&](ElasticPolicy policy) {
    return why_its_wish_waits(job, policy, 9, 1'795'532'400'000);
  };
  EXPECT_EQ(why(ElasticPolicy::kMoldable),
            "its application wishes 6 workers, and the policy makes no job that runs larger");
  EXPECT_EQ(why(ElasticPolicy::kOurs),
            "its application wishes 6 workers, 9 CPUs are free, and jobs that wait come first");
  job.on_fleet.room = 0;
  EXPECT_EQ(
      why(ElasticPolicy::kOurs),
      "its application wishes 6 workers, 9 CPUs are free, but no worker would find its own in "
      "one place");
}

INSTANTIATE_TEST_SUITE_P(Policies, ElasticWish,
                         testing::Values(ElasticPolicy::kElastic, ElasticPolicy::kOurs),
                         [](const auto& policy) {
                           return policy.param == ElasticPolicy::kOurs ? "Ours" : "Elastic";
                         });

}  // namespace
}  // namespace pinion::cluster::elastic
