#include "agent/machine_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The answer once it is read; `now` goes on to when it came.
std::optional<Result<engine::MachineChanged>> answer(MachineWatch& watch,
                                                     steady_clock::time_point& now) {
  std::optional<Result<engine::MachineChanged>> changed;
  for (int i = 0; i < 30'000 && !changed; ++i) {
    const auto next = watch.deadline();
    EXPECT_TRUE(next) << "it is asked again soon";
    if (!next) return std::nullopt;
    EXPECT_LE(*next - now, milliseconds(100));
    now = *next;
    changed = watch.look(now);
    if (!changed) std::this_thread::sleep_for(milliseconds(1));  // the pace of the main loop
  }
  return changed;
}

// The machine here, whose list of CPUs the test writes.
TEST(MachineWatch, ReadsTheMachineOnAnotherThread) {
  const test_support::TempDir directory;
  const std::string list = directory.path() / "online";
  std::ofstream(list) << "0-1\n";
  MachineWatch watch({topology::Source::Kind::kRoot, "/"}, directory.path(), {});
  steady_clock::time_point now{};
  EXPECT_FALSE(watch.look(now));
  EXPECT_FALSE(watch.deadline());
  std::ofstream(list) << "0-2\n";
  EXPECT_FALSE(watch.look(now + milliseconds(500))) << "not yet";
  now += seconds(1);
  EXPECT_FALSE(watch.look(now)) << "it has begun, and nobody waits for it";
  const auto changed = answer(watch, now);
  ASSERT_TRUE(changed);
  ASSERT_TRUE(*changed) << changed->error().text;
  EXPECT_GT((*changed)->topology.online.count(), 0);
  EXPECT_EQ((*changed)->away.to_string(), "");
  EXPECT_FALSE(watch.deadline());
  EXPECT_FALSE(watch.look(now + seconds(2))) << "told once";
}

TEST(MachineWatch, SeesACpuThatWasAwayBetweenTwoLooks) {
  const test_support::TempDir directory;
  const auto folder = directory.path() / "cpu0/topology";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directories(directory.path() / "cpu1/topology");
  std::ofstream(directory.path() / "online") << "0-1\n";
  MachineWatch watch({topology::Source::Kind::kRoot, "/"}, directory.path(), {});
  steady_clock::time_point now{seconds(1)};
  EXPECT_FALSE(watch.look(now));
  std::filesystem::rename(folder, directory.path() / "old");  // keeps its inode from the new one
  std::filesystem::create_directories(folder);
  now += seconds(1);
  EXPECT_FALSE(watch.look(now));
  const auto changed = answer(watch, now);
  ASSERT_TRUE(changed);
  ASSERT_TRUE(*changed) << changed->error().text;
  EXPECT_EQ((*changed)->away.to_string(), "0");
  EXPECT_FALSE(watch.look(now + seconds(2))) << "told once";
}

TEST(MachineWatch, TriesAgainAfterAnError) {
  const test_support::TempDir directory;
  MachineWatch watch({topology::Source::Kind::kRoot, directory.path() / "nothing"},
                     directory.path(), {});
  std::ofstream(directory.path() / "online") << "0\n";
  steady_clock::time_point now{seconds(1)};
  for (int tries = 0; tries < 2; ++tries) {
    now += seconds(1);
    EXPECT_FALSE(watch.look(now));
    const auto machine = answer(watch, now);
    ASSERT_TRUE(machine);
    EXPECT_FALSE(*machine);
  }
}

}  // namespace
}  // namespace pinion::agent
