// What jobs give back comes piece by piece.
#include "cluster/core/settling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/core/elastic.h"
#include "tests/unit/cluster_core/elastic_play.h"

namespace pinion::cluster {
namespace {

TEST(Settling, LastsUntilNothingMoreHasBecomeFree) {
  struct Look {
    std::int64_t free;
    std::int64_t at_ms;
    bool settling;
  };
  struct Case {
    const char* name;
    std::vector<Look> looks;
  };
  constexpr std::int64_t kSettle = Settling::kSettleMs;
  constexpr std::int64_t kLongest = Settling::kLongestMs;
  const Case cases[] = {
      {"who has just begun to look",
       {{64, 0, true}, {64, kSettle - 1, true}, {64, kSettle, false}}},
      {"what becomes free", {{0, 0, true}, {0, 9000, false}, {30, 9001, true}, {30, 15000, false}}},
      {"in pieces",
       {{0, 0, true},
        {0, 9000, false},
        {30, 9001, true},
        {60, 13000, true},
        {60, 13000 + kSettle - 1, true},
        {60, 13000 + kSettle, false}}},
      {"what is taken",
       {{60, 0, true}, {60, 9000, false}, {30, 9001, false}, {0, 9002, false}, {30, 9003, true}}},
      {"taken meanwhile",
       {{0, 0, true},
        {0, 9000, false},
        {30, 9001, true},
        {0, 10000, true},
        {0, 9001 + kSettle, false}}},
      {"free for long", {{60, 0, true}, {60, 9000, false}, {60, 900000, false}}},
  };
  for (const Case& one : cases) {
    Settling settling;
    for (const Look& look : one.looks) {
      EXPECT_EQ(settling.look(look.free, look.at_ms), look.settling)
          << one.name << ", at " << look.at_ms;
    }
  }
  Settling endless;
  int settled = 0;
  for (std::int64_t at = 0; at < 10 * kLongest; at += 1000) settled += !endless.look(at, at);
  EXPECT_EQ(settled, 9) << "jobs end all the time";
}

TEST(Settling, MakesThoseWaitThatCouldHaveMore) {
  struct Case {
    const char* name;
    ElasticPolicy policy;
    int from;
    int to;
    bool waits;
  };
  // Of 2 to 8.
  const Case cases[] = {
      {"starts with some", ElasticPolicy::kElastic, 0, 3, true},
      {"the same under ours", ElasticPolicy::kOurs, 0, 3, true},
      {"the same where nobody grows later", ElasticPolicy::kMoldable, 0, 3, true},
      {"starts with all that it can have", ElasticPolicy::kElastic, 0, 8, false},
      {"expands", ElasticPolicy::kElastic, 2, 7, true},
      {"expands to all", ElasticPolicy::kElastic, 2, 8, false},
      {"shrinks", ElasticPolicy::kElastic, 7, 3, false},
      {"never has more under this policy", ElasticPolicy::kMin, 0, 2, false},
  };
  for (const Case& one : cases) {
    const ElasticJob job = running(1, 0, 2, 8, one.from);
    const ElasticStep step{.job = 1, .from = one.from, .workers = one.to};
    EXPECT_EQ(is_to_wait_for_more(one.policy, job, step), one.waits) << one.name;
  }
}

}  // namespace
}  // namespace pinion::cluster
