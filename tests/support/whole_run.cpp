// In every test program: one that ends before its run does, as by exit(0) in a case or in what that
// calls, does not pass. Nor does one whose cases are skipped and which fails otherwise, as in
// SetUpTestSuite: for ctest a program that says "[  SKIPPED ]" was skipped, whatever its exit code,
// unless a signal ends it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

pid_t running = 0;  // the process whose run has begun and not ended; its children end as they like
bool only_skipped = false;  // the run has ended, with a skipped case and without a failed one

class WholeRun : public testing::EmptyTestEventListener {
  void OnTestProgramStart(const testing::UnitTest&) override { running = ::getpid(); }
  void OnTestProgramEnd(const testing::UnitTest& run) override {
    running = 0;
    only_skipped = run.skipped_test_count() > 0 && run.failed_test_count() == 0;
  }
};

void end_of_process(int status, void*) {
  if (running == ::getpid()) {
    std::fputs("[  FAILED  ] the program has ended before its tests did\n", stderr);
  } else if (only_skipped && status != 0) {
    std::fputs("[  FAILED  ] the program has failed outside of its cases\n", stderr);
  } else {
    return;
  }
  std::abort();
}

[[maybe_unused]] const bool watched = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new WholeRun);
  return ::on_exit(end_of_process, nullptr) == 0;
}();

}  // namespace
