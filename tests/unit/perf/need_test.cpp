#include "metrics/perf/need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::metrics::perf {
namespace {

TEST(DescriptorNeed, OneForEachEventAndCpuAndOneForTheDirectory) {
  EXPECT_EQ(descriptor_need(0, 8, 9), 0U);
  EXPECT_EQ(descriptor_need(32, 8, 4), 32U * 33);  // against 32 x 256 x 4 with all CPUs of a node
  EXPECT_EQ(descriptor_need(200, 2, 9), 200U * 19);
}

TEST(MissingDescriptors, NothingWhereTheHardLimitIsEnough) {
  EXPECT_EQ(missing_descriptors(1000, 24, 1024), std::nullopt);
}

TEST(MissingDescriptors, NamesTheNumberToSet) {
  const auto text = missing_descriptors(1000, 25, 1024);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::HasSubstr("RLIMIT_NOFILE to 1025"));
  EXPECT_THAT(*text, testing::HasSubstr("1024"));
}

TEST(MissingDescriptors, AnAbsurdNeedDoesNotWrap) {
  EXPECT_TRUE(missing_descriptors(~std::uint64_t{0}, 256, 1024));
}

}  // namespace
}  // namespace pinion::metrics::perf
