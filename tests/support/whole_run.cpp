// In every test program: one that ends before its run does, as by exit(0) in a case or in what that
// calls, does not pass.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

pid_t running = 0;  // the process whose run has begun and not ended; its children end as they like

class WholeRun : public testing::EmptyTestEventListener {
  void OnTestProgramStart(const testing::UnitTest&) override { running = ::getpid(); }
  void OnTestProgramEnd(const testing::UnitTest&) override { running = 0; }
};

void end_of_process() {
  if (running != ::getpid()) return;
  std::fputs("[  FAILED  ] the program has ended before its tests did\n", stderr);
  ::_exit(70);
}

[[maybe_unused]] const bool watched = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new WholeRun);
  return std::atexit(end_of_process) == 0;
}();

}  // namespace
