// Every folder beside this file is a machine: what discovery makes of it is compared with the
// picture and the JSON (in longer lines) checked in there. UPDATE_GOLDEN=1 in the environment
// rewrites both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/machine/draw_topology.h"
#include "ctl/machine/topology_json.h"
#include "tests/support/places.h"
#include "tests/support/tree.h"
#include "topology/discover/discover.h"

namespace pinion {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;  // the order of the keys is compared, too
using topology::CpuSet;
using topology::kNoIndex;
using topology::Topology;

const fs::path& golden_dir() {
  static const fs::path path = test_support::in_checkout("tests/golden");
  return path;
}

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(golden_dir())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Elements on lines of their own, so that a machine of 256 CPUs is a page to read and its
// differences are few lines. L2s and cores come in pairs: short, and by the hundred.
std::string lines_of(const std::string& key, const Json& list) {
  const std::size_t per_line = key == "l2s" || key == "cores" ? 2 : 1;
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ",";
    text += (i % per_line == 0 ? "\n" : " ") + list[i].dump();
  }
  return text + "]";
}

std::string compact(const Json& machine) {
  std::string text;
  for (const auto& [key, value] : machine.items()) {
    text += (text.empty() ? "{" : ",\n") + ("\"" + key + "\": ");
    text += value.is_array() ? lines_of(key, value) : value.dump();
  }
  return text + "}\n";
}

class GoldenTopology : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static fs::path folder() { return golden_dir() / GetParam(); }

  // topology.xml, source.txt (a synthetic string) or tree.txt.
  [[nodiscard]] topology::Source source() const {
    using Kind = topology::Source::Kind;
    if (fs::exists(folder() / "topology.xml")) {
      return {Kind::kXml, (folder() / "topology.xml").string()};
    }
    if (fs::exists(folder() / "source.txt")) {
      return {Kind::kSynthetic, without_newline(read(folder() / "source.txt"))};
    }
    const Status written = test_support::write_tree(read(folder() / "tree.txt"), root_.path());
    EXPECT_TRUE(written) << (written ? "" : written.error().text);
    return {Kind::kRoot, root_.path().string()};
  }

  [[nodiscard]] static CpuSet reserved() {
    const auto cpus = CpuSet::parse(read(folder() / "reserved.txt"));
    EXPECT_TRUE(cpus);
    return cpus.value_or(CpuSet{});
  }

  static void compare(const std::string& name, const std::string& got) {
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(folder() / name) << got;
      return;
    }
    EXPECT_EQ(read(folder() / name), got)
        << "if the new text is right: UPDATE_GOLDEN=1 golden_topology";
  }

  test_support::TempDir root_;
};

void expect_page_width(const std::string& picture) {
  for (std::size_t from = 0; from < picture.size();) {
    const std::size_t end = picture.find('\n', from);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - from, 100U) << picture.substr(from, end - from);
    from = end + 1;
  }
}

// What every reader of a Topology relies on.
void expect_dense_and_nested(const Topology& machine) {
  CpuSet seen;
  topology::CpuId last = -1;
  for (const topology::Pu& pu : machine.pus) {
    SCOPED_TRACE("CPU " + std::to_string(pu.cpu));
    EXPECT_EQ(machine.find(pu.cpu), &pu);
    EXPECT_LT(last, pu.cpu);
    last = pu.cpu;
    seen.add(pu.cpu);
    const topology::Core& core = machine.cores.at(static_cast<std::size_t>(pu.core));
    const topology::Cache& l2 = machine.l2s.at(static_cast<std::size_t>(pu.l2));
    const topology::Cache& l3 = machine.l3s.at(static_cast<std::size_t>(pu.l3));
    const topology::Package& package = machine.packages.at(static_cast<std::size_t>(pu.package));
    EXPECT_TRUE(core.cpus.contains(pu.cpu));
    EXPECT_TRUE(core.cpus.is_subset_of(l2.cpus));
    EXPECT_TRUE(l2.cpus.is_subset_of(l3.cpus));
    EXPECT_TRUE(l3.cpus.is_subset_of(package.cpus));
    EXPECT_EQ(l3.node, pu.node);
    if (pu.node == kNoIndex) continue;
    EXPECT_TRUE(l3.cpus.is_subset_of(machine.nodes.at(static_cast<std::size_t>(pu.node)).cpus));
  }
  EXPECT_EQ(seen, machine.online);
  EXPECT_FALSE(machine.online.intersects(machine.offline));
  EXPECT_TRUE(std::is_sorted(machine.nodes.begin(), machine.nodes.end(),
                             [](const auto& a, const auto& b) { return a.id < b.id; }));
}

// One discovery serves all checks: writing a big machine's tree is the slow part.
TEST_P(GoldenTopology, IsAsExpected) {
  const auto machine = topology::discover(source());
  ASSERT_TRUE(machine) << machine.error().text;
  const std::string picture =
      ctl::draw_topology(*machine, ctl::standing_layers(*machine, reserved()));
  compare("expected.txt", picture);
  expect_page_width(picture);
  const auto json = Json::parse(ctl::topology_json(*machine, reserved()), nullptr, false);
  ASSERT_TRUE(json.is_object());
  compare("expected.json", compact(json));
  expect_dense_and_nested(*machine);
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenTopology, testing::ValuesIn(machines()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace pinion
