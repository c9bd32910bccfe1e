// What the log costs its process at the end.
#include "base/log/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "tests/support/lateness.h"

namespace pinion {
namespace {

// Each line waited a tenth of a second of its own.
TEST(Log, EndsWithinASecondWithManyLinesThatNobodyReads) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  const std::string page(4096, '.');
  while (write(writer.get(), page.data(), page.size()) > 0) {
  }
  const Fd before(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  ASSERT_GE(dup2(writer.get(), STDERR_FILENO), 0);
  const test_support::Lateness machine;
  std::chrono::steady_clock::time_point begun;
  std::chrono::steady_clock::duration late_before{};
  {
    Log log("info", LogFormat::kText);
    for (int line = 0; line < 100; ++line) log.info("a line");
    late_before = machine.so_far();
    begun = std::chrono::steady_clock::now();
  }
  const auto took = std::chrono::steady_clock::now() - begun;
  ASSERT_GE(dup2(before.get(), STDERR_FILENO), 0);
  EXPECT_LT(took, std::chrono::seconds(1) + machine.so_far() - late_before);
}

}  // namespace
}  // namespace pinion
