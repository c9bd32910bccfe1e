#include "metrics/perf/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pinion::metrics::perf {
namespace {

namespace fs = std::filesystem;

class Machine : public testing::Test {
 protected:
  Machine() {
    std::string pattern = testing::TempDir() + "perf-machine-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Machine() override { fs::remove_all(root_); }

  void pmu(const std::string& name) const {
    fs::create_directories(root_ / "sys/bus/event_source/devices" / name);
  }

  void cpuinfo(const std::string& text) const {
    fs::create_directories(root_ / "proc");
    std::ofstream(root_ / "proc/cpuinfo") << text;
  }

  fs::path root_;
};

TEST_F(Machine, WithoutAnythingHasNothing) {
  const PerfMachine machine = read_perf_machine(root_);
  EXPECT_EQ(machine.cpu, CpuModel{});
  EXPECT_FALSE(machine.has_pmu);
}

TEST_F(Machine, AGuestWithoutAPmu) {
  for (const char* name : {"breakpoint", "msr", "power", "software", "tracepoint", "uprobe"}) {
    pmu(name);
  }
  cpuinfo("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 143\n");
  const PerfMachine machine = read_perf_machine(root_);
  EXPECT_EQ(core_of(machine.cpu), Core::kSapphireRapids);
  EXPECT_FALSE(machine.has_pmu);
}

TEST_F(Machine, NamesOfCorePmus) {
  for (const char* name : {"cpu", "cpu_core", "armv8_pmuv3_0", "cpum_cf"}) {
    pmu(name);
    EXPECT_TRUE(read_perf_machine(root_).has_pmu) << name;
    fs::remove_all(root_ / "sys");
  }
}

TEST_F(Machine, ALongCpuinfoIsReadAtItsHead) {
  cpuinfo("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\n\n" +
          std::string(1 << 20, 'x'));
  EXPECT_EQ(core_of(read_perf_machine(root_).cpu), Core::kZen4);
}

}  // namespace
}  // namespace pinion::metrics::perf
