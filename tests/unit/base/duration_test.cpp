#include "base/duration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace pinion {
namespace {

TEST(ParseDuration, ReadsWhatPeopleWrite) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0.25s", 250},  {"500ms", 500}, {"1s", 1000}, {"1.5s", 1500},          {"10m", 600000},
      {"2h", 7200000}, {"0", 0},       {"0s", 0},    {"87600h", 315360000000}};
  for (const auto& [text, expected] : cases) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration->count(), expected) << text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text : {"", "1", "0.25", "0d", "-1s", "s", "1 s", "1d", "1ss", "1.2.3", "1e3",
                           "inf", "nan", "87601h", "0.1ms", "99999999999999999999h", "0x10"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace pinion
