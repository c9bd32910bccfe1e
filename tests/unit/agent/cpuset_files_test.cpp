// Cpuset files in trees of plain files: read, compared, written where they differ.
#include "agent/cgroup/cpuset_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/cgroup/hierarchy.h"
#include "tests/support/own_process.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::cgroup {
namespace {

using engine::Cause;
using engine::Enforce;
using test_support::cpus;
using test_support::mems;
using test_support::TempDir;

class Tree {
 public:
  explicit Tree(std::string_view text) {
    const auto done = test_support::write_tree(text, dir_.path());
    EXPECT_TRUE(done.has_value());
  }
  [[nodiscard]] CpusetFiles files(int version, bool writable = true) const {
    return {{.mount = (dir_.path() / "cg").string(), .version = version, .writable = writable},
            (dir_.path() / "proc").string()};
  }
  [[nodiscard]] std::string text(const std::string& path) const {
    std::ifstream file(dir_.path() / path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  [[nodiscard]] std::filesystem::path path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

Enforce want(const std::string& path, const std::string& cpu_list, const std::string& mem_list) {
  return {.id = "c",
          .cgroups_path = path,
          .pid = 0,
          .cpuset = {.cpus = cpus(cpu_list), .mems = mems(mem_list)},
          .cause = Cause::kFence};
}

constexpr const char* kV1 = R"(
cg/pod/c/cpuset.cpus = 0-3
cg/pod/c/cpuset.mems = 0
cg/away/cri-c.scope/cpuset.cpus = 0-3
cg/away/cri-c.scope/cpuset.mems = 0
proc/42/cgroup = 5:cpuset:/away/cri-c.scope
proc/43/cgroup = 5:cpuset:/
)";

constexpr const char* kV2 = R"(
cg/pod/c/cpuset.cpus =
cg/pod/c/cpuset.cpus.effective = 0-7
cg/pod/c/cpuset.mems =
cg/pod/c/cpuset.mems.effective = 0-1
)";

TEST(CpusetFiles, WritesWhatDiffers) {
  const Tree tree(kV1);
  const auto done = tree.files(1).enforce(want("/pod/c", "4-5", "1"));
  EXPECT_TRUE(done.written);
  EXPECT_FALSE(done.gone);
  EXPECT_EQ(done.error, "");
  ASSERT_TRUE(done.found);
  EXPECT_EQ(done.found->cpus, cpus("0-3"));
  EXPECT_EQ(done.cause, Cause::kFence);
  EXPECT_EQ(tree.text("cg/pod/c/cpuset.cpus").substr(0, 3), "4-5");
  EXPECT_EQ(tree.text("cg/pod/c/cpuset.mems").substr(0, 1), "1");
}

TEST(CpusetFiles, LeavesTheSameAlone) {
  const Tree tree(kV1);
  const auto done = tree.files(1).enforce(want("/pod/c", "0-3", ""));
  EXPECT_FALSE(done.written);
  EXPECT_TRUE(done.found);
}

TEST(CpusetFiles, OnlyReadsWhereItMayNotWrite) {
  const Tree tree(kV1);
  const auto done = tree.files(1, false).enforce(want("/pod/c", "4-5", ""));
  EXPECT_FALSE(done.written);
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(tree.text("cg/pod/c/cpuset.cpus"), "0-3");
}

TEST(CpusetFiles, NeverWritesAnEmptySet) {
  const Tree tree(kV1);
  const auto done = tree.files(1).enforce(want("/pod/c", "", ""));
  EXPECT_FALSE(done.written);
  EXPECT_NE(done.error, "");
  EXPECT_EQ(tree.text("cg/pod/c/cpuset.cpus"), "0-3");
}

TEST(CpusetFiles, AMissingGroupIsGone) {
  const Tree tree(kV1);
  const auto done = tree.files(1).enforce(want("/pod/none", "1", ""));
  EXPECT_TRUE(done.gone);
  EXPECT_FALSE(done.found);
  EXPECT_EQ(done.error, "");
  const auto read = tree.files(1).read("/pod/none", 0);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kNotFound);
}

TEST(CpusetFiles, FindsTheGroupThroughTheProcess) {
  const Tree tree(kV1);
  const auto read = tree.files(1).read("odd.slice:cri:c", 42);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpus, cpus("0-3"));
  EXPECT_FALSE(tree.files(1).read("odd.slice:cri:d", 42)) << "the number of d's process is c's now";
  EXPECT_FALSE(tree.files(1).read("/pod/none", 43)) << "the root group is nobody's";
  EXPECT_FALSE(tree.files(1).read("/pod/none", 44)) << "no such process";
}

TEST(CpusetFiles, AnEmptyV2FileReadsAsWhatIsInEffect) {
  const Tree tree(kV2);
  const auto read = tree.files(2).read("/pod/c", 0);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpus, cpus("0-7"));
  EXPECT_EQ(read->mems, mems("0-1"));
  const auto done = tree.files(2).enforce(want("/pod/c", "2-3", ""));
  EXPECT_TRUE(done.written);
  EXPECT_EQ(tree.text("cg/pod/c/cpuset.cpus"), "2-3");
}

TEST(CpusetFiles, AnEmptyV2FileSaysThatItIs) {
  const Tree tree(kV2);
  EXPECT_TRUE(tree.files(2, false).enforce(want("/pod/c", "1", "")).inherits);
  ASSERT_TRUE(tree.files(2).enforce(want("/pod/c", "1", "")).written);
  EXPECT_FALSE(tree.files(2).enforce(want("/pod/c", "1", "")).inherits);
}

// As the hierarchy's root without CAP_DAC_OVERRIDE, seen by the owner of its files.
TEST(CpusetFiles, ADirectoryThatMayNotBeWrittenMayHoldFilesThatMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give its capabilities up";
  const Tree tree("cg/cgroup.procs =\n");
  constexpr uid_t nobody = 65534;
  const std::filesystem::path group = tree.path() / "cg";
  ASSERT_EQ(::chmod(tree.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown((group / "cgroup.procs").c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(group.c_str(), 0555), 0);
  EXPECT_EQ(test_support::in_own_process([&]() -> std::string {
              if (::setresuid(nobody, nobody, nobody) != 0) return "setresuid";
              if (::access(group.c_str(), W_OK) == 0) return "the directory can be written";
              if (can_be_written(tree.path())) return "it is no group";
              return can_be_written(group) ? "" : "its file cannot be written";
            }),
            "");
}

TEST(CpusetFiles, GarbageIsAnErrorThatNamesTheFile) {
  const Tree tree("cg/c/cpuset.cpus = banana\ncg/c/cpuset.mems = 0");
  const auto done = tree.files(1).enforce(want("/c", "1", ""));
  EXPECT_FALSE(done.gone);
  EXPECT_FALSE(done.written);
  EXPECT_THAT(done.error, testing::HasSubstr("cpuset.cpus"));
}

TEST(CpusetFiles, AFileWithoutEndIsAnError) {
  const Tree tree("cg/c/cpuset.mems = 0");
  std::ofstream(tree.path() / "cg/c/cpuset.cpus") << std::string(200'000, '1');
  EXPECT_FALSE(tree.files(1).read("/c", 0));
}

TEST(CpusetFiles, AFileThatCannotBeWrittenIsAnError) {
  const Tree tree("cg/c/cpuset.mems = 0");
  std::filesystem::create_directory(tree.path() / "cg/c/cpuset.cpus");  // no user writes that
  const auto done = tree.files(1).enforce(want("/c", "1", ""));
  EXPECT_FALSE(done.written);
  EXPECT_NE(done.error, "");
}

TEST(CpusetFiles, OnV1TheGroupsInsideFollow) {
  const Tree tree(R"(
cg/c/cpuset.cpus = 0-3
cg/c/cpuset.mems = 0
cg/c/all/cpuset.cpus = 0-3
cg/c/all/deep/cpuset.cpus = 0-3
cg/c/part/cpuset.cpus = 0-1
)");
  const auto inside = [&] {
    return tree.text("cg/c/all/cpuset.cpus") + " " + tree.text("cg/c/all/deep/cpuset.cpus") + " " +
           tree.text("cg/c/part/cpuset.cpus");
  };
  ASSERT_TRUE(tree.files(1).enforce(want("/c", "0-2", "")).written);
  EXPECT_EQ(inside(), "0-2 0-2 0-1");
  ASSERT_TRUE(tree.files(1).enforce(want("/c", "0-7", "")).written);
  EXPECT_EQ(inside(), "0-7 0-7 0-1") << "what was not all of it stays as it is";
  ASSERT_TRUE(tree.files(1).enforce(want("/c", "4-5", "")).written);
  EXPECT_EQ(inside(), "4-5 4-5 4-5");
}

class ManyInside : public testing::Test {
 protected:
  static constexpr int kGroups = 300;
  // How many of those inside have these CPUs.
  [[nodiscard]] int with(const std::string& cpu_list) const {
    int count = 0;
    for (int i = 0; i < kGroups; ++i) {
      if (tree_.text("cg/c/n" + std::to_string(i) + "/cpuset.cpus") == cpu_list) ++count;
    }
    return count;
  }

  Tree tree_{R"(
cg/c/cpuset.cpus = 0-3
cg/c/cpuset.mems = 0
cg/c/n[0-299]/cpuset.cpus = 0-3
)"};
  CpusetFiles files_ = tree_.files(1);
};

TEST_F(ManyInside, ATurnFollowsAsManyAsItMayAndTheNextGoesOnThere) {
  Enforce wanted = want("/c", "4-7", "");
  for (const int done : {100, 200, 300}) {
    Allowance turn(100, Allowance::Clock::time_point::max());
    const auto result = files_.enforce(wanted, turn);
    EXPECT_TRUE(result.unfinished);
    EXPECT_FALSE(result.written);
    EXPECT_EQ(with("4-7"), done);
    wanted.halfway = {cpus("0-3"), cpus("4-7"), cpus("0-7")};  // by its own file all is well now
  }
  const auto result = files_.enforce(wanted);
  EXPECT_FALSE(result.unfinished);
  EXPECT_TRUE(result.written);
}

TEST_F(ManyInside, ATurnWithoutTimeLeftFollowsOne) {
  Allowance turn(100, Allowance::Clock::now());
  EXPECT_TRUE(files_.enforce(want("/c", "4-7", ""), turn).unfinished);
  EXPECT_EQ(with("4-7"), 1);
}

TEST_F(ManyInside, WaitForAQuietMoment) {
  Enforce later = want("/c", "4-7", "");
  later.put_off = true;
  EXPECT_TRUE(files_.enforce(later).unfinished);
  EXPECT_EQ(with("0-3"), kGroups);
}

TEST_F(ManyInside, FollowAnotherTargetThatComesInTheMiddle) {
  Allowance turn(100, Allowance::Clock::time_point::max());
  ASSERT_TRUE(files_.enforce(want("/c", "0-1", ""), turn).unfinished);
  ASSERT_EQ(with("0-1"), 100);
  Enforce other = want("/c", "2-5", "");
  other.halfway = {cpus("0-3"), cpus("0-1")};
  EXPECT_TRUE(files_.enforce(other).written);
  EXPECT_EQ(with("2-5"), kGroups) << "they had all of it, and have all of it again";
}

TEST_F(ManyInside, AreNotFollowedBeyondABound) {
  for (int i = 0; i <= kMostInnerGroups; ++i) {
    std::filesystem::create_directory(tree_.path() / ("cg/c/more" + std::to_string(i)));
  }
  const auto result = files_.enforce(want("/c", "4-7", ""));
  EXPECT_FALSE(result.written);
  EXPECT_FALSE(result.unfinished);
  EXPECT_EQ(result.error, "it has more than 10000 groups inside, which are not followed");
}

// As many as there are levels, one inside the other.
std::string nested(int levels) {
  std::string path = "c";
  for (int i = 0; i < levels; ++i) path += "/d";
  return path;
}

Tree tree_of_nested(int levels) {
  std::string text;
  for (int i = 0; i <= levels; ++i) text += "cg/" + nested(i) + "/cpuset.cpus = 0-3\n";
  return Tree(text + "cg/c/cpuset.mems = 0\n");
}

TEST(CpusetFiles, GroupsNestedDeeplyAreFollowed) {
  const Tree tree = tree_of_nested(256);
  EXPECT_TRUE(tree.files(1).enforce(want("/c", "2-3", "")).written);
  EXPECT_EQ(tree.text("cg/" + nested(256) + "/cpuset.cpus"), "2-3");
}

TEST(CpusetFiles, GroupsNestedTooDeeplyAreAnError) {
  const Tree tree = tree_of_nested(257);
  const auto result = tree.files(1).enforce(want("/c", "2-3", ""));
  EXPECT_FALSE(result.written);
  EXPECT_EQ(result.error, "it has groups nested deeper than 256, which are not followed");
}

// Walks that wait do not hold more directories open than they may, and all come to their end.
TEST(CpusetFiles, DeepGroupsOfManyContainersAreFollowedInTurns) {
  constexpr int kContainers = 6;
  constexpr int kLevels = 200;
  std::string text;
  for (int one = 0; one < kContainers; ++one) {
    const std::string name = "cg/c" + std::to_string(one);
    text += name + "/cpuset.mems = 0\n";
    for (int i = 0; i <= kLevels; ++i) text += name + nested(i).substr(1) + "/cpuset.cpus = 0-3\n";
  }
  const Tree tree(text);
  CpusetFiles files = tree.files(1);
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  std::set<int> done;
  for (int turn = 0; turn < 100 && done.size() < kContainers; ++turn) {
    for (int one = 0; one < kContainers; ++one) {
      Enforce wanted = want("/c" + std::to_string(one), "2-3", "");
      wanted.id = std::to_string(one);
      if (turn > 0) wanted.halfway = {cpus("0-3"), cpus("2-3")};
      Allowance allowance(turn < 2 ? 150 : 300, Allowance::Clock::time_point::max());
      if (!files.enforce(wanted, allowance).unfinished) done.insert(one);
      EXPECT_LE(open_files() - before, 2 * 256 + 200);
    }
  }
  EXPECT_EQ(done.size(), kContainers);
}

TEST(CpusetFiles, NoPathLeadsOutOfTheHierarchy) {
  const Tree tree("outside/cpuset.cpus = 0\noutside/cpuset.mems = 0\ncg/c/cpuset.cpus = 0");
  EXPECT_FALSE(tree.files(1).read("/../outside", 0));
  EXPECT_TRUE(tree.files(1).enforce(want("/c/../../outside", "1", "")).found == std::nullopt);
  EXPECT_EQ(tree.text("outside/cpuset.cpus"), "0");
}

}  // namespace
}  // namespace pinion::cgroup
