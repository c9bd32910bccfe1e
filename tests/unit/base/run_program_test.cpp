#include "base/process/run_program.h"

#include <gtest/gtest.h>

namespace pinion {
namespace {

using std::chrono::milliseconds;

TEST(RunProgram, GivesWhatItPrintsAndHowItEnds) {
  const auto end = run_program({"sh", "-c", "echo out; echo why >&2; exit 3"});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 3);
  EXPECT_EQ(end->out, "out\n");
  EXPECT_EQ(end->errors, "why");
  const auto killed = run_program({"sh", "-c", "kill -9 $$"}, {.time = milliseconds(60'000)});
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->status, 137);
}

// What is wrong stands at the end.
TEST(RunProgram, KeepsTheEndOfALongComplaint) {
  const auto end = run_program({"sh", "-c", "head -c 100000 /dev/zero >&2; echo why >&2; exit 1"});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->errors.size(), 999U);
  EXPECT_TRUE(end->errors.ends_with("why"));
}

TEST(RunProgram, WhatTakesTooLongIsKilledWithItsChildren) {
  // The child holds the pipe: without it being killed this would last as long.
  const auto end = run_program({"sh", "-c", "sleep 600 & wait"}, {.time = milliseconds(50)});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::kUnavailable);
}

TEST(RunProgram, SaysWhatIsTooLongAndWhatIsMissing) {
  const auto much = run_program({"head", "-c", "300000", "/dev/zero"}, {.out_bytes = 1000});
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().code, Errc::kUnavailable);
  const auto none = run_program({"/nonexistent/program"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace pinion
