// The NUMA nodes of devices, in a tree of files as /sys has them.
#include "agent/device_nodes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

namespace fs = std::filesystem;
using engine::DeviceNumber;
using Kind = DeviceNumber::Kind;

class DeviceNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test_support::write_tree(R"(
sys/devices/pci0000:80/0000:81:00.0/numa_node = 1
sys/devices/pci0000:80/0000:81:00.0/infiniband_verbs/uverbs0/dev = 231:192
sys/devices/pci0000:80/0000:82:00.0/numa_node = 2
sys/devices/pci0000:80/0000:82:00.0/nvme/nvme0/numa_node = 2
sys/devices/pci0000:80/0000:82:00.0/nvme/nvme0/nvme0n1/dev = 259:0
sys/devices/pci0000:00/0000:00:01.0/numa_node = -1
sys/devices/pci0000:00/0000:00:01.0/drm/card0/dev = 226:0
sys/devices/pci0000:00/0000:00:02.0/numa_node = hello
sys/devices/pci0000:00/0000:00:02.0/drm/card1/dev = 226:1
sys/devices/pci0000:00/0000:00:03.0/numa_node = 1024
sys/devices/pci0000:00/0000:00:03.0/drm/card2/dev = 226:2
sys/devices/virtual/mem/null/dev = 1:3
sys/devices/virtual/vfio/24/dev = 511:0
sys/devices/virtual/vfio/25/dev = 511:1
sys/devices/virtual/vfio/26/dev = 511:2
sys/devices/virtual/misc/vfio/dev = 10:196
sys/kernel/iommu_groups/24/devices/0000:3b:00.0/numa_node = 3
sys/kernel/iommu_groups/24/devices/0000:3b:00.1/numa_node = 3
sys/kernel/iommu_groups/25/devices/0000:01:00.0/numa_node = -1
sys/kernel/iommu_groups/25/devices/0000:02:00.0/numa_node = 1
sys/kernel/iommu_groups/25/devices/0000:03:00.0/numa_node = 2
sys/kernel/iommu_groups/25/devices/0000:04:00.0/class = 0x020000
sys/bus/pci/devices/0000:3b:00.0/numa_node = 3
sys/dev/char/empty = 0
sys/dev/block/empty = 0
proc/driver/nvidia/gpus/0000:3b:00.0/information = Model: 	 A GPU
proc/driver/nvidia/gpus/0000:3b:00.0/information = Bus Location: 	 0000:3b:00.0
proc/driver/nvidia/gpus/0000:3b:00.0/information = Device Minor: 	 5
proc/driver/nvidia/gpus/0000:4b:00.0/information = Device Minor: 	 none
elsewhere/numa_node = 7
)",
                                         dir_.path()));
    link("char/231:192", "pci0000:80/0000:81:00.0/infiniband_verbs/uverbs0");
    link("block/259:0", "pci0000:80/0000:82:00.0/nvme/nvme0/nvme0n1");
    link("char/226:0", "pci0000:00/0000:00:01.0/drm/card0");
    link("char/226:1", "pci0000:00/0000:00:02.0/drm/card1");
    link("char/226:2", "pci0000:00/0000:00:03.0/drm/card2");
    link("char/1:3", "virtual/mem/null");
    link("char/511:0", "virtual/vfio/24");
    link("char/511:1", "virtual/vfio/25");
    link("char/511:2", "virtual/vfio/26");
    link("char/10:196", "virtual/misc/vfio");
    link("char/9:9", "../../elsewhere");
    link("char/8:8", "no/such/device");
  }
  void link(const std::string& number, const std::string& device) const {
    fs::create_directory_symlink("../../devices/" + device, dir_.path() / "sys/dev" / number);
  }
  [[nodiscard]] std::string of(const std::vector<DeviceNumber>& devices) const {
    return DeviceNodes(dir_.path().string()).of(devices).to_string();
  }

  test_support::TempDir dir_;
};

TEST_F(DeviceNodesTest, OfOneDevice) {
  struct Case {
    const char* name;
    DeviceNumber device;
    const char* nodes;
  };
  const Case cases[] = {
      {"below its PCI function", {Kind::kChar, 231, 192}, "1"},
      {"the nearest that says one", {Kind::kBlock, 259, 0}, "2"},
      {"a character device of a block device's number", {Kind::kChar, 259, 0}, ""},
      {"of which the firmware says nothing", {Kind::kChar, 226, 0}, ""},
      {"no number", {Kind::kChar, 226, 1}, ""},
      {"larger than any node", {Kind::kChar, 226, 2}, ""},
      {"of no bus", {Kind::kChar, 1, 3}, ""},
      {"that leads out of /sys/devices", {Kind::kChar, 9, 9}, ""},
      {"that leads nowhere", {Kind::kChar, 8, 8}, ""},
      {"that nobody knows", {Kind::kChar, 4'294'967'295, 4'294'967'295}, ""},
      {"a GPU that only its driver knows", {Kind::kChar, 195, 5}, "3"},
      {"another GPU", {Kind::kChar, 195, 6}, ""},
      {"a group of vfio", {Kind::kChar, 511, 0}, "3"},
      {"one whose devices are on two nodes", {Kind::kChar, 511, 1}, "1-2"},
      {"one that has gone", {Kind::kChar, 511, 2}, ""},
      {"vfio itself", {Kind::kChar, 10, 196}, ""},
      {"a disk of that number", {Kind::kBlock, 195, 5}, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(of({c.device}), c.nodes);
  }
}

TEST_F(DeviceNodesTest, OfSeveral) {
  EXPECT_EQ(of({{Kind::kChar, 195, 5}, {Kind::kChar, 1, 3}, {Kind::kChar, 231, 192}}), "1,3");
  EXPECT_EQ(of({}), "");
}

TEST_F(DeviceNodesTest, OfAMachineThatIsNotLookedAt) {
  EXPECT_TRUE(DeviceNodes().of({{Kind::kChar, 231, 192}}).empty());
}

TEST(DeviceNodes, WithoutSys) {
  const test_support::TempDir empty;
  EXPECT_TRUE(DeviceNodes(empty.path().string()).of({{Kind::kChar, 195, 0}}).empty());
}

}  // namespace
}  // namespace pinion::agent
