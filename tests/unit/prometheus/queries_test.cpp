// The rules and the dashboard in deploy/ against what is exported.
#include "tests/unit/prometheus/queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "metrics/prometheus/series.h"
#include "tests/support/places.h"

namespace pinion::prometheus {
namespace {

using testing::ElementsAre;

const std::string kDeploy = test_support::in_checkout("deploy/");

std::vector<Query> all_rules(std::set<std::string>& recorded) {
  std::vector<Query> all = rule_queries(kDeploy + "prometheus/recording.yaml", recorded);
  for (Query& query : rule_queries(kDeploy + "prometheus/alerts.yaml", recorded)) {
    all.push_back(std::move(query));
  }
  return all;
}

std::set<std::string> exported() {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const Series& one = series(static_cast<Metric>(i));
    names.emplace(one.name);
    if (one.type != Type::kHistogram) continue;
    for (const char* end : {"_bucket", "_sum", "_count"}) names.insert(std::string(one.name) + end);
  }
  return names;
}

void expect_known(const std::vector<Query>& queries, const std::set<std::string>& known) {
  for (const Query& query : queries) {
    for (const std::string& name : names_in(query.expr)) {
      EXPECT_TRUE(known.contains(name)) << query.where << " asks for " << name;
    }
  }
}

TEST(NamesIn, FindsSeriesAndRecordingRulesButNoStringsAndLabels) {
  EXPECT_THAT(
      names_in(R"(sum by (job) (rate(pinion_a_total{x="pinion_b"}[5m])) / job:pinion_c:sum)"),
      ElementsAre("job:pinion_c:sum", "pinion_a_total"));
}

TEST(Rules, AskOnlyForWhatIsExportedOrRecorded) {
  std::set<std::string> known = exported();
  const std::vector<Query> queries = all_rules(known);
  EXPECT_GE(queries.size(), 20U);
  expect_known(queries, known);
}

// The dashboard works without the recording rules.
TEST(Dashboard, AsksOnlyForWhatIsExported) {
  const std::vector<Query> queries = dashboard_queries(kDeploy + "grafana/pinion.json");
  EXPECT_GE(queries.size(), 40U);
  expect_known(queries, exported());
  for (const Query& query : queries) {
    EXPECT_EQ(query.expr.find('$'), std::string::npos) << query.where << ": " << query.expr;
  }
}

// The exit status of promtool, and what it said.
std::pair<int, std::string> promtool(const std::string& arguments) {
  const std::string command = std::string(PINION_PROMTOOL) + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string said;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    said.append(buffer.data(), n);
  }
  return {pclose(pipe), said};
}

class PromtoolIfInstalled : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(PINION_PROMTOOL).empty()) GTEST_SKIP() << "promtool is not installed";
  }
};

TEST_P(PromtoolIfInstalled, IsContentWithTheRules) {
  const auto [status, said] = promtool("check rules " + kDeploy + "prometheus/" + GetParam());
  EXPECT_EQ(status, 0) << said;
}

INSTANTIATE_TEST_SUITE_P(Files, PromtoolIfInstalled,
                         testing::Values("recording.yaml", "alerts.yaml"), [](const auto& one) {
                           const std::string name = one.param;
                           return name.substr(0, name.find('.'));
                         });

class AlertsIfPromtoolInstalled : public PromtoolIfInstalled {};

// Situations that are played to the rules: what fires, and what does not.
TEST_P(AlertsIfPromtoolInstalled, FireWhenTheyShould) {
  const auto [status, said] =
      promtool("test rules " + test_support::in_checkout("tests/unit/prometheus/") + GetParam());
  EXPECT_EQ(status, 0) << said;
}

INSTANTIATE_TEST_SUITE_P(Situations, AlertsIfPromtoolInstalled, testing::Values("alerts_test.yaml"),
                         [](const auto&) { return std::string("alerts"); });

}  // namespace
}  // namespace pinion::prometheus
