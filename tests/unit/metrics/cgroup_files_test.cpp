#include "metrics/cgroup_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "metrics/small_file.h"
#include "tests/support/tree.h"

namespace pinion::metrics {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "/kubepods/pod1/id";

// A reader's first reading.
Result<CgroupFigures> read_once(const cgroup::Mounts& mounts, const std::string& path) {
  SmallFile scratch;
  return CgroupReader(mounts, path).read(scratch);
}

Result<std::vector<std::uint64_t>> read_percpu_once(const cgroup::Mounts& mounts,
                                                    const std::string& path) {
  SmallFile scratch;
  return CgroupReader(mounts, path).read_usage_percpu(scratch);
}

class CgroupTree : public testing::Test {
 protected:
  void write(const std::string& text) {
    const Status written = test_support::write_tree(text, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return (dir_.path() / name).string();
  }
  // A hierarchy below the tree: "cpu" ...
  [[nodiscard]] cgroup::Mount mount(const std::string& name, int version) const {
    return {.directory = at(name), .version = version};
  }
  [[nodiscard]] cgroup::Mounts hybrid() const {
    return {.cpu = mount("cpu", 1),
            .cpuacct = mount("cpuacct", 1),
            .memory = mount("memory", 1),
            .pids = mount("pids", 1),
            .perf = mount("unified", 2),
            .unified = mount("unified", 2)};
  }
  [[nodiscard]] cgroup::Mounts unified_alone() const {
    const cgroup::Mount all = mount("cg", 2);
    return {.cpu = all, .cpuacct = all, .memory = all, .pids = all, .perf = all, .unified = all};
  }

  test_support::TempDir dir_;
};

const std::string kHybridTree = R"(
cpu/kubepods/pod1/id/cpu.stat = nr_periods 12
cpu/kubepods/pod1/id/cpu.stat = nr_throttled 5
cpu/kubepods/pod1/id/cpu.stat = throttled_time 777
cpuacct/kubepods/pod1/id/cpuacct.usage = 3000
cpuacct/kubepods/pod1/id/cpuacct.usage_user = 2000
cpuacct/kubepods/pod1/id/cpuacct.usage_sys = 900
cpuacct/kubepods/pod1/id/cpuacct.usage_percpu = 1000 2000
memory/kubepods/pod1/id/memory.numa_stat = total=3 N0=1 N1=2
memory/kubepods/pod1/id/memory.numa_stat = hierarchical_total=9 N0=4 N1=5
pids/kubepods/pod1/id/pids.current = 4
)";

const std::string kUnifiedTree = R"(
cg/kubepods/pod1/id/cpu.stat = usage_usec 10
cg/kubepods/pod1/id/cpu.stat = user_usec 7
cg/kubepods/pod1/id/cpu.stat = system_usec 3
cg/kubepods/pod1/id/cpu.stat = nr_periods 6
cg/kubepods/pod1/id/cpu.stat = nr_throttled 2
cg/kubepods/pod1/id/cpu.stat = throttled_usec 50
cg/kubepods/pod1/id/memory.numa_stat = anon N0=100 N1=20
cg/kubepods/pod1/id/memory.numa_stat = file N0=3 N1=4
cg/kubepods/pod1/id/memory.pressure = some avg10=0.00 avg60=0.00 avg300=0.00 total=11
cg/kubepods/pod1/id/memory.pressure = full avg10=0.00 avg60=0.00 avg300=0.00 total=12
cg/kubepods/pod1/id/cpu.pressure = some avg10=0.00 avg60=0.00 avg300=0.00 total=13
cg/kubepods/pod1/id/pids.current = 4
)";

TEST_F(CgroupTree, ReadsAHybridMachine) {
  write(kHybridTree);
  const auto figures = read_once(hybrid(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->trouble) << figures->trouble->text;
  EXPECT_EQ(figures->cpu_ns, 3000U);
  EXPECT_EQ(figures->cpu_user_ns, 2000U);
  EXPECT_EQ(figures->cpu_system_ns, 900U);
  EXPECT_EQ(figures->periods, 12U);
  EXPECT_EQ(figures->throttled_periods, 5U);
  EXPECT_EQ(figures->throttled_ns, 777U);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(figures->memory, (std::vector<NodeMemory>{{0, page}, {1, 2 * page}}));
  EXPECT_EQ(figures->tasks, 4U);
  // The container has no group in the unified hierarchy.
  EXPECT_FALSE(figures->memory_pressure_some_ns);
  EXPECT_FALSE(figures->memory_pressure_full_ns);
  EXPECT_FALSE(figures->cpu_pressure_some_ns);
  EXPECT_EQ(read_percpu_once(hybrid(), kPath).value(), (std::vector<std::uint64_t>{1000, 2000}));
  EXPECT_EQ(perf_directory(hybrid(), kPath), at("unified") + kPath);
}

TEST_F(CgroupTree, TakesPressureFromTheUnifiedGroupOfAHybridMachine) {
  write(kHybridTree + "unified" + kPath + "/cpu.stat = usage_usec 999\n" + "unified" + kPath +
        "/cpu.pressure = some avg10=0.00 total=21\n");
  const auto figures = read_once(hybrid(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_EQ(figures->cpu_pressure_some_ns, 21000U);
  EXPECT_EQ(figures->cpu_ns, 3000U);  // still from v1
}

TEST_F(CgroupTree, ReadsTheUnifiedHierarchyAlone) {
  write(kUnifiedTree);
  const auto figures = read_once(unified_alone(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->trouble) << figures->trouble->text;
  EXPECT_EQ(figures->cpu_ns, 10000U);
  EXPECT_EQ(figures->cpu_user_ns, 7000U);
  EXPECT_EQ(figures->cpu_system_ns, 3000U);
  EXPECT_EQ(figures->periods, 6U);
  EXPECT_EQ(figures->throttled_periods, 2U);
  EXPECT_EQ(figures->throttled_ns, 50000U);
  EXPECT_EQ(figures->memory, (std::vector<NodeMemory>{{0, 103}, {1, 24}}));
  EXPECT_EQ(figures->memory_pressure_some_ns, 11000U);
  EXPECT_EQ(figures->memory_pressure_full_ns, 12000U);
  EXPECT_EQ(figures->cpu_pressure_some_ns, 13000U);
  EXPECT_EQ(figures->tasks, 4U);
  const auto percpu = read_percpu_once(unified_alone(), kPath);
  ASSERT_FALSE(percpu);
  EXPECT_EQ(percpu.error().code, Errc::kUnavailable);
}

TEST_F(CgroupTree, OldKernelsSayUserAndSystemInTicks) {
  write(kHybridTree + "cpuacct" + kPath + "/cpuacct.stat = user 20\n" + "cpuacct" + kPath +
        "/cpuacct.stat = system 5\n");
  // One of the two is not enough: they are taken from one place.
  fs::remove(at(std::string("cpuacct") + kPath + "/cpuacct.usage_sys"));
  const auto figures = read_once(hybrid(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  const auto tick_ns = 1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(figures->cpu_user_ns, 20 * tick_ns);
  EXPECT_EQ(figures->cpu_system_ns, 5 * tick_ns);
  EXPECT_EQ(figures->cpu_ns, 3000U);
}

TEST_F(CgroupTree, WhatIsNotThereIsNotSet) {
  fs::create_directories(at(std::string("cg") + kPath));  // a group without any file
  const auto figures = read_once(unified_alone(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->trouble);
  EXPECT_FALSE(figures->cpu_ns || figures->cpu_user_ns || figures->cpu_system_ns ||
               figures->periods || figures->throttled_periods || figures->throttled_ns ||
               figures->memory_pressure_some_ns || figures->memory_pressure_full_ns ||
               figures->cpu_pressure_some_ns || figures->tasks);
  EXPECT_TRUE(figures->memory.empty());
}

TEST_F(CgroupTree, OneBrokenFileSpoilsNoOther) {
  write(kUnifiedTree);
  const std::string group = std::string("cg") + kPath;
  std::ofstream(at(group + "/cpu.stat")) << "usage_usec many\n";
  fs::remove(at(group + "/memory.numa_stat"));
  fs::create_directories(at(group + "/memory.numa_stat"));  // reads as EISDIR
  const auto figures = read_once(unified_alone(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->cpu_ns);
  EXPECT_TRUE(figures->memory.empty());
  EXPECT_EQ(figures->tasks, 4U);
  ASSERT_TRUE(figures->trouble);  // the first of the two
  EXPECT_EQ(figures->trouble->code, Errc::kInvalid);
  EXPECT_EQ(figures->trouble->text,
            "read " + at(group) + "/cpu.stat: cpu.stat: line 'usage_usec many'");
}

TEST_F(CgroupTree, AGroupThatNoHierarchyHasIsNotFound) {
  write(kHybridTree);
  for (const cgroup::Mounts& mounts : {hybrid(), unified_alone(), cgroup::Mounts{}}) {
    const auto figures = read_once(mounts, "/kubepods/pod1/other");
    ASSERT_FALSE(figures);
    EXPECT_EQ(figures.error().code, Errc::kNotFound);
  }
  EXPECT_EQ(read_percpu_once(hybrid(), "/kubepods/pod1/other").error().code, Errc::kNotFound);
  // Partly removed: what is left is still read.
  fs::remove_all(at(std::string("memory") + kPath));
  const auto figures = read_once(hybrid(), kPath);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_TRUE(figures->memory.empty());
  EXPECT_EQ(figures->tasks, 4U);
}

TEST_F(CgroupTree, AGroupThatIsAFileIsAnErrorOfItsOwn) {
  write("cg/kubepods/pod1/id = x\n");
  const auto figures = read_once(unified_alone(), kPath);
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().sys_errno, ENOTDIR);
}

TEST_F(CgroupTree, RefusesWhatIsNoPathOfAGroup) {
  write(kUnifiedTree);
  for (const std::string& path :
       {std::string(), std::string("kubepods"), std::string("/.."), std::string("/a/../b"),
        std::string("/a/.."), std::string("/a\0b", 4)}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(read_once(unified_alone(), path).error().code, Errc::kInvalid);
    EXPECT_EQ(read_percpu_once(hybrid(), path).error().code, Errc::kInvalid);
  }
  // Two dots are legal inside of a name.
  EXPECT_EQ(read_once(unified_alone(), "/a..b").error().code, Errc::kNotFound);
}

// The group is renamed away and back all the time: in each reading it is there, in parts, or not
// found, and nothing else.
TEST_F(CgroupTree, AGroupThatVanishesMeanwhileIsOrdinary) {
  write(kUnifiedTree);
  const fs::path here = at(std::string("cg") + kPath);
  const fs::path away = at("away");
  ASSERT_TRUE(read_once(unified_alone(), kPath));
  std::atomic<bool> stop{false};
  std::thread renamer([&] {
    std::error_code ignored;
    while (!stop) {
      fs::rename(here, away, ignored);
      fs::rename(away, here, ignored);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const auto figures = read_once(unified_alone(), kPath);
    if (figures) {
      EXPECT_FALSE(figures->trouble) << figures->trouble->text;
    } else {
      EXPECT_EQ(figures.error().code, Errc::kNotFound) << figures.error().text;
    }
  }
  stop = true;
  renamer.join();
}

TEST_F(CgroupTree, AReaderKeepsItsFilesOpenAndReadsThemAnew) {
  write(kHybridTree);
  const cgroup::Mounts mounts = hybrid();
  CgroupReader reader(mounts, kPath);
  SmallFile scratch;
  EXPECT_EQ(reader.descriptors(), 0U);
  EXPECT_EQ(reader.read(scratch).value().tasks, 4U);
  EXPECT_EQ(reader.read_usage_percpu(scratch).value(), (std::vector<std::uint64_t>{1000, 2000}));
  EXPECT_EQ(reader.descriptors(), 7U);
  std::ofstream(at(std::string("pids") + kPath + "/pids.current")) << "12345\n";
  // Not there so far.
  write("unified" + std::string(kPath) + "/cpu.pressure = some total=1\n");
  const auto figures = reader.read(scratch);
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_EQ(figures->tasks, 12345U);
  EXPECT_EQ(figures->cpu_pressure_some_ns, 1000U);
  EXPECT_EQ(figures->periods, 12U);
  EXPECT_EQ(reader.descriptors(), 8U);
  reader.close();
  EXPECT_EQ(reader.descriptors(), 0U);
  EXPECT_EQ(reader.read(scratch).value().tasks, 12345U);
}

TEST_F(CgroupTree, ATextLongerThanTheBufferIsReadWhole) {
  const std::string file = at("record");
  std::ofstream(file) << std::string(50000, 'y');
  const Fd fd(::open(file.c_str(), O_RDONLY));
  SmallFile scratch;
  ASSERT_EQ(scratch.read_record(fd.get()), 0);
  EXPECT_EQ(scratch.text(), std::string(50000, 'y'));
  ASSERT_EQ(scratch.read_record(fd.get()), 0);
  EXPECT_EQ(scratch.text().size(), 50000U);
  EXPECT_EQ(scratch.read_record(-1), EBADF);
}

TEST_F(CgroupTree, ReadsTheTimesOfCpus) {
  write("proc/stat = cpu  3 0 0 0 0 0 0 0\nproc/stat = cpu1 1 2 3 4 5 6 7 8\n");
  const auto times = read_cpu_times(dir_.path().string());
  ASSERT_TRUE(times) << times.error().text;
  ASSERT_EQ(times->size(), 1U);
  EXPECT_EQ(times->front().cpu, 1);
  EXPECT_EQ(read_cpu_times(at("none")).error().code, Errc::kNotFound);
}

TEST_F(CgroupTree, ASmallFileIsReadWholeAndInBounds) {
  SmallFile file;
  const std::string name = at("file");
  for (const std::size_t size : {std::size_t{0}, std::size_t{8191}, std::size_t{8192},
                                 std::size_t{8193}, std::size_t{100000}, std::size_t{3}}) {
    std::ofstream(name) << std::string(size, 'x');
    ASSERT_EQ(file.read(-1, name.c_str()), 0);
    EXPECT_EQ(file.text(), std::string(size, 'x'));
  }
  std::ofstream(name) << std::string(SmallFile::kLimit + 1, 'x');
  EXPECT_EQ(file.read(-1, name.c_str()), EFBIG);
  EXPECT_EQ(file.read(-1, at("none").c_str()), ENOENT);
}

TEST(MeansAbsent, SaysWhichErrorsAreOrdinary) {
  for (const int error : {ENOENT, ENODEV, ESRCH, EOPNOTSUPP}) EXPECT_TRUE(means_absent(error));
  for (const int error : {0, EACCES, EIO, EISDIR, ENOTDIR, EMFILE}) {
    EXPECT_FALSE(means_absent(error));
  }
}

// PSI that is off reads as EOPNOTSUPP. The kernel gives the same errno for cgroup.procs of a
// threaded group, so that file stands in for memory.pressure, behind a symbolic link.
TEST_F(CgroupTree, PressureThatIsOffIsNotSetNeedsRootAndCgroup2) {
  const auto machine = cgroup::find_mounts("/");
  if (!machine || !machine->unified.found()) GTEST_SKIP() << "no cgroup v2 hierarchy is mounted";
  const fs::path parent =
      fs::path(machine->unified.directory) / ("pinion-unit-test-" + std::to_string(::getpid()));
  std::error_code error;
  if (!fs::create_directory(parent, error)) GTEST_SKIP() << "cannot make a cgroup: " << error;
  const fs::path threaded = parent / "threaded";
  fs::create_directory(threaded, error);
  std::ofstream(threaded / "cgroup.type") << "threaded" << std::flush;
  SmallFile file;
  const int read = file.read(-1, (threaded / "cgroup.procs").c_str());
  write(kUnifiedTree);
  const fs::path pressure = at(std::string("cg") + kPath + "/memory.pressure");
  fs::remove(pressure);
  fs::create_symlink(threaded / "cgroup.procs", pressure);
  const auto figures = read_once(unified_alone(), kPath);
  ::rmdir(threaded.c_str());
  ::rmdir(parent.c_str());
  if (read != EOPNOTSUPP) GTEST_SKIP() << "this kernel made no threaded cgroup here";
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->trouble) << figures->trouble->text;
  EXPECT_FALSE(figures->memory_pressure_some_ns);
  EXPECT_EQ(figures->cpu_pressure_some_ns, 13000U);
}

// The kernel's own files, open while their group is removed and made again.
TEST(CgroupLive, AReaderSurvivesTheEndOfItsGroupNeedsRootAndCgroups) {
  const auto mounts = cgroup::find_mounts("/");
  if (!mounts) GTEST_SKIP() << mounts.error().text;
  const cgroup::Mount& pids = mounts->pids.found() ? mounts->pids : mounts->unified;
  const std::string path = "/pinion-unit-test-" + std::to_string(::getpid());
  const std::string group = pids.directory + path;
  std::error_code error;
  if (!fs::create_directory(group, error)) GTEST_SKIP() << "cannot make a cgroup: " << error;
  CgroupReader reader(*mounts, path);
  SmallFile scratch;
  const auto before = reader.read(scratch);
  const std::size_t open_before = reader.descriptors();
  ::rmdir(group.c_str());
  const auto gone = reader.read(scratch);
  const std::size_t open_after = reader.descriptors();
  fs::create_directory(group, error);
  const auto again = reader.read(scratch);
  ::rmdir(group.c_str());
  ASSERT_TRUE(before) << before.error().text;
  EXPECT_FALSE(before->trouble) << before->trouble->text;
  EXPECT_GT(open_before, 0U);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kNotFound);
  EXPECT_EQ(open_after, 0U);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->tasks, before->tasks);
}

TEST(CgroupLive, ReadsTheTimesOfThisMachine) {
  const auto times = read_cpu_times("");
  ASSERT_TRUE(times) << times.error().text;
  EXPECT_EQ(times->size(), static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST(CgroupLive, ReadsTheRootGroupNeedsCgroups) {
  const auto mounts = cgroup::find_mounts("/");
  if (!mounts) GTEST_SKIP() << mounts.error().text;
  const auto figures = read_once(*mounts, "/");
  ASSERT_TRUE(figures) << figures.error().text;
  EXPECT_FALSE(figures->trouble) << figures->trouble->text;
}

}  // namespace
}  // namespace pinion::metrics
