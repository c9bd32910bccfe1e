#include "cluster/extender/elastic/going_on.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pinion::cluster::elastic {
namespace {

using Measure = SpeedSeen::Measure;
using Seen = GoingOn::Seen;

constexpr int kPes = 4;
constexpr double kEnough = kLeastInstructions * kPes;

// One that looks at these, one second after the other.
Seen last_of(const std::vector<std::optional<double>>& done) {
  GoingOn going_on;
  Seen seen = Seen::kNothingTells;
  double now_s = 100;
  for (const auto& one : done) {
    now_s += 1;
    seen = going_on.look(
        one ? std::optional(WorkDone{.progress = {.done = *one}, .at_s = now_s}) : std::nullopt,
        kPes, now_s);
  }
  return seen;
}

TEST(GoingOn, ByItsOwnWord) {
  struct Case {
    const char* name;
    std::vector<std::optional<double>> done;
    Seen seen;
  };
  for (const Case& c : {Case{"it says nothing", {std::nullopt, std::nullopt}, Seen::kNothingTells},
                        Case{"what it said before", {120}, Seen::kNotYet},
                        Case{"the same for ever", {120, 120, 120, 120}, Seen::kNotYet},
                        Case{"more", {120, 120, 121}, Seen::kGoesOn},
                        Case{"less, as it starts from a checkpoint", {120, 100}, Seen::kNotYet},
                        Case{"more than there", {120, 100, 101}, Seen::kGoesOn},
                        Case{"it says nothing any more", {120, std::nullopt}, Seen::kNotYet}}) {
    EXPECT_EQ(last_of(c.done), c.seen) << c.name;
  }
}

// Reports that come every 30 s, of so many instructions each, looked at each second.
Seen after_reports(const std::vector<double>& instructions) {
  GoingOn going_on;
  Seen seen = Seen::kNothingTells;
  double done = 5e12;
  double now_s = 1'000;
  for (const double more : instructions) {
    done += more;
    const WorkDone work{
        .measure = Measure::kInstructions, .progress = {.done = done}, .at_s = now_s - 10};
    for (int second = 0; second < 30 && seen != Seen::kGoesOn; ++second) {
      seen = going_on.look(work, kPes, now_s + second);
    }
    now_s += 30;
  }
  return seen;
}

TEST(GoingOn, ByItsInstructions) {
  const double works = 30 * kEnough;
  struct Case {
    const char* name;
    std::vector<double> reports;
    Seen seen;
  };
  for (const Case& c :
       {Case{"one report, from before", {works}, Seen::kNotYet},
        Case{"a second one, in part from before", {works, works}, Seen::kNotYet},
        Case{"and a whole one after", {works, works, works}, Seen::kGoesOn},
        Case{"it hangs", {works, works, 0, 0, 0, 0}, Seen::kNotYet},
        Case{"it only answers", {works, works, works / 100, works / 100}, Seen::kNotYet},
        Case{"it goes on late", {works, 0, 0, 0, 0, works}, Seen::kGoesOn}}) {
    EXPECT_EQ(after_reports(c.reports), c.seen) << c.name;
  }
}

TEST(GoingOn, InstructionsSayNothingOfWhoSaysItself) {
  GoingOn going_on;
  const WorkDone counted{.measure = Measure::kInstructions, .progress = {.done = 1e15}, .at_s = 0};
  EXPECT_EQ(going_on.look(counted, kPes, 0), Seen::kNotYet);
  EXPECT_EQ(going_on.look(WorkDone{.progress = {.done = 7}, .at_s = 99}, kPes, 99), Seen::kNotYet);
  EXPECT_EQ(going_on.look(WorkDone{.progress = {.done = 8}, .at_s = 100}, kPes, 100),
            Seen::kGoesOn);
}

}  // namespace
}  // namespace pinion::cluster::elastic
