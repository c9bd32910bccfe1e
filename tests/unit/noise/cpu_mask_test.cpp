#include "agent/noise/cpu_mask.h"

#include <gtest/gtest.h>

namespace pinion::noise {
namespace {

using topology::CpuSet;

struct MaskCase {
  const char* mask;
  const char* list;
  const char* written;
};

TEST(CpuMask, IsReadAndWrittenAsTheKernelDoes) {
  for (const MaskCase& one :
       {MaskCase{"f", "0-3", "f"}, MaskCase{"00ff\n", "0-7", "ff"}, MaskCase{"0", "", "0"},
        MaskCase{"FF", "0-7", "ff"}, MaskCase{"00000000,0000000f\n", "0-3", "f"},
        MaskCase{"80000000,00000001", "0,63", "80000000,00000001"},
        MaskCase{"1,00000000,00000000", "64", "1,00000000,00000000"},
        MaskCase{"3,1", "0,32-33", "3,00000001"}}) {
    SCOPED_TRACE(one.mask);
    const auto cpus = parse_mask(one.mask);
    ASSERT_TRUE(cpus) << cpus.error().text;
    EXPECT_EQ(cpus->to_string(), one.list);
    EXPECT_EQ(to_mask(*cpus), one.written);
  }
}

TEST(CpuMask, AnythingElseIsAnError) {
  for (const char* mask : {"", "\n", "g", "0x1", "-1", " f", "f ", "1,", ",1", "1,,1", "123456789",
                           "1,123456789", "f\n\n"}) {
    const auto cpus = parse_mask(mask);
    EXPECT_FALSE(cpus) << "'" << mask << "'";
  }
}

TEST(CpuMask, TheLargestMachineFitsAndNoLargerOne) {
  std::string zeros;
  for (int first = 32; first < CpuSet::kCapacity; first += 32) zeros += ",00000000";
  const auto last = parse_mask("80000000" + zeros);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->to_string(), std::to_string(CpuSet::kCapacity - 1));
  EXPECT_EQ(to_mask(*last), "80000000" + zeros);
  EXPECT_FALSE(parse_mask("1,00000000" + zeros));
}

}  // namespace
}  // namespace pinion::noise
