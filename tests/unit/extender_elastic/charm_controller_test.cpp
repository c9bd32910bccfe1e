// Charm++ programs act on what they were sent when they come to it, which may be long after their
// rescale was given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cluster/extender/elastic/sent.h"
#include "cluster/extender/elastic/telling.h"
#include "tests/unit/extender_elastic/play_cluster.h"

namespace pinion::cluster::elastic {
namespace {

using test_support::JobShape;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLongTime = 3'600'000;

// Wave, which is asked over CCS, has so many workers of 4 CPUs, and 32 CPUs are there.
class Charm : public testing::Test {
 protected:
  void is_running_with(int workers) {
    auto annotations = JobShape().annotations;
    annotations[annotation::kAcknowledge] = "ccs:1234";
    cluster_.add({.workers = workers, .annotations = annotations});
    cluster_.settle("wave");
  }
  void is_sent(int before, int wanted) {
    cluster_.annotate("wave", annotation::kRescaleSent,
                      std::to_string(4 * before) + " " + std::to_string(4 * wanted) + " " +
                          std::to_string(cluster_.now_ms()) + " uid/0");
  }
  // It runs so since now, and nothing was seen of its work.
  void has_come(int before, int wanted) {
    Sent sent = *read_sent(cluster_.annotation("wave", annotation::kRescaleSent));
    EXPECT_EQ(sent.before, 4 * before);
    EXPECT_EQ(sent.wanted, 4 * wanted);
    sent.came_ms = cluster_.now_ms();
    cluster_.annotate("wave", annotation::kRescaleSent, sent_text(sent));
  }
  void runs_with(int workers) {
    cluster_.annotate("wave", annotation::kAcknowledgedWorkers, std::to_string(workers));
  }
  void is_gone() { cluster_.at("wave")["metadata"]["annotations"].erase(annotation::kRescaleSent); }
  bool may_still_act() { return !cluster_.annotation("wave", annotation::kRescaleSent).empty(); }

  // It was to go from 8 to 4 to make room, was sent that, and has not acted in time.
  void does_not_shrink_in_time() {
    is_running_with(8);
    cluster_.add_high();
    EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kShrink));
    is_sent(8, 4);
    cluster_.wait(ControllerLimits().acknowledge_ms);
    const auto actions = cluster_.step();
    ASSERT_THAT(kinds(actions), ElementsAre(Kind::kDeclined));
    EXPECT_THAT(actions[0].why, HasSubstr("may still do so"));
    EXPECT_EQ(cluster_.workers("wave"), 8);
  }
  // It was to go from 4 to 8, has its new workers, and was sent that.
  void is_to_expand() {
    is_running_with(4);
    EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kExpand));
    cluster_.settle("wave");
    EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
    is_sent(4, 8);
  }

  Cluster cluster_{32};
};

TEST_F(Charm, WhatHasShrunkLateHasItsJobShrunkToo) {
  does_not_shrink_in_time();
  cluster_.wait(kLongTime);
  runs_with(4);
  const auto actions = cluster_.step();
  ASSERT_THAT(kinds(actions), ElementsAre(Kind::kShrink));
  EXPECT_THAT(actions[0].why, HasSubstr("from 8 to 4 workers, as its application has acted late"));
  EXPECT_EQ(cluster_.workers("wave"), 4) << "it is not asked a second time";
  EXPECT_FALSE(may_still_act());
  cluster_.settle("wave");
  EXPECT_THAT(kinds(cluster_.step()), testing::UnorderedElementsAre(Kind::kDone, Kind::kStart));
  EXPECT_EQ(cluster_.workers("high"), 4);
}

TEST_F(Charm, WhatMayStillActIsLeftAlone) {
  does_not_shrink_in_time();
  cluster_.wait(kLongTime);
  cluster_.annotate("wave", annotation::kRequestedWorkers, "6");
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  is_gone();
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kShrink));
  EXPECT_EQ(cluster_.annotation("wave", annotation::kWantedWorkers), "6");
}

TEST_F(Charm, NewWorkersStayUntilTheProgramHasActed) {
  is_to_expand();
  cluster_.wait(kLongTime);
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  EXPECT_EQ(cluster_.workers("wave"), 8);
  cluster_.at("wave")["status"]["ready"] = 7;
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty()) << "one of them has failed, and is made again";
  EXPECT_EQ(cluster_.workers("wave"), 8);
  runs_with(8);
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kDone)) << "it runs on that one too";
  EXPECT_EQ(cluster_.workers("wave"), 8);
  EXPECT_FALSE(may_still_act());
}

// Half of them have no node, and the CPUs for these are not kept from others for ever.
TEST_F(Charm, NewWorkersThatAreNotThereHoldUpNobody) {
  is_to_expand();
  cluster_.at("wave")["status"]["active"] = cluster_.at("wave")["status"]["ready"] = 4;
  cluster_.add({.name = "small",
                .suspended = true,
                .annotations = {{annotation::kMinWorkers, "2"}, {annotation::kMaxWorkers, "2"}}});
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  cluster_.wait(kLongTime);
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kStart));
}

TEST_F(Charm, NewWorkersGoWhenTheProgramIsGone) {
  is_to_expand();
  cluster_.wait(kLongTime);
  is_gone();
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kDeclined));
  EXPECT_EQ(cluster_.workers("wave"), 4);
}

TEST_F(Charm, AShrinkIsGivenUpWhereTheProgramDoesNotGoOn) {
  is_running_with(8);
  cluster_.add_high();
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kShrink));
  is_sent(8, 4);
  cluster_.wait(ControllerLimits().acknowledge_ms - 1);
  has_come(8, 4);
  cluster_.wait(ControllerLimits().progress_ms - 1);
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty()) << "it has time of its own for that";
  cluster_.wait(1);
  const auto actions = cluster_.step();
  ASSERT_THAT(kinds(actions), ElementsAre(Kind::kDeclined));
  EXPECT_THAT(actions[0].why, HasSubstr("from 8 to 4 workers, and no progress was seen"));
  EXPECT_EQ(cluster_.workers("wave"), 8);
  EXPECT_EQ(cluster_.workers("high"), 4);
  EXPECT_EQ(cluster_.at("high")["spec"]["suspend"], true) << "nobody is given what it has";
  cluster_.wait(kLongTime);
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  EXPECT_THAT(cluster_.why("wave"), HasSubstr("no progress was seen of its application since"));
  runs_with(4);  // it goes on after all
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kShrink));
  EXPECT_EQ(cluster_.workers("wave"), 4);
}

TEST_F(Charm, AnExpandSaysThatTheProgramDoesNotGoOn) {
  is_to_expand();
  has_come(4, 8);
  cluster_.wait(ControllerLimits().progress_ms - 1);
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  EXPECT_EQ(cluster_.why("wave"), "");
  cluster_.wait(1);
  EXPECT_THAT(kinds(cluster_.step()), IsEmpty());
  EXPECT_THAT(cluster_.why("wave"), HasSubstr("its new workers stay until then"));
  EXPECT_EQ(cluster_.workers("wave"), 8) << "it runs on them";
  is_gone();
  cluster_.wait(kLongTime);
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kDeclined));
  EXPECT_EQ(cluster_.workers("wave"), 4);
}

TEST_F(Charm, SuspendingItEndsTheProgram) {
  is_to_expand();
  cluster_.at("wave")["spec"]["suspend"] = true;
  EXPECT_THAT(kinds(cluster_.step()), testing::Contains(Kind::kDeclined));
  EXPECT_FALSE(may_still_act());
}

TEST_F(Charm, ResizingItByHandDoesNot) {
  is_to_expand();
  for (const char* number : {"parallelism", "completions"}) {
    cluster_.at("wave")["spec"][number] = 5;
  }
  EXPECT_THAT(kinds(cluster_.step()), ElementsAre(Kind::kDeclined));
  EXPECT_TRUE(may_still_act());
}

TEST(CharmSizes, AProgramThatGoesToANumberOfItsOwnIsTakenAsItIs) {
  struct Case {
    const char* name;
    int before;
    int wanted;
    int comes_to;
    int ends_with;
  };
  for (const Case& c :
       {Case{"a shrink to more", 8, 4, 6, 6}, Case{"a shrink to less", 8, 4, 3, 3},
        Case{"an expand to less", 4, 8, 6, 6}, Case{"an expand that is a shrink", 4, 8, 2, 2},
        Case{"a shrink to what was there", 8, 4, 8, 8},
        Case{"an expand to what was there", 4, 8, 4, 4}}) {
    SCOPED_TRACE(c.name);
    Cluster cluster(32);
    auto annotations = JobShape().annotations;
    annotations[annotation::kAcknowledge] = "ccs:1234";
    annotations[annotation::kRequestedWorkers] = std::to_string(c.wanted);
    cluster.add({.workers = c.before, .annotations = annotations});
    cluster.settle("wave");
    cluster.step();
    cluster.settle("wave");
    ASSERT_EQ(cluster.annotation("wave", annotation::kWantedWorkers), std::to_string(c.wanted));
    cluster.annotate("wave", annotation::kRescaleSent, "1 2 3 uid/0");
    cluster.annotate("wave", annotation::kAcknowledgedWorkers, std::to_string(c.comes_to));
    cluster.step();
    EXPECT_EQ(cluster.workers("wave"), c.ends_with);
    cluster.settle("wave");
    cluster.step();
    EXPECT_EQ(cluster.annotation("wave", annotation::kWantedWorkers), "");
    EXPECT_EQ(cluster.annotation("wave", annotation::kRescaleSent), "");
    EXPECT_THAT(kinds(cluster.step()), IsEmpty()) << "not tried again at once";
  }
}

TEST(CharmSizes, WhatWasSentIsReadAsItWasWritten) {
  const Sent sent{.before = 8, .wanted = 4, .at_ms = 1'795'532'400'000, .head = "uid/3"};
  EXPECT_EQ(sent_text(sent), "8 4 1795532400000 uid/3");
  EXPECT_EQ(read_sent(sent_text(sent)), sent);
  Sent came = sent;
  came.came_ms = 1'795'532'460'000;
  EXPECT_EQ(sent_text(came), "8 4 1795532400000 1795532460000 uid/3");
  EXPECT_EQ(read_sent(sent_text(came)), came);
  for (const char* none : {"", "true", "8", "8 4 1", "8 4 1 ", "0 4 1 uid/0", "8 -4 1 uid/0",
                           "8 200001 1 uid/0", "8 4 x uid/0", "8 4 1 2 ", "8x 4 1 uid/0"}) {
    EXPECT_EQ(read_sent(none), std::nullopt) << none;
  }
}

// What a program does, and what is found out about it.
struct Program {
  int workers = 0;  // 0: it has not started
  int asked = 0;    // workers; 0: for nothing
  int lives = 0;    // how often it has been started anew
};

// Random lives: programs act at once, late or never, are asked and looked at by leaders that die in
// between, fail and are started anew. Wherever a program restarts, its hosts are there; and when
// all have acted, each Job has as many workers as its program.
TEST(CharmSizes, RandomLivesLeaveEachJobWithWhatItsProgramHas) {
  int late = 0;
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    const auto roll = [&](unsigned below) { return static_cast<int>(random() % below); };
    Cluster cluster(16);
    std::map<std::string, Program> programs;
    const auto pods = [&](const std::string& name) {
      return Cluster::count(cluster.at(name), "ready");
    };
    // One look of ElasticAsks, `reaches`: its request arrives.
    const auto look = [&](const std::string& name, bool reaches) {
      const auto job = *read_elastic(cluster.at(name), {});
      Program& program = programs.at(name);
      if (!is_to_be_asked(job) || pods(name) == 0) return;
      const std::string head = "uid/" + std::to_string(program.lives);
      nlohmann::json patch;
      if (job.sent && job.sent->head != head) {
        patch = nothing_sent(job, cluster.now_ms());
      } else if (!job.sent && program.workers != *job.wanted) {
        patch = note_sent(job, {.before = program.workers,
                                .wanted = *job.wanted,
                                .at_ms = cluster.now_ms(),
                                .head = head});
        if (reaches) program.asked = *job.wanted;
      } else if (job.sent && job.sent->before != program.workers && roll(3) == 0) {
        Sent came = *job.sent;  // nothing is seen of its work
        came.came_ms = cluster.now_ms();
        patch = note_sent(job, came);
      } else if (!job.sent || job.sent->before != program.workers) {
        const int workers = std::min(program.workers, job.stated);
        patch = job.wanted || workers < job.stated ? acknowledged(job, workers)
                                                   : nothing_sent(job, cluster.now_ms());
      } else if (cluster.now_ms() - job.sent->at_ms >= ControllerLimits().acknowledge_ms &&
                 job.is_whole() && job.sent->wanted <= job.stated) {
        patch = note_sent(job, {.before = program.workers,
                                .wanted = job.sent->wanted,
                                .at_ms = cluster.now_ms(),
                                .head = head});
        if (reaches) program.asked = job.sent->wanted;
      } else {
        return;
      }
      cluster.at(name).merge_patch(patch);
    };
    const auto act = [&](const std::string& name) {
      Program& program = programs.at(name);
      if (program.asked == 0) return;
      late += cluster.annotation(name, annotation::kWantedWorkers).empty() ? 1 : 0;
      program.workers = std::exchange(program.asked, 0);
      ASSERT_LE(program.workers, pods(name)) << name << " restarts onto hosts that are gone";
    };
    for (int i = 0; i < 3; ++i) {
      const std::string name = "job" + std::to_string(i);
      cluster.add({.name = name,
                   .cpus = 1,
                   .suspended = true,
                   .annotations = {{annotation::kMinWorkers, std::to_string(1 + i)},
                                   {annotation::kMaxWorkers, "8"},
                                   {annotation::kPriority, std::to_string(i)},
                                   {annotation::kRescaleGapSeconds, "10"},
                                   {annotation::kAcknowledge, "ccs:1234"}}});
      programs[name];
    }
    for (int event = 0; event < 600; ++event) {
      cluster.wait(roll(60'000));
      const std::string name = "job" + std::to_string(roll(3));
      Program& program = programs.at(name);
      switch (roll(8)) {
        case 0:
          act(name);
          break;
        case 1:
          if (roll(20) == 0) {  // it fails, and is started anew on the pods that are there
            program = {.workers = pods(name), .lives = program.lives + 1};
          }
          break;
        case 2:
          cluster.annotate(name, annotation::kRequestedWorkers, std::to_string(1 + roll(8)));
          break;
        case 3:
          cluster.at(name)["metadata"]["annotations"].erase(annotation::kRequestedWorkers);
          break;
        case 4:
        case 5:
          look(name, roll(5) != 0);
          break;
        default:
          if (roll(10) == 0) cluster.take_over();
          cluster.step([&](const Action&) { return roll(5) == 0; });
      }
      if (roll(4) != 0) cluster.settle(name);
      if (pods(name) == 0) program = {.lives = program.lives + 1};
      if (program.workers == 0) program.workers = pods(name);  // it has started
      if (HasFatalFailure()) return;
    }
    for (int quiet = 0; quiet < 100; ++quiet) {
      cluster.wait(30'000);
      for (auto& [name, program] : programs) {
        look(name, true);
        act(name);
        cluster.settle(name);
        if (program.workers == 0) program.workers = pods(name);
      }
      cluster.step();
      if (HasFatalFailure()) return;
    }
    for (const auto& [name, program] : programs) {
      EXPECT_EQ(program.asked, 0);
      EXPECT_EQ(cluster.workers(name), program.workers) << name << ", seed " << seed;
      EXPECT_EQ(cluster.annotation(name, annotation::kWantedWorkers), "") << name;
    }
  }
  EXPECT_GT(late, 5);
}

}  // namespace
}  // namespace pinion::cluster::elastic
