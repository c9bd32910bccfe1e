#include "metrics/cgroup_tasks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/tree.h"

namespace pinion::metrics {
namespace {

namespace fs = std::filesystem;

using Ids = std::vector<int>;

class CgroupTaskTree : public testing::Test {
 protected:
  void write(const std::string& text) {
    const Status written = test_support::write_tree(text, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
  }
  [[nodiscard]] cgroup::Mount mount(const std::string& name, int version) const {
    return {.directory = (dir_.path() / name).string(), .version = version};
  }
  [[nodiscard]] cgroup::Mounts v1() const {
    return {.cpu = mount("cpu", 1),
            .cpuacct = mount("cpuacct", 1),
            .memory = {},
            .pids = mount("pids", 1),
            .perf = {},
            .unified = {}};
  }
  [[nodiscard]] cgroup::Mounts v2() const {
    const cgroup::Mount all = mount("cg", 2);
    return {.cpu = all, .cpuacct = all, .memory = all, .pids = all, .perf = all, .unified = all};
  }

  test_support::TempDir dir_;
};

TEST_F(CgroupTaskTree, ListsAContainer) {
  write(
      "cpuacct/pod/id/tasks = 42\ncpuacct/pod/id/tasks = 7\ncpu/pod/id/tasks = 1000\n"
      "cg/pod/id/cgroup.threads = 5\ncg/pod/id/cgroup.procs = 4\n");
  EXPECT_EQ(list_cgroup_tasks(v1(), "/pod/id").value().ids, (Ids{7, 42}));
  EXPECT_EQ(list_cgroup_tasks(v2(), "/pod/id").value().ids, Ids{5});
  EXPECT_TRUE(list_cgroup_tasks(v2(), "/pod/id").value().complete);
}

TEST_F(CgroupTaskTree, AsksTheFirstHierarchyThatHasTheGroup) {
  write("pids/pod/id/tasks = 3\n");
  EXPECT_EQ(list_cgroup_tasks(v1(), "/pod/id").value().ids, Ids{3});
}

TEST_F(CgroupTaskTree, WalksTheGroupsInside) {
  write(
      "cg/c/cgroup.threads = 9\ncg/c/init.scope/cgroup.threads = 1\n"
      "cg/c/system.slice/cgroup.threads =\ncg/c/system.slice/a.service/cgroup.threads = 4\n"
      "cg/c/system.slice/a.service/cgroup.threads = 9\n"
      "cg/c/not-a-group/file = x\n");
  const auto tasks = list_cgroup_tasks(v2(), "/c");
  ASSERT_TRUE(tasks) << tasks.error().text;
  EXPECT_EQ(tasks->ids, (Ids{1, 4, 9}));
  EXPECT_TRUE(tasks->complete);
}

TEST_F(CgroupTaskTree, WalksSoManyGroupsAndSaysWhenThereWereMore) {
  // The container itself, and kMaxGroups - 1 in it: just as many as are walked.
  const int inside = static_cast<int>(kMaxGroups) - 1;
  write("cg/c/cgroup.threads = 1000\ncg/c/g[1-" + std::to_string(inside) +
        "]/cgroup.threads = {n}\n");
  auto tasks = list_cgroup_tasks(v2(), "/c");
  ASSERT_TRUE(tasks) << tasks.error().text;
  EXPECT_EQ(tasks->ids.size(), kMaxGroups);
  EXPECT_TRUE(tasks->complete);
  write("cg/c/g1/deeper/cgroup.threads = 2000\n");
  tasks = list_cgroup_tasks(v2(), "/c");
  ASSERT_TRUE(tasks) << tasks.error().text;
  EXPECT_EQ(tasks->ids.size(), kMaxGroups);
  EXPECT_FALSE(tasks->complete);
}

TEST_F(CgroupTaskTree, ListsTenThousand) {
  fs::create_directories(dir_.path() / "cg/c");
  std::ofstream file(dir_.path() / "cg/c/cgroup.threads");
  for (int id = 10000; id > 0; --id) file << id << '\n';
  file.close();
  const auto tasks = list_cgroup_tasks(v2(), "/c");
  ASSERT_TRUE(tasks) << tasks.error().text;
  ASSERT_EQ(tasks->ids.size(), 10000U);
  EXPECT_EQ(tasks->ids.front(), 1);
  EXPECT_EQ(tasks->ids.back(), 10000);
}

TEST_F(CgroupTaskTree, ErrorsSayWhat) {
  write("cg/broken/cgroup.threads = many\ncg/empty/other = x\n");
  EXPECT_EQ(list_cgroup_tasks(v2(), "/none").error().code, Errc::kNotFound);
  EXPECT_EQ(list_cgroup_tasks({}, "/none").error().code, Errc::kNotFound);
  EXPECT_EQ(list_cgroup_tasks(v2(), "/empty").error().code, Errc::kNotFound);
  EXPECT_EQ(list_cgroup_tasks(v2(), "none").error().code, Errc::kInvalid);
  EXPECT_EQ(list_cgroup_tasks(v2(), "/broken").error().text,
            "list the tasks of cgroup /broken: task list: no task id: 'many'");
}

}  // namespace
}  // namespace pinion::metrics
