// The codes, written out as a reader of the manuals would write them: a raw code is
// 0xMMEE, unit mask and event select.
#include "metrics/perf/event_table.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>

namespace pinion::metrics::perf {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kGeneric = ~std::uint64_t{0} - 1;  // PERF_COUNT_HW_CACHE_MISSES

struct EventCase {
  const char* name;
  Core core;
  std::uint64_t l3;
  std::uint64_t local;
  std::uint64_t remote;
};

class EventTable : public testing::TestWithParam<EventCase> {
 protected:
  static void expect_code(Event event, std::uint64_t expected) {
    const Code code = code_of(GetParam().core, event);
    EXPECT_FALSE(code.detail.empty());
    if (expected == kNone) {
      EXPECT_EQ(code.encoding, std::nullopt);
      return;
    }
    ASSERT_TRUE(code.encoding);
    const Encoding want = expected == kGeneric ? Encoding{PERF_TYPE_HARDWARE, 3, 0}
                                               : Encoding{PERF_TYPE_RAW, expected, 0};
    EXPECT_EQ(*code.encoding, want) << code.detail;
  }
};

TEST_P(EventTable, MemoryCodes) {
  expect_code(Event::kL3Misses, GetParam().l3);
  expect_code(Event::kLocalDram, GetParam().local);
  expect_code(Event::kRemoteDram, GetParam().remote);
}

TEST_P(EventTable, TheRestIsTheSameEverywhere) {
  struct {
    Event event;
    Encoding encoding;
  } const rest[] = {{Event::kContextSwitches, {PERF_TYPE_SOFTWARE, 3, 0}},
                    {Event::kMigrations, {PERF_TYPE_SOFTWARE, 4, 0}},
                    {Event::kPageFaults, {PERF_TYPE_SOFTWARE, 2, 0}},
                    {Event::kTaskClock, {PERF_TYPE_SOFTWARE, 1, 0}},
                    {Event::kCycles, {PERF_TYPE_HARDWARE, 0, 0}},
                    {Event::kInstructions, {PERF_TYPE_HARDWARE, 1, 0}}};
  for (const auto& each : rest) {
    EXPECT_EQ(code_of(GetParam().core, each.event).encoding, each.encoding);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cores, EventTable,
    testing::Values(EventCase{"zen1", Core::kZen1, 0x5843, 0x0843, 0x4043},
                    EventCase{"zen2", Core::kZen2, 0x5843, 0x0843, 0x4043},
                    EventCase{"zen3", Core::kZen3, 0x5c44, 0x0844, 0x4044},
                    EventCase{"zen4", Core::kZen4, 0xdc44, 0x0844, 0x4044},
                    EventCase{"zen5", Core::kZen5, 0xdc44, 0x0844, 0x4044},
                    EventCase{"other_amd", Core::kOtherAmd, kNone, kNone, kNone},
                    EventCase{"skylake", Core::kSkylakeServer, kGeneric, 0x01d3, 0x02d3},
                    EventCase{"ice_lake", Core::kIceLakeServer, kGeneric, 0x01d3, 0x02d3},
                    EventCase{"sapphire_rapids", Core::kSapphireRapids, kGeneric, 0x01d3, 0x02d3},
                    EventCase{"granite_rapids", Core::kGraniteRapids, kGeneric, 0x01d3, 0x02d3},
                    EventCase{"other_intel", Core::kOtherIntel, kGeneric, kNone, kNone},
                    EventCase{"arm", Core::kArm, 0x37, kNone, kNone},
                    EventCase{"unknown", Core::kUnknown, kGeneric, kNone, kNone}),
    [](const auto& tested) { return tested.param.name; });

TEST(AmdConfig, UpperBitsOfTheEventSelectLieApart) {
  EXPECT_EQ(amd_config(0x044, 0xdc), 0xdc44U);
  EXPECT_EQ(amd_config(0x1cf, 0x02), 0x1000002cfU);
  EXPECT_EQ(amd_config(0xfff, 0xff), 0xf0000ffffU);
}

TEST(IntelConfig, MaskAboveSelect) {
  EXPECT_EQ(intel_config(0x2e, 0x41), 0x412eU);
}

}  // namespace
}  // namespace pinion::metrics::perf
