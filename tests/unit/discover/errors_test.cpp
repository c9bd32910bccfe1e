#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/tree.h"
#include "topology/discover/discover.h"

namespace pinion::topology {
namespace {

using Kind = Source::Kind;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kTwoCpusMasked = R"(
sys/devices/system/cpu/present = 0-1
sys/devices/system/cpu/online = 0-1
sys/devices/system/cpu/cpu[0-1]/topology/core_id = {n}
sys/devices/system/cpu/cpu[0-1]/topology/physical_package_id = 0
sys/devices/system/cpu/cpu[0-1]/topology/core_cpus = {mask n}
sys/devices/system/cpu/cpu[0-1]/topology/package_cpus = {mask 0..1}
)";

class DiscoverErrors : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(dir_.path() / name) << content;
    return (dir_.path() / name).string();
  }

  static void expect_error(const Source& source, Errc code, const std::string& text) {
    SCOPED_TRACE(source.value);
    const auto machine = discover(source);
    ASSERT_FALSE(machine);
    EXPECT_EQ(machine.error().code, code);
    EXPECT_THAT(machine.error().text, StartsWith("topology "));
    EXPECT_THAT(machine.error().text, HasSubstr(source.value));
    EXPECT_THAT(machine.error().text, HasSubstr(text));
  }

  test_support::TempDir dir_;
};

TEST_F(DiscoverErrors, XmlFileThatIsNotThere) {
  expect_error({Kind::kXml, (dir_.path() / "none.xml").string()}, Errc::kNotFound, "no such file");
}

TEST(Discover, ReadsNothingOnceNobodyWaitsForIt) {
  std::stop_source end;
  const Source machine{Kind::kSynthetic, "core:2 pu:1"};
  EXPECT_TRUE(discover(machine, end.get_token()));
  end.request_stop();
  const auto read = discover(machine, end.get_token());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kUnavailable);
}

TEST_F(DiscoverErrors, DirectoryInsteadOfAnXmlFile) {
  expect_error({Kind::kXml, dir_.path().string()}, Errc::kInvalid, "is a directory");
}

TEST_F(DiscoverErrors, XmlThatHwlocCannotRead) {
  const std::vector<std::pair<std::string, std::string>> contents = {
      {"empty", ""},
      {"garbage", "\x01\x02 not XML at all"},
      {"other.xml", "<?xml version=\"1.0\"?>\n<recipe/>\n"},
      {"cut.xml", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n<object type=\"Mach"},
      {"no_cpus.xml",
       "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n<object type=\"Machine\"/>\n"
       "</topology>\n"},
  };
  for (const auto& [name, content] : contents) {
    expect_error({Kind::kXml, file(name, content)}, Errc::kInvalid, "hwloc cannot read it");
  }
}

TEST_F(DiscoverErrors, SyntheticStringThatHwlocCannotRead) {
  for (const std::string text :
       {"nonsense", "core:0", "core:-2", "package:2 [numa", "pu:2 core:2", "core:2("}) {
    expect_error({Kind::kSynthetic, text}, Errc::kInvalid, "hwloc cannot read it");
  }
}

TEST_F(DiscoverErrors, MachineLargerThanACpuSet) {
  expect_error({Kind::kSynthetic, "core:2 pu:1(indexes=0,4096)"}, Errc::kInvalid,
               "CPU 4096: its number is outside 0-4095");
}

TEST_F(DiscoverErrors, RootThatIsNotThere) {
  expect_error({Kind::kRoot, (dir_.path() / "none").string()}, Errc::kNotFound,
               "no such directory");
}

TEST_F(DiscoverErrors, RootThatIsAFile) {
  expect_error({Kind::kRoot, file("file", "")}, Errc::kNotFound, "no such directory");
}

TEST_F(DiscoverErrors, RootWithoutASysTree) {
  const Source source{Kind::kRoot, dir_.path().string()};
  expect_error(source, Errc::kNotFound, "no CPUs in its sys/devices/system/cpu");
  std::filesystem::create_directories(dir_.path() / "sys/devices/system/cpu/cpu0/topology");
  expect_error(source, Errc::kNotFound, "no CPUs in its sys/devices/system/cpu");
}

TEST_F(DiscoverErrors, KernelFileThatIsNoList) {
  for (const std::string name :
       {"cpu/present", "cpu/online", "cpu/isolated", "node/node0/cpulist"}) {
    SCOPED_TRACE(name);
    const test_support::TempDir root;
    const std::string path = "sys/devices/system/" + name;
    const Status written = test_support::write_tree(
        std::string(kTwoCpusMasked) + "sys/devices/system/node/node0/cpumap = {mask 0..1}\n" +
            path + " = x-y\n",
        root.path());
    ASSERT_TRUE(written) << written.error().text;
    expect_error({Kind::kRoot, root.path().string()}, Errc::kInvalid, path);
  }
}

}  // namespace
}  // namespace pinion::topology
