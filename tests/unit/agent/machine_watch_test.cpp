#include "agent/machine_watch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The machine here, whose list of CPUs the test writes.
TEST(MachineWatch, ReadsTheMachineOnAnotherThread) {
  const test_support::TempDir directory;
  const std::string list = directory.path() / "online";
  std::ofstream(list) << "0-1\n";
  MachineWatch watch({topology::Source::Kind::kRoot, "/"}, list, {});
  steady_clock::time_point now{};
  EXPECT_FALSE(watch.look(now));
  EXPECT_FALSE(watch.deadline());
  std::ofstream(list) << "0-2\n";
  EXPECT_FALSE(watch.look(now + milliseconds(500))) << "not yet";
  now += seconds(1);
  EXPECT_FALSE(watch.look(now)) << "it has begun, and nobody waits for it";
  std::optional<Result<topology::Topology>> machine;
  for (int i = 0; i < 30'000 && !machine; ++i) {
    ASSERT_TRUE(watch.deadline()) << "it is asked again soon";
    EXPECT_LE(*watch.deadline() - now, milliseconds(100));
    now = *watch.deadline();
    machine = watch.look(now);
    if (!machine) std::this_thread::sleep_for(milliseconds(1));  // the pace of the main loop
  }
  ASSERT_TRUE(machine);
  ASSERT_TRUE(*machine) << machine->error().text;
  EXPECT_GT((*machine)->online.count(), 0);
  EXPECT_FALSE(watch.deadline());
  EXPECT_FALSE(watch.look(now + seconds(2))) << "told once";
}

TEST(MachineWatch, TriesAgainAfterAnError) {
  const test_support::TempDir directory;
  const std::string list = directory.path() / "online";
  MachineWatch watch({topology::Source::Kind::kRoot, directory.path() / "nothing"}, list, {});
  std::ofstream(list) << "0\n";
  steady_clock::time_point now{seconds(1)};
  for (int tries = 0; tries < 2; ++tries) {
    std::optional<Result<topology::Topology>> machine;
    for (int i = 0; i < 30'000 && !machine; ++i) {
      now += seconds(1);
      machine = watch.look(now);
      if (!machine) std::this_thread::sleep_for(milliseconds(1));  // the pace of the main loop
    }
    ASSERT_TRUE(machine);
    EXPECT_FALSE(*machine);
  }
}

}  // namespace
}  // namespace pinion::agent
