#include "agent/http/process_figures.h"

#include <gtest/gtest.h>

#include <string>

namespace pinion::agent {
namespace {

TEST(ProcessFigures, SeeWhatTheProcessTakes) {
  const ProcessFigures before = process_figures(1'700'000'000'250);
  EXPECT_EQ(before.start_time_seconds, 1'700'000'000.25);
  ASSERT_TRUE(before.resident_bytes);
  EXPECT_GT(*before.resident_bytes, 0U);
  const std::string much(std::size_t{64} << 20U, 'x');
  while (process_figures(0).cpu_seconds <= before.cpu_seconds) {
  }
  EXPECT_GE(*process_figures(0).resident_bytes, *before.resident_bytes + (much.size() / 2));
}

}  // namespace
}  // namespace pinion::agent
