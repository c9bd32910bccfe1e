// Values in, text out. UPDATE_GOLDEN=1 in the environment rewrites golden/.
#include "agent/http/expose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "metrics/prometheus/series.h"
#include "tests/support/places.h"
#include "tests/support/tree.h"
#include "tests/unit/http/example_node.h"
#include "tests/unit/http/text_check.h"

namespace pinion::agent {
namespace {

using prometheus::Format;
using testing::IsEmpty;

std::string text_of(const ExampleNode& node, Format format = Format::kText) {
  return expose(node.view, node.sample, node.extras, format);
}

void compare_with_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = test_support::in_checkout("tests/unit/http/golden/" + name);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  EXPECT_EQ(expected, text) << "if the new text is right: UPDATE_GOLDEN=1 http_test";
}

TEST(Expose, SmallNodeAsText) {
  const std::string text = text_of(small_node());
  compare_with_golden("small.txt", text);
  EXPECT_THAT(faults_of(text, Format::kText), IsEmpty());
}

TEST(Expose, SmallNodeAsOpenMetrics) {
  const std::string text = text_of(small_node(), Format::kOpenMetrics);
  compare_with_golden("small.openmetrics", text);
  EXPECT_THAT(faults_of(text, Format::kOpenMetrics), IsEmpty());
}

TEST(Expose, BothFormatsHaveTheSameSamples) {
  EXPECT_EQ(samples_of(text_of(small_node())),
            samples_of(text_of(small_node(), Format::kOpenMetrics)));
}

// The small node has a value for each family, so what is in the table and nowhere in the text is
// exported by nobody.
TEST(Expose, EveryFamilyOfTheTableIsWritten) {
  const std::string text = text_of(small_node());
  for (std::size_t i = 0; i < prometheus::kMetrics; ++i) {
    const auto& series = prometheus::series(static_cast<prometheus::Metric>(i));
    EXPECT_NE(text.find("# TYPE " + std::string(series.name) + " "), std::string::npos)
        << series.name;
  }
}

TEST(Expose, NothingMeasuredIsAbsentAndNotZero) {
  ExampleNode node = small_node();
  node.sample = {};
  for (const auto& [series, value] : samples_of(text_of(node))) {
    if (!series.starts_with("pinion_container_")) continue;
    EXPECT_THAT(series, testing::ContainsRegex("^pinion_container_(info|exclusive_cpus|borrowed_"
                                               "cpus|misplaced|memory_promised_bytes)"));
  }
  EXPECT_EQ(text_of(node).find("pinion_collector_last_pass"), std::string::npos);
}

TEST(Expose, KernelNoiseIsAbsentWhereItIsNotKeptOff) {
  ExampleNode node = small_node();
  EXPECT_NE(text_of(node).find("pinion_kernel_noise_irqs{state=\"moved\"} 24\n"),
            std::string::npos);
  node.extras.noise.reset();
  EXPECT_EQ(text_of(node).find("kernel_noise"), std::string::npos);
}

TEST(Expose, BeforeAnythingIsPublishedItIsStillAText) {
  for (const Format format : {Format::kText, Format::kOpenMetrics}) {
    const std::string text = expose({}, {}, {}, format);
    EXPECT_THAT(faults_of(text, format), IsEmpty());
    EXPECT_EQ(samples_of(text).at("pinion_synchronized"), "0");
    EXPECT_EQ(samples_of(text).at("pinion_runtime_connected"), "0");
  }
}

TEST(Expose, CpusWithoutNumaNodeAreCounted) {
  topology::Facts facts;
  facts.memories = {{.node = 0, .bytes = 1, .distance = {}}};
  facts.threads = {{.cpu = 0, .core = 0, .node = 0}, {.cpu = 1, .core = 1, .node = -1}};
  auto machine = topology::make_topology(facts);
  ASSERT_TRUE(machine) << machine.error().text;
  ExampleNode node;
  node.view.topology = std::make_shared<const topology::Topology>(std::move(*machine));
  const auto samples = samples_of(text_of(node));
  EXPECT_EQ(samples.at(R"(pinion_numa_capacity_cpus{numa_node="0"})"), "1");
  EXPECT_EQ(samples.at(R"(pinion_numa_capacity_cpus{numa_node="none"})"), "1");
}

// A pod that is replaced by one of the same name: both are there for a moment.
TEST(Expose, OfTwoContainersOfOneNameTheOneWithCoresIsShown) {
  ExampleNode node = small_node();
  ContainerView old = node.view.containers.front();
  old.id = "z";
  old.exclusive = false;
  old.trouble = "going";
  node.view.containers.push_back(old);
  const std::string text = text_of(node);
  EXPECT_THAT(faults_of(text, Format::kText), IsEmpty());
  const auto samples = samples_of(text);
  const std::string rank = R"({namespace="hpc",pod="wind-0",container="rank"})";
  EXPECT_EQ(samples.at("pinion_container_misplaced" + rank), "0");
  EXPECT_EQ(samples.at("pinion_container_exclusive_cpus" + rank), "1");
  EXPECT_EQ(samples.at(R"(pinion_containers{kind="shared"})"), "3");
}

// --- hostile -------------------------------------------------------------------------------------

constexpr std::size_t kLongestPodName = 253;  // Kubernetes: a DNS subdomain

std::string every_byte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

ContainerView hostile(const std::string& id, const std::string& pod, const std::string& job) {
  ContainerView view = small_node().view.containers.front();
  view.id = id;
  view.pod = pod;
  view.job = job;
  view.task_group = job;
  return view;
}

ExampleNode hostile_node() {
  ExampleNode node = small_node();
  auto& containers = node.view.containers;
  const std::string legal = "abcdefghijklmnopqrstuvwxyz-0123456789.x";
  containers.push_back(hostile("h1", std::string(kLongestPodName, 'x'), every_byte()));
  containers.push_back(hostile("h2", legal, std::string(262144, '\\')));
  containers.push_back(hostile("h3", "a\"} 1\npinion_synchronized 2\n# {", "\n# EOF\n"));
  containers.push_back(hostile("h4", every_byte(), "\xF0\x9F\x98\x80\xF0\x9F"));
  containers.push_back(hostile("h5", "\xFF", "x"));  // these two become the same text
  containers.push_back(hostile("h6", "\xFE", "y"));
  containers.push_back(hostile("h7", "", ""));
  metrics::ContainerFigures figures = node.sample.containers[1];
  for (const char* pod : {"\xFF", "\xFE"}) {
    auto who = *figures.who;
    who.pod = pod;
    figures.who = std::make_shared<const metrics::Identity>(who);
    node.sample.containers.push_back(figures);
  }
  node.view.runtime_name = "a\"\\\n\xFF";
  node.view.counters.refused[every_byte()] = 1;
  return node;
}

TEST(ExposeHostile, NamesChangeNothingButTheirLabels) {
  for (const Format format : {Format::kText, Format::kOpenMetrics}) {
    const std::string text = text_of(hostile_node(), format);
    EXPECT_THAT(faults_of(text, format), IsEmpty());
    EXPECT_EQ(samples_of(text).at("pinion_synchronized"), "1");
    EXPECT_LT(text.size(), 200'000U) << "long annotations are cut";
  }
}

// What promtool says about a text; empty when it is content.
std::string promtool_says(const std::string& text) {
  const test_support::TempDir directory;
  const auto input = directory.path() / "metrics";
  const auto output = directory.path() / "said";
  std::ofstream(input) << text;
  const std::string command = std::string(PINION_PROMTOOL) + " check metrics <" + input.string() +
                              " >" + output.string() + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file(output);
  std::string said{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (status != 0 && said.empty()) said = "exit status " + std::to_string(status);
  return said;
}

class PromtoolIfInstalled : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(PINION_PROMTOOL).empty()) GTEST_SKIP() << "promtool is not installed";
  }
};

TEST_F(PromtoolIfInstalled, FindsFault) {
  EXPECT_NE(promtool_says("a_total 1\na_total 1\n"), "");
}

TEST_F(PromtoolIfInstalled, IsContentWithASmallNode) {
  EXPECT_EQ(promtool_says(text_of(small_node())), "");
}

TEST_F(PromtoolIfInstalled, IsContentWithAHostileNode) {
  EXPECT_EQ(promtool_says(text_of(hostile_node())), "");
}

TEST_F(PromtoolIfInstalled, IsContentWithAFullNode) {
  EXPECT_EQ(promtool_says(text_of(full_node(200))), "");
}

TEST_F(PromtoolIfInstalled, IsContentBeforeAnythingIsPublished) {
  EXPECT_EQ(promtool_says(expose({}, {}, {}, Format::kText)), "");
}

// The size is fixed by the values, so it can be a test; the time is for expose_bench.
TEST(Expose, TwoHundredContainersOnEightNodesFitInAMegabyte) {
  EXPECT_LT(text_of(full_node(200)).size(), 1'048'576U);
}

}  // namespace
}  // namespace pinion::agent
