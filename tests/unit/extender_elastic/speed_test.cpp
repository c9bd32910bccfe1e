// How fast jobs are with how many workers: what was seen, what is said, and what the policy makes
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/elastic/speedometer.h"
#include "cluster/extender/elastic/telling.h"
#include "tests/unit/extender_elastic/play_cluster.h"

namespace pinion::cluster::elastic {
namespace {

using Measure = SpeedSeen::Measure;
using test_support::make_job;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(SpeedSeen, IsReadAsItWasWritten) {
  SpeedSeen seen;
  EXPECT_EQ(speed_seen_text(seen), "");
  seen.add_rate(Measure::kProgress, 4, 190);
  seen.add_rate(Measure::kProgress, 2, 105.25);
  seen.add_cost(false, 2);
  seen.add_cost(true, 4);
  seen.add_cost(true, 3.5);
  EXPECT_EQ(speed_seen_text(seen), "progress 2:105.2 4:190 shrink:2 expand:4 expand:3.5");
  seen.add_rate(Measure::kProgress, 2, 105.2);
  EXPECT_EQ(read_speed_seen(speed_seen_text(seen)), seen);
  seen.add_rate(Measure::kInstructions, 8, 1e12);
  EXPECT_EQ(speed_seen_text(seen), "instructions 8:1e+12 shrink:2 expand:4 expand:3.5")
      << "those of another measure say nothing";
}

TEST(SpeedSeen, KeepsSoMuch) {
  SpeedSeen seen;
  for (int workers = 1; workers < 100; ++workers) seen.add_rate(Measure::kProgress, workers, 1);
  for (int i = 1; i < 100; ++i) seen.add_cost(true, i);
  EXPECT_THAT(seen.rates, SizeIs(kSizesKept));
  EXPECT_THAT(seen.expands, ElementsAre(95, 96, 97, 98, 99));
  EXPECT_LT(speed_seen_text(seen).size(), 1024U);
}

TEST(SpeedSeen, WhatPeopleWroteThereIsPassedOver) {
  for (const char* text :
       {"", " ", "2:105", "progress", "progress 0:1 1001:1 2: 2:-1 2:nan 2:inf 2:1e16 x:1 2:1x",
        "shrink:0 expand:-1 expand:1e9 shrink:", "progress 2:1e-300", "progress:1 :::: 2;3"}) {
    EXPECT_EQ(read_speed_seen(text), SpeedSeen()) << text;
  }
}

TEST(SpeedUpText, IsReadOrRefused) {
  const auto rates = read_speed_up("1:1 4:3.4 2:1.9");
  ASSERT_TRUE(rates);
  EXPECT_THAT(*rates, SizeIs(3));
  EXPECT_TRUE(read_speed_up("")->empty());
  std::string many;
  for (int i = 1; i <= 25; ++i) many += std::to_string(i) + ":1 ";
  for (const std::string& text :
       {std::string("4"), std::string("4:x"), std::string("0:1"), std::string("4:0"),
        std::string("4:1 4:2"), std::string("1:1e-300 2:1e15"), many}) {
    EXPECT_FALSE(read_speed_up(text)) << text;
  }
}

TEST(ProgressText, IsReadOrPassedOver) {
  EXPECT_EQ(read_progress("0"), (Progress{.done = 0}));
  EXPECT_EQ(read_progress("12.5/100"), (Progress{.done = 12.5, .whole = 100}));
  for (const char* text : {"", "-1", "x", "1/", "1/0", "1/x", "/5", "1/2/3", "nan", "1e16"}) {
    EXPECT_EQ(read_progress(text), std::nullopt) << text;
  }
}

TEST(ProgressAnswer, IsReadOrRefused) {
  const auto read = [](const char* text) {
    return said_in(nlohmann::json::parse(text, nullptr, false));
  };
  const auto both = read(R"({"done": 120, "whole": 1000, "workers": 6})");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->progress, (Progress{.done = 120, .whole = 1000}));
  EXPECT_EQ(both->workers, 6);
  EXPECT_EQ(read(R"({"done": 0.5, "more": []})")->progress, (Progress{.done = 0.5}));
  EXPECT_EQ(read(R"({"workers": 1000})")->workers, 1000);
  EXPECT_EQ(read(R"({"workers": 6})")->progress, std::nullopt);
  for (const char* text : {"",
                           "[]",
                           "{}",
                           "7",
                           R"({"done": "7"})",
                           R"({"done": -1})",
                           R"({"done": 1e16})",
                           R"({"done": 1, "whole": 0})",
                           R"({"done": 1, "whole": "2"})",
                           R"({"whole": 2})",
                           R"({"whole": 2, "workers": 6})",
                           R"({"workers": 0})",
                           R"({"workers": -1})",
                           R"({"workers": 1001})",
                           R"({"workers": 1e300})",
                           R"({"workers": 2.5})",
                           R"({"workers": "6"})",
                           R"({"workers": true})",
                           R"({"workers": [6]})",
                           R"({"done": 1, "workers": 0})"}) {
    EXPECT_FALSE(read(text)) << text;
  }
}

// A job that the cluster shows, and looks at it.
class SpeedometerTest : public testing::Test {
 protected:
  SpeedometerTest() : object_(make_job({.workers = 4})) {
    object_["metadata"]["annotations"][annotation::kAcknowledge] = "http:80";
    set_ready(4);
  }

  void set_ready(int workers) {
    object_["spec"]["parallelism"] = object_["spec"]["completions"] = workers;
    object_["status"] = {{"active", workers}, {"ready", workers}};
  }
  void annotate(const char* key, const std::string& value) {
    object_["metadata"]["annotations"][key] = value;
  }
  void clear(const char* key) { object_["metadata"]["annotations"].erase(key); }

  // `seconds` with a look at each, in which it does `rate` a second and says so.
  void run(int seconds, double rate, Measure measure = Measure::kProgress) {
    for (int i = 0; i < seconds; ++i) {
      now_ms_ += 1000;
      done_ += rate;
      look(WorkDone{.measure = measure,
                    .progress = {.done = done_, .whole = 10'000},
                    .at_s = static_cast<double>(now_ms_) / 1000});
    }
  }
  void look(const std::optional<WorkDone>& work = {}) {
    speeds_.look(*read_elastic(object_, {}), work, now_ms_);
  }
  ElasticObject filled_in() {
    ElasticObject job = *read_elastic(object_, {});
    speeds_.fill_in(job);
    return job;
  }
  SpeedSeen seen() { return filled_in().seen; }
  void begin_rescale(int before, int wanted) {
    annotate(annotation::kWantedWorkers, std::to_string(wanted));
    annotate(annotation::kPreviousWorkers, std::to_string(before));
    annotate(annotation::kRescaledAt, std::to_string(now_ms_));
  }
  void end_rescale() {
    for (const char* key : {annotation::kWantedWorkers, annotation::kPreviousWorkers,
                            annotation::kAcknowledgedWorkers}) {
      clear(key);
    }
  }

  nlohmann::json object_;
  Speedometer speeds_;
  std::int64_t now_ms_ = 1'795'532'400'000;
  double done_ = 0;
};

TEST_F(SpeedometerTest, ASpeedIsTakenOnceTheSizeHasSettled) {
  run(35, 10);
  EXPECT_THAT(seen().rates, IsEmpty()) << "ten seconds to settle, thirty to measure";
  run(10, 10);
  ASSERT_THAT(seen().rates, SizeIs(1));
  EXPECT_EQ(seen().rates[0].workers, 4);
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, 10);
  EXPECT_EQ(filled_in().left, 10'000 - done_);
  run(30, 20);
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, (10 + (4 * 10 + 26 * 20) / 30.) / 2)
      << "the last window counts half";
}

TEST_F(SpeedometerTest, WhatIsLeftIsForgottenWithoutProgress) {
  run(60, 10);
  run(599, 0);
  EXPECT_EQ(filled_in().left, 9400);
  run(1, 0);
  EXPECT_EQ(filled_in().left, std::nullopt);
  run(1, 1);
  EXPECT_EQ(filled_in().left, 9399);
  now_ms_ += 600'000;
  look();
  EXPECT_EQ(filled_in().left, std::nullopt) << "it says nothing more";
}

TEST_F(SpeedometerTest, ReportsThatAreRareCountFromOneToAnother) {
  for (int i = 0; i < 6; ++i) {
    run(1, 600);
    run(59, 0);  // the same again
  }
  ASSERT_THAT(seen().rates, SizeIs(1));
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, 10);
}

TEST_F(SpeedometerTest, WhatItDidWhileItWasRescaledCountsForNoSize) {
  run(45, 10);
  begin_rescale(4, 8);
  run(100, 1);
  set_ready(8);
  run(100, 1);
  end_rescale();
  run(45, 18);
  ASSERT_THAT(seen().rates, SizeIs(2));
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, 10);
  EXPECT_EQ(seen().rates[1].workers, 8);
  EXPECT_DOUBLE_EQ(seen().rates[1].rate, 18);
  object_["status"]["ready"] = 7;
  run(100, 5);
  EXPECT_DOUBLE_EQ(seen().rates[1].rate, 18) << "one of its workers is not there";
}

TEST_F(SpeedometerTest, AnApplicationThatBeginsAnewIsMeasuredAnew) {
  run(30, 10);
  done_ = 0;
  run(30, 10);
  EXPECT_THAT(seen().rates, IsEmpty());
  run(15, 10);
  EXPECT_THAT(seen().rates, SizeIs(1));
}

TEST_F(SpeedometerTest, WhoHasDoneAllAndGoesOnHasAnUnknownRest) {
  run(45, 10);
  EXPECT_NE(filled_in().left, std::nullopt);
  done_ = 9'999;
  run(1, 10);
  EXPECT_EQ(filled_in().left, std::nullopt);
}

TEST_F(SpeedometerTest, InstructionsCountUntilProgressIsReported) {
  run(170, 1e9, Measure::kInstructions);
  EXPECT_THAT(seen().rates, IsEmpty());
  run(15, 1e9, Measure::kInstructions);
  EXPECT_EQ(seen().measure, Measure::kInstructions);
  EXPECT_THAT(seen().rates, SizeIs(1));
  done_ = 0;
  run(20, 10);
  EXPECT_EQ(filled_in().left, std::nullopt) << "in the unit of another measure";
  run(25, 10);
  EXPECT_EQ(seen().measure, Measure::kProgress);
  ASSERT_THAT(seen().rates, SizeIs(1));
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, 10);
  run(100, 1e9, Measure::kInstructions);
  EXPECT_DOUBLE_EQ(seen().rates[0].rate, 10);
}

TEST_F(SpeedometerTest, ARescaleCostsWhatTheApplicationTakesToAnswer) {
  look();
  begin_rescale(4, 2);
  look();
  now_ms_ += 7000;
  annotate(annotation::kAcknowledgedWorkers, "2");
  look();
  now_ms_ += 20'000;
  set_ready(2);
  look();
  end_rescale();
  look();
  EXPECT_THAT(seen().shrinks, ElementsAre(7));
  begin_rescale(2, 4);
  look();
  now_ms_ += 60'000;  // its new workers start, and it works on
  set_ready(4);
  look();
  now_ms_ += 3000;
  annotate(annotation::kAcknowledgedWorkers, "4");
  look();
  EXPECT_THAT(seen().expands, ElementsAre(3));
  end_rescale();
  begin_rescale(4, 3);
  look();
  now_ms_ += 5000;
  annotate(annotation::kAcknowledgedWorkers, "4");  // it declines
  look();
  EXPECT_THAT(seen().shrinks, ElementsAre(7));
}

TEST_F(SpeedometerTest, TheNextLeaderGoesOnFromTheAnnotation) {
  annotate(annotation::kSpeedSeen, "progress 2:6 shrink:7");
  run(45, 10);
  EXPECT_EQ(speed_seen_text(seen()), "progress 2:6 4:10 shrink:7");
}

TEST(ScaledSpeedUp, WhatWasSeenComesBeforeWhatIsSaid) {
  EXPECT_DOUBLE_EQ(scaled_speed_up({}, {}).speed_up.rate(4), SpeedUp().rate(4));
  const std::vector<SizeRate> said = {{2, 100}, {4, 200}, {8, 400}};
  const ScaledSpeedUp by_word = scaled_speed_up(said, {});
  EXPECT_DOUBLE_EQ(by_word.speed_up.rate(2), SpeedUp().rate(2)) << "in everybody's unit";
  EXPECT_DOUBLE_EQ(by_word.speed_up.rate(8) / by_word.speed_up.rate(2), 4);
  EXPECT_EQ(by_word.unit, 0);
  SpeedSeen seen;
  seen.add_rate(Measure::kProgress, 2, 50);
  seen.add_rate(Measure::kProgress, 8, 60);
  const ScaledSpeedUp scaled = scaled_speed_up(said, seen);
  EXPECT_DOUBLE_EQ(scaled.speed_up.rate(8) / scaled.speed_up.rate(2), 1.2);
  EXPECT_DOUBLE_EQ(scaled.speed_up.rate(2) * scaled.unit, 50);
}

// Two jobs like each other, of two workers of four CPUs, and room for four workers more.
class SpeedPolicy : public testing::Test {
 protected:
  void add(const std::string& name, const std::map<std::string, std::string>& more) {
    std::map<std::string, std::string> annotations = {{annotation::kMinWorkers, "2"},
                                                      {annotation::kMaxWorkers, "6"}};
    annotations.insert(more.begin(), more.end());
    cluster_.add({.name = name, .workers = 2, .annotations = annotations});
    cluster_.settle(name);
  }

  Cluster cluster_{32, ElasticPolicy::kOurs};
};

TEST_F(SpeedPolicy, WhoWasSeenToGainGetsTheWorkers) {
  add("flat", {{annotation::kSpeedSeen, "progress 2:100 4:101 6:101"}});
  add("steep", {{annotation::kSpeedSeen, "progress 2:100 4:199 6:297"}});
  cluster_.step();
  EXPECT_EQ(cluster_.workers("flat"), 2);
  EXPECT_EQ(cluster_.workers("steep"), 6);
  EXPECT_EQ(cluster_.annotation("steep", annotation::kSpeedSeen), "progress 2:100 4:199 6:297");
}

TEST_F(SpeedPolicy, WhoIsSaidToGainGetsTheWorkers) {
  add("flat", {{annotation::kSpeedUp, "2:1 6:1.01"}});
  add("steep", {{annotation::kSpeedUp, "2:1 6:3"}});
  cluster_.step();
  EXPECT_EQ(cluster_.workers("flat"), 2);
  EXPECT_EQ(cluster_.workers("steep"), 6);
}

TEST_F(SpeedPolicy, WhoseRescalesTakeLongIsLeftAlone) {
  add("slow", {{annotation::kSpeedSeen, "shrink:600 expand:600"}});
  add("quick", {{annotation::kRescaleCostSeconds, "0"}});
  cluster_.step();
  EXPECT_EQ(cluster_.workers("slow"), 2);
  EXPECT_EQ(cluster_.workers("quick"), 6);
}

TEST(ElasticJobText, ASpeedUpThatMakesNoSenseIsRefused) {
  auto job = make_job();
  job["metadata"]["annotations"][annotation::kSpeedUp] = "fast";
  const auto read = read_elastic(job, {});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, testing::HasSubstr("pinion.dev/speed-up: use WORKERS:SPEED"));
}

}  // namespace
}  // namespace pinion::cluster::elastic
