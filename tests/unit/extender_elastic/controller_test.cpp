// Rescales step by step: each case is played by applying the patches to a Job and by what its
// controller would make of that.
#include "cluster/extender/elastic/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/extender_elastic/play_cluster.h"

namespace pinion::cluster::elastic {
namespace {

using nlohmann::json;
using test_support::JobShape;
using test_support::make_job;
using testing::HasSubstr;

TEST(ElasticController, AJobStartsAsLargeAsThereIsRoom) {
  Cluster cluster(24);
  cluster.add({.suspended = true});
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(cluster.workers("wave"), 6);
  EXPECT_EQ(cluster.at("wave")["spec"]["suspend"], false);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "its pods are not there";
  cluster.settle("wave");
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kDone));
  EXPECT_EQ(cluster.annotation("wave", annotation::kWantedWorkers), "");
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
}

TEST(ElasticController, OneOfHigherPriorityGetsRoomWhenPodsAreGone) {
  Cluster cluster(32);
  cluster.add({.name = "low", .suspended = true});
  cluster.step();
  cluster.settle("low");
  cluster.step();
  EXPECT_EQ(cluster.workers("low"), 8);
  cluster.wait(200'000);
  cluster.add_high();
  const auto shrinks = cluster.step();
  ASSERT_THAT(kinds(shrinks), testing::ElementsAre(Kind::kShrink));
  EXPECT_THAT(shrinks[0].why, HasSubstr("to make room for high"));
  EXPECT_EQ(cluster.workers("low"), 4);
  cluster.make_pods("low");
  cluster.wait(7000);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "its pods are still ending";
  EXPECT_EQ(cluster.at("high")["spec"]["suspend"], true);
  cluster.settle("low");
  EXPECT_THAT(kinds(cluster.step()), testing::UnorderedElementsAre(Kind::kDone, Kind::kStart));
  std::vector<std::string> past;
  for (const PastStep& step :
       read_history(cluster.annotation("low", annotation::kRescaleHistory))) {
    past.push_back(step.what + ": " + step.why);
  }
  EXPECT_THAT(past, testing::ElementsAre("done: it went from 8 to 4 workers in 7 s",
                                         "shrink: from 8 to 4 workers, to make room for high, of "
                                         "priority 5 above 0",
                                         "done: it went from 0 to 8 workers in 0 s",
                                         "start: from 0 to 8 workers, as 32 CPUs are free"));
  cluster.settle("high");
  cluster.step();
  EXPECT_EQ(cluster.free(), 0);
}

// Both came while low was within its gap; what it can give is enough for one of them.
TEST(ElasticController, OfThoseThatWaitTheMoreUrgentGetsRoomFirst) {
  Cluster cluster(32);
  cluster.add({.name = "low", .suspended = true});
  cluster.step();
  cluster.settle("low");
  cluster.step();
  ASSERT_EQ(cluster.workers("low"), 8);
  for (const auto& [name, priority] : {std::pair("a-first", "3"), std::pair("urgent", "5")}) {
    cluster.add({.name = name,
                 .suspended = true,
                 .annotations = {{annotation::kMinWorkers, "6"},
                                 {annotation::kMaxWorkers, "6"},
                                 {annotation::kPriority, priority}}});
    cluster.wait(1000);
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  }
  cluster.wait(200'000);
  const auto shrinks = cluster.step();
  ASSERT_THAT(kinds(shrinks), testing::ElementsAre(Kind::kShrink));
  EXPECT_THAT(shrinks[0].why, HasSubstr("to make room for urgent"));
}

// What low's pods still hold while they end is enough for high.
TEST(ElasticController, NobodyShrinksForWhatIsBeingFreed) {
  Cluster cluster(64);
  for (const char* name : {"low", "mid"}) {
    auto annotations = JobShape().annotations;
    annotations[annotation::kPriority] = *name == 'l' ? "0" : "1";
    cluster.add({.name = name, .workers = 8, .annotations = annotations});
    cluster.settle(name);
  }
  cluster.add_high();
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
  cluster.make_pods("low");
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_EQ(cluster.workers("mid"), 8);
  EXPECT_EQ(cluster.why("high"),
            "starts with 4 workers when its 16 CPUs are free, 0 CPUs are free");
}

// Pods that end for as long as their dead node is not heard free nothing.
TEST(ElasticController, PodsThatEndWithoutARescaleAreNotWaitedFor) {
  Cluster cluster(64);
  for (const char* name : {"low", "mid"}) {
    cluster.add({.name = name, .workers = 8, .annotations = JobShape().annotations});
    cluster.settle(name);
  }
  cluster.at("low")["status"]["terminating"] = 4;
  cluster.add_high();
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
}

// Nobody gets what they hold, and no other is made in their place.
TEST(ElasticController, AShrinkWhosePodsDoNotGoSaysSo) {
  Cluster cluster(32);
  cluster.add({.name = "low", .workers = 8, .annotations = JobShape().annotations});
  cluster.settle("low");
  cluster.wait(200'000);
  cluster.add_high();
  ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
  cluster.make_pods("low");
  cluster.wait(ControllerLimits().ready_ms + ControllerLimits().acknowledge_ms - 1);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_EQ(cluster.why("low"), "");
  cluster.wait(1);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_THAT(cluster.why("low"), HasSubstr("pods that had to go and are not gone yet: 4;"));
  EXPECT_EQ(cluster.annotation("low", annotation::kWantedWorkers), "4");
  cluster.settle("low");
  EXPECT_THAT(kinds(cluster.step()), testing::UnorderedElementsAre(Kind::kDone, Kind::kStart));
}

TEST(ElasticController, WhatBecomesFreeGoesToThoseThatRun) {
  Cluster cluster(32);
  cluster.add({.name = "one",
               .suspended = true,
               .annotations = {{annotation::kMinWorkers, "2"},
                               {annotation::kMaxWorkers, "8"},
                               {annotation::kRescaleGapSeconds, "0"}}});
  cluster.add({.name = "two",
               .workers = 4,
               .suspended = false,
               .annotations = {{annotation::kMinWorkers, "4"}, {annotation::kMaxWorkers, "4"}}});
  cluster.settle("two");
  cluster.step();
  cluster.settle("one");
  cluster.step();
  EXPECT_EQ(cluster.workers("one"), 4);
  cluster.remove("two");
  cluster.wait(1000);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kExpand));
  EXPECT_EQ(cluster.workers("one"), 8);
}

TEST(ElasticController, WhileCpusBecomeFreeNobodyGetsAPart) {
  Cluster cluster(16);
  cluster.add({.change = "moldable", .suspended = true});
  cluster.settles(true);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_EQ(cluster.why("wave"),
            "CPUs are becoming free, and it waits a moment for more than 4 workers");
  cluster.settles(false);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(cluster.workers("wave"), 4);
}

TEST(ElasticController, WhileCpusBecomeFreeNobodyWaitsWithAllThatItCanHave) {
  for (const char* change : {"moldable", "malleable"}) {
    Cluster cluster(32);
    cluster.add({.change = change, .suspended = true});
    cluster.settles(true);
    EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
    EXPECT_EQ(cluster.workers("wave"), 8);
  }
}

// What one would have is not given to another.
TEST(ElasticController, WhileCpusBecomeFreeEachKeepsItsTurn) {
  Cluster cluster(32);
  const auto add = [&](const char* name, bool suspended, const char* most, const char* priority) {
    cluster.add({.name = name,
                 .suspended = suspended,
                 .annotations = {{annotation::kMinWorkers, "2"},
                                 {annotation::kMaxWorkers, most},
                                 {annotation::kPriority, priority}}});
  };
  add("low", false, "4", "0");
  cluster.settle("low");
  add("first", true, "8", "5");
  add("second", true, "2", "1");
  cluster.settles(true);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink)) << "low, for second";
  EXPECT_EQ(cluster.why("second"),
            "starts with 2 workers when its 8 CPUs are free, 0 CPUs are free");
}

// What is free is enough for both, but second might break the holes of first.
TEST(ElasticController, WhileCpusBecomeFreeNobodyPassesOneThatHasWaitedForLong) {
  Cluster cluster(32, ElasticPolicy::kOurs);
  const auto add = [&](const char* name, const char* most, const char* priority) {
    cluster.add({.name = name,
                 .suspended = true,
                 .annotations = {{annotation::kMinWorkers, "2"},
                                 {annotation::kMaxWorkers, most},
                                 {annotation::kPriority, priority}}});
  };
  add("first", "16", "5");
  add("second", "2", "0");
  const auto nobody = [](const Action&) { return true; };
  cluster.settles(true);
  EXPECT_THAT(kinds(cluster.step(nobody)), testing::ElementsAre(Kind::kStart)) << "second";
  cluster.wait(ElasticKnobs().patience_ms);
  EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
  EXPECT_EQ(cluster.why("second"),
            "8 CPUs are free and kept for first, which has waited for too long");
  cluster.settles(false);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart, Kind::kStart));
}

// Low shrinks for high, and says first that it can.
class Acknowledged : public testing::Test {
 protected:
  Acknowledged() {
    auto annotations = JobShape().annotations;
    annotations[annotation::kAcknowledge] = "annotation";
    cluster_.add({.name = "low", .workers = 8, .annotations = annotations});
    cluster_.settle("low");
    cluster_.step();
    cluster_.add_high();
    EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kShrink));
    EXPECT_EQ(cluster_.workers("low"), 8) << "it is only asked";
    EXPECT_EQ(cluster_.annotation("low", annotation::kWantedWorkers), "4");
  }

  Cluster cluster_{32};
};

TEST_F(Acknowledged, ItGoesOnWhenTheApplicationHasSaidSo) {
  cluster_.wait(1000);
  EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty());
  cluster_.at("low")["metadata"]["annotations"][annotation::kAcknowledgedWorkers] = "3";
  EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty()) << "that was another question";
  cluster_.at("low")["metadata"]["annotations"][annotation::kAcknowledgedWorkers] = "4";
  EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kResize));
  EXPECT_EQ(cluster_.workers("low"), 4);
  cluster_.settle("low");
  EXPECT_THAT(kinds(cluster_.step()), testing::UnorderedElementsAre(Kind::kDone, Kind::kStart));
  EXPECT_EQ(cluster_.annotation("low", annotation::kAcknowledgedWorkers), "");
}

TEST_F(Acknowledged, SilenceDeclines) {
  const std::string decided = cluster_.annotation("low", annotation::kRescaledAt);
  cluster_.wait(ControllerLimits().acknowledge_ms);
  const auto actions = cluster_.step();
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kDeclined));
  EXPECT_THAT(actions[0].why, HasSubstr("did not acknowledge"));
  EXPECT_EQ(cluster_.workers("low"), 8);
  EXPECT_EQ(cluster_.annotation("low", annotation::kWantedWorkers), "");
  EXPECT_NE(cluster_.annotation("low", annotation::kDeclinedUntil), "");
  EXPECT_EQ(cluster_.annotation("low", annotation::kRescaledAt), decided) << "no change was made";
  cluster_.wait(1000);
  EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty()) << "not asked again at once";
}

TEST_F(Acknowledged, ItDeclinesWithTheNumberOfBefore) {
  cluster_.at("low")["metadata"]["annotations"][annotation::kAcknowledgedWorkers] = "8";
  const auto actions = cluster_.step();
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kDeclined));
  EXPECT_THAT(actions[0].why, HasSubstr("its application declined"));
  EXPECT_EQ(cluster_.workers("low"), 8);
  EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty()) << "not asked again at once";
}

TEST_F(Acknowledged, ABeginInTheFutureIsNotWaitedFor) {
  cluster_.at("low")["metadata"]["annotations"][annotation::kRescaledAt] = "9000000000000";
  EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kDeclined));
}

TEST_F(Acknowledged, SomebodyElsesResizeEndsOurs) {
  cluster_.at("low")["spec"]["parallelism"] = 5;
  cluster_.at("low")["spec"]["completions"] = 5;
  EXPECT_THAT(kinds(cluster_.step()), testing::Contains(Kind::kDeclined));
  EXPECT_EQ(cluster_.workers("low"), 5);
}

TEST(ElasticController, WorkersThatDoNotComeAreTakenBack) {
  for (const bool starts : {true, false}) {
    SCOPED_TRACE(starts);
    Cluster cluster(32);
    cluster.add({.workers = 4, .suspended = starts});
    if (!starts) cluster.settle("wave");
    EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(starts ? Kind::kStart : Kind::kExpand));
    EXPECT_EQ(cluster.workers("wave"), 8);
    cluster.make_pods("wave");
    cluster.wait(ControllerLimits().ready_ms - 1);
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty());
    cluster.wait(1);
    EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kDeclined));
    EXPECT_EQ(cluster.at("wave")["spec"]["suspend"], starts);
    EXPECT_EQ(cluster.workers("wave"), starts ? 8 : 4);
    cluster.settle("wave");
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "not tried again at once";
  }
}

// CPUs that are free, but on no node enough of them: what came is what it runs with.
TEST(ElasticController, AJobGoesOnWithTheWorkersThatCame) {
  for (const bool starts : {true, false}) {
    SCOPED_TRACE(starts);
    Cluster cluster(32);
    cluster.add({.workers = 4, .suspended = starts});
    if (!starts) cluster.settle("wave");
    cluster.step();
    cluster.make_pods("wave");
    cluster.at("wave")["status"]["ready"] = 7;
    cluster.wait(ControllerLimits().ready_ms);
    const auto actions = cluster.step();
    ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kResize));
    EXPECT_THAT(actions[0].why, HasSubstr("of its 8 workers only 7"));
    EXPECT_EQ(cluster.workers("wave"), 7);
    EXPECT_EQ(cluster.at("wave")["spec"]["suspend"], false);
    cluster.settle("wave");
    EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kDone));
    EXPECT_THAT(kinds(cluster.step()), testing::IsEmpty()) << "not tried again at once";
  }
}

// The Job controller would end the healthy ones, which have the highest numbers.
TEST(ElasticController, WhereTheFirstDoesNotComeTheOthersAreTakenBack) {
  Cluster cluster(32);
  cluster.add({.workers = 4, .suspended = true});
  cluster.first_hangs("wave");
  cluster.step();
  cluster.make_pods("wave");
  cluster.at("wave")["status"]["ready"] = 7;
  cluster.wait(ControllerLimits().ready_ms);
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kDeclined));
  EXPECT_EQ(cluster.at("wave")["spec"]["suspend"], true);
}

// So that what others give up for it stays within bounds.
TEST(ElasticController, WhatIsTriedInVainIsTriedLessAndLessOften) {
  Cluster cluster(32);
  cluster.add({.workers = 4, .suspended = true});
  std::vector<int> minutes;
  for (int time = 0; time < 7; ++time) {
    ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
    cluster.wait(ControllerLimits().ready_ms);
    ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kDeclined));
    minutes.push_back(0);
    cluster.make_pods("wave");
    cluster.at("wave")["status"]["terminating"] = 0;
    const std::int64_t until = std::stoll(cluster.annotation("wave", annotation::kDeclinedUntil));
    minutes.back() = static_cast<int>((until - cluster.now_ms()) / 60'000);
    cluster.wait(until - cluster.now_ms() - 1);
    ASSERT_THAT(kinds(cluster.step()), testing::IsEmpty());
    cluster.wait(1);
  }
  EXPECT_THAT(minutes, testing::ElementsAre(3, 6, 12, 24, 48, 48, 48)) << "ten steps are kept";
}

// Users may say how long a job takes. Without that nobody knows whether one delays another.
TEST(ElasticController, WhoEndsBeforeOneThatHasWaitedForLongStartsBeforeIt) {
  const auto with = [](int workers, const char* run) {
    std::map<std::string, std::string> annotations{
        {annotation::kMinWorkers, std::to_string(workers)},
        {annotation::kMaxWorkers, std::to_string(workers)}};
    if (*run != 0) annotations[annotation::kRunSeconds] = run;
    return annotations;
  };
  struct Case {
    const char* name;
    const char* runs;  // seconds that the one that runs takes
    const char* behind;
    bool starts;
  };
  for (const Case& c :
       {Case{"it ends before", "7200", "3599", true}, Case{"it ends after", "7200", "3601", false},
        Case{"it says nothing", "7200", "", false}, Case{"the other says nothing", "", "10", false},
        Case{"the other lasts longer than it said", "3600", "10", false}}) {
    SCOPED_TRACE(c.name);
    Cluster cluster(32, ElasticPolicy::kOurs);
    cluster.add({.name = "runs", .workers = 4, .annotations = with(4, c.runs)});
    cluster.settle("runs");
    cluster.add({.name = "first", .suspended = true, .annotations = with(6, "60")});
    cluster.step();
    cluster.wait(3'600'000);
    cluster.add({.name = "next", .suspended = true, .annotations = with(4, c.behind)});
    cluster.at("next")["metadata"]["creationTimestamp"] = "2026-11-24T16:59:59Z";
    cluster.step();
    EXPECT_EQ(cluster.at("next")["spec"]["suspend"], !c.starts);
    EXPECT_EQ(cluster.at("first")["spec"]["suspend"], true);
  }
}

// What it has done before a rescale counts after it, too.
TEST(ElasticController, WhatAJobHasDoneIsKeptOverItsRescales) {
  Cluster cluster(32, ElasticPolicy::kOurs);
  cluster.add({.name = "runs",
               .workers = 4,
               .annotations = {{annotation::kMinWorkers, "2"},
                               {annotation::kMaxWorkers, "4"},
                               {annotation::kSpeedUp, "2:1 4:1.5"},
                               {annotation::kRescaleGapSeconds, "0"},
                               {annotation::kRunSeconds, "7200"}}});
  cluster.settle("runs");
  cluster.annotate("runs", annotation::kRescaledAt, std::to_string(cluster.now_ms()));
  cluster.wait(2'000'000);
  cluster.annotate("runs", annotation::kRequestedWorkers, "2");
  ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kShrink));
  EXPECT_EQ(cluster.annotation("runs", annotation::kWorkDone), "3000") << "at 1.5 of the pace";
  cluster.settle("runs");
  cluster.step();
  cluster.wait(1'000'000);
  cluster.annotate("runs", annotation::kRequestedWorkers, "4");
  ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kExpand));
  EXPECT_EQ(cluster.annotation("runs", annotation::kWorkDone), "4000");
  cluster.settle("runs");
  cluster.step();
  cluster.annotate("runs", annotation::kRequestedWorkers, "2");
  cluster.wait(200'000'000);
  cluster.step();
  EXPECT_EQ(cluster.annotation("runs", annotation::kWorkDone), "7200") << "no more than all";
}

TEST(ElasticController, AJobThatIsStartedAnewHasDoneNothing) {
  Cluster cluster(32, ElasticPolicy::kOurs);
  cluster.add({.name = "again",
               .suspended = true,
               .annotations = {{annotation::kMinWorkers, "2"},
                               {annotation::kMaxWorkers, "2"},
                               {annotation::kWorkDone, "100"},
                               {annotation::kRunSeconds, "7200"}}});
  ASSERT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(cluster.annotation("again", annotation::kWorkDone), "0");
}

// Its pods have ended one after the other: nobody owes them CPUs, and it is not made larger.
TEST(ElasticController, AJobAtItsEndIsLeftAlone) {
  Cluster cluster(32);
  cluster.add({.name = "ends", .workers = 4});
  cluster.at("ends")["status"] = {{"active", 1}, {"ready", 1}, {"succeeded", 3}};
  cluster.add({.name = "next",
               .suspended = true,
               .annotations = {{annotation::kMinWorkers, "4"}, {annotation::kMaxWorkers, "4"}}});
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(cluster.workers("ends"), 4);
  EXPECT_EQ(cluster.workers("next"), 4);
}

// Pods that hang (an image that nobody has), whose CPUs are promised, or of which there are too
// many for the cluster.
TEST(ElasticController, AJobWhoseWorkersNeverComeHoldsUpNobody) {
  const ControllerLimits limits;
  auto hangs = *read_elastic(make_job({.name = "hangs", .workers = 20}), {});
  hangs.max_workers = 20;
  hangs.active = 20;
  const auto waits = *read_elastic(make_job({.name = "waits", .suspended = true}), {});
  Controller controller(ElasticPolicy::kElastic);
  for (const int workers : {20, 1000}) {
    SCOPED_TRACE(workers);
    const bool could_come = workers == 20;
    hangs.stated = workers;
    const auto later = [&](std::int64_t ms) {
      return kinds(
          controller.step({{"h", hangs}, {"w", waits}}, 80, hangs.submitted_ms + ms).actions);
    };
    EXPECT_EQ(later(limits.ready_ms - 1).empty(), could_come) << "they may still come";
    EXPECT_THAT(later(limits.ready_ms), testing::ElementsAre(Kind::kStart));
    hangs.rescaled_ms = hangs.submitted_ms + limits.ready_ms;
    EXPECT_THAT(later(limits.ready_ms), testing::ElementsAre(Kind::kStart)) << "as somebody wrote";
  }
}

// A job of which no pod can run states more than there is, and another one needs as much.
TEST(ElasticController, ForCpusThatDoNotExistNobodyWaits) {
  const auto phantom = *read_elastic(
      make_job({.name = "phantom", .change = "rigid", .cpus = 1000, .workers = 1000}), {});
  auto greedy = *read_elastic(make_job({.name = "greedy", .suspended = true}), {});
  greedy.other_cpus = 5000;
  greedy.priority = 1'000'000'000;
  const auto victim = *read_elastic(make_job({.name = "victim", .suspended = true}), {});
  const Controller controller(ElasticPolicy::kOurs);
  const std::int64_t later_ms = victim.submitted_ms + 86'400'000;
  const auto decided =
      controller.step({{"g", greedy}, {"p", phantom}, {"v", victim}}, 64, later_ms);
  ASSERT_THAT(kinds(decided.actions), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(decided.actions[0].uid, "uid-victim");
  EXPECT_THAT(decided.waits.at("uid-greedy"), HasSubstr("64 CPUs are there"));
}

TEST(ElasticController, ItsPolicyDoesAsTheKnobsSay) {
  const auto small = *read_elastic(make_job({.name = "small", .suspended = true}), {});
  auto runs = *read_elastic(make_job({.name = "runs", .change = "rigid", .workers = 1}), {});
  runs.active = runs.ready = 1;
  auto large = *read_elastic(
      make_job({.name = "large", .change = "rigid", .workers = 30, .suspended = true}), {});
  large.submitted_ms -= 60'000;
  const std::int64_t free = 30 * large.cpus - 1;
  const auto steps_with = [&](const ElasticKnobs& knobs) {
    const Controller controller(ElasticPolicy::kOurs, knobs);
    return kinds(
        controller.step({{"l", large}, {"r", runs}, {"s", small}}, free, small.submitted_ms)
            .actions);
  };
  EXPECT_THAT(steps_with({}), testing::ElementsAre(Kind::kStart));
  EXPECT_THAT(steps_with({.ageing_ms = 1'000, .patience_ms = 60'000, .strict_ms = 0}),
              testing::IsEmpty());
}

// What its new workers are owed stays theirs, as long as for any other.
TEST(ElasticController, AJobThatMakesNoSenseAnyMoreIsCountedAndLeftAlone) {
  auto grows = *read_elastic(make_job({.name = "grows", .workers = 8}), {});
  grows.wanted = 8;
  grows.before = 1;
  grows.active = 8;
  grows.ready = 1;
  grows.acknowledged = 1;
  grows.rescaled_ms = grows.submitted_ms + 1000;
  grows.left_alone = "its priority";
  const auto waits = *read_elastic(make_job({.name = "waits", .suspended = true}), {});
  const Controller controller(ElasticPolicy::kElastic);
  const auto after = [&](std::int64_t ms) {
    return controller.step({{"g", grows}, {"w", waits}}, 28, grows.rescaled_ms + ms);
  };
  const ControllerLimits limits;
  const auto decided = after(limits.ready_ms + limits.acknowledge_ms - 1);
  EXPECT_THAT(kinds(decided.actions), testing::IsEmpty());
  EXPECT_THAT(decided.waits.at("g"), HasSubstr("its priority"));
  EXPECT_THAT(kinds(after(limits.ready_ms + limits.acknowledge_ms).actions),
              testing::ElementsAre(Kind::kStart));
}

// One that is asked over HTTP or CCS, and is to grow from 4 to 8.
class AskedToGrow : public testing::Test {
 protected:
  AskedToGrow() {
    auto annotations = JobShape().annotations;
    annotations[annotation::kAcknowledge] = "ccs:1234";
    cluster_.add({.workers = 4, .annotations = annotations});
    cluster_.settle("wave");
    EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kExpand));
    cluster_.settle("wave");
    EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty()) << "it is asked";
  }
  void acknowledge(const char* workers) {
    cluster_.at("wave")["metadata"]["annotations"][annotation::kAcknowledgedWorkers] = workers;
  }

  Cluster cluster_{32};
};

TEST_F(AskedToGrow, ItIsDoneWhenItHasTakenThem) {
  acknowledge("8");
  EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kDone));
  EXPECT_EQ(cluster_.workers("wave"), 8);
}

TEST_F(AskedToGrow, WhatItDeclinesIsTakenBack) {
  acknowledge("4");
  EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kDeclined));
  EXPECT_EQ(cluster_.workers("wave"), 4);
}

TEST_F(AskedToGrow, SilenceIsTakenForNo) {
  const ControllerLimits limits;
  cluster_.wait(limits.ready_ms + limits.acknowledge_ms - 1);
  EXPECT_THAT(kinds(cluster_.step()), testing::IsEmpty());
  cluster_.wait(1);
  EXPECT_THAT(kinds(cluster_.step()), testing::ElementsAre(Kind::kDeclined));
  EXPECT_EQ(cluster_.workers("wave"), 4);
  EXPECT_EQ(cluster_.annotation("wave", annotation::kRescaleSent), "");
}

TEST(ElasticController, ALaunchersCpusCountToo) {
  auto seen = *read_elastic(make_job({.suspended = true}), {});
  seen.other_cpus = 2;
  Controller controller(ElasticPolicy::kElastic);
  const auto actions = controller.step({{"u", seen}}, 12, 1'795'532'400'000).actions;
  ASSERT_THAT(kinds(actions), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(actions[0].patch["spec"]["parallelism"], 2) << "2 x 4, and 2";
}

// An extender that is killed after any of its actions, carried out or not, leaves a cluster in
// which the next one comes to the same end.
class Killed : public testing::TestWithParam<const char*> {
 protected:
  // low makes room for high, which ends, and grows back. After so many actions another replica
  // leads; whether the last of them was carried out, nobody knows.
  std::string play(int dies_after, bool last_is_lost) {
    Cluster cluster(32);
    auto annotations = JobShape().annotations;
    annotations[annotation::kRescaleGapSeconds] = "0";
    if (*GetParam() != '\0') annotations[annotation::kAcknowledge] = GetParam();
    cluster.add({.name = "low", .suspended = true, .annotations = annotations});
    actions_ = 0;
    settle(cluster, dies_after, last_is_lost);
    cluster.add_high();
    settle(cluster, dies_after, last_is_lost);
    std::string ends = state(cluster, "low") + "; " + state(cluster, "high");
    cluster.remove("high");
    settle(cluster, dies_after, last_is_lost);
    return ends + "; " + state(cluster, "low");
  }

  // Until nothing happens any more.
  void settle(Cluster& cluster, int dies_after, bool last_is_lost) {
    for (int quiet = 0; quiet < 3;) {
      const int before = actions_;
      cluster.step([&](const Action&) {
        ++actions_;
        return actions_ == dies_after ? last_is_lost : before < dies_after && actions_ > dies_after;
      });
      if (before < dies_after && dies_after <= actions_) cluster.take_over();
      quiet = actions_ == before ? quiet + 1 : 0;
      cluster.settle_all();
      cluster.acknowledge_all();
      cluster.wait(1000);
      ASSERT_LE(cluster.held(), cluster.cpus());
      ASSERT_LT(actions_, 100);
    }
  }
  static std::string state(Cluster& cluster, const std::string& name) {
    return name + " " + std::to_string(cluster.workers(name)) +
           (cluster.at(name)["spec"]["suspend"] == true ? " waits" : "") +
           (cluster.annotation(name, annotation::kWantedWorkers).empty() ? "" : " in the middle");
  }

  int actions_ = 0;
};

TEST_P(Killed, AtAnyMomentTheNextOneComesToTheSameEnd) {
  const std::string whole = play(-1, false);
  EXPECT_EQ(whole, "low 4; high 4; low 8");
  const int actions = actions_;
  EXPECT_GE(actions, 8);
  for (int after = 1; after <= actions; ++after) {
    for (const bool lost : {false, true}) {
      EXPECT_EQ(play(after, lost), whole)
          << "killed after action " << after << (lost ? ", which was lost" : "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Elastic, Killed, testing::Values("", "annotation", "http:80", "ccs:1234"),
                         [](const auto& one) {
                           const std::string word = one.param;
                           return word.empty() ? "unasked" : word.substr(0, word.find(':'));
                         });

TEST(ElasticController, OneThatCouldNeverStartIsInNobodysWay) {
  Cluster cluster(16);
  cluster.add({.name = "huge",
               .suspended = true,
               .annotations = {{annotation::kMinWorkers, "100"},
                               {annotation::kMaxWorkers, "100"},
                               {annotation::kPriority, "9"}}});
  cluster.add({.name = "small", .suspended = true});
  EXPECT_THAT(kinds(cluster.step()), testing::ElementsAre(Kind::kStart));
  EXPECT_EQ(cluster.at("huge")["spec"]["suspend"], true);
}

// Random lives: patches are lost, pods are slow, replicas take over, Jobs come and go. Nobody ever
// has less than the minimum or more than the maximum, and no two are given the same CPUs.
TEST(ElasticController, RandomLivesKeepToWhatThereIs) {
  int done = 0;
  for (const ElasticPolicy policy : {ElasticPolicy::kElastic, ElasticPolicy::kOurs,
                                     ElasticPolicy::kMoldable, ElasticPolicy::kMin}) {
    std::mt19937 random(static_cast<unsigned>(policy));
    const auto roll = [&](unsigned below) { return static_cast<int>(random() % below); };
    Cluster cluster(64, policy);
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) {
      cluster.wait(roll(20'000));
      const int what = roll(100);
      if (what < 8 && names.size() < 10) {
        names.push_back("job" + std::to_string(i));
        const int least = 1 + roll(4);
        std::map<std::string, std::string> annotations = {
            {annotation::kMinWorkers, std::to_string(least)},
            {annotation::kMaxWorkers, std::to_string(least + roll(6))},
            {annotation::kPriority, std::to_string(roll(3))}};
        if (const int how = roll(3); how > 0) {
          annotations[annotation::kAcknowledge] = how == 1 ? "annotation" : "http:80";
        }
        cluster.add({.name = names.back(),
                     .change = roll(3) == 0 ? "moldable" : "malleable",
                     .cpus = 1 + roll(4),
                     .workers = least,
                     .suspended = true,
                     .annotations = annotations});
      } else if (what < 12 && !names.empty()) {
        const auto at = names.begin() + roll(static_cast<unsigned>(names.size()));
        cluster.remove(*at);
        names.erase(at);
      } else if (what < 60) {
        for (const std::string& name : names) {
          if (roll(2) == 0) cluster.make_pods(name);
          if (roll(2) == 0) cluster.settle(name);
          const std::string wanted = cluster.annotation(name, annotation::kWantedWorkers);
          if (roll(3) == 0 && !wanted.empty()) {
            cluster.at(name)["metadata"]["annotations"][annotation::kAcknowledgedWorkers] =
                roll(4) == 0 ? cluster.annotation(name, annotation::kPreviousWorkers) : wanted;
          }
        }
      } else {
        if (roll(10) == 0) cluster.take_over();
        const auto actions = cluster.step([&](const Action&) { return roll(5) == 0; });
        for (const Action& action : actions) done += action.kind == Kind::kDone ? 1 : 0;
      }
      ASSERT_LE(cluster.held(), cluster.cpus()) << "event " << i;
      if (i % 5 != 0) continue;
      for (const std::string& name : names) {
        const auto job = read_elastic(cluster.at(name), {});
        ASSERT_TRUE(job) << job.error().text;
        if (job->suspended) continue;
        ASSERT_GE(job->stated, job->min_workers) << name << ", event " << i;
        ASSERT_LE(job->stated, job->max_workers) << name << ", event " << i;
      }
    }
  }
  EXPECT_GT(done, 30);
}

}  // namespace
}  // namespace pinion::cluster::elastic
