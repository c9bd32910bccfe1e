// The rules and the dashboards in deploy/ against what both programs export.
#include "tests/unit/prometheus/queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "metrics/prometheus/series.h"
#include "tests/support/places.h"

namespace pinion::prometheus {
namespace {

using testing::ElementsAre;

constexpr std::array kSituations{"alerts_test.yaml", "extender_alerts_test.yaml"};

std::string situations(const std::string& file) {
  return test_support::in_checkout("tests/unit/prometheus/" + file);
}

std::vector<Query> all_rules(std::set<std::string>& recorded) {
  std::vector<Query> all;
  for (const std::string& file : rule_files()) {
    for (Query& query : rule_queries(file, recorded)) all.push_back(std::move(query));
  }
  return all;
}

// By both programs.
std::set<std::string> exported() {
  std::set<std::string> names = extender_series_names();
  EXPECT_GE(names.size(), 30U);
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
  EXPECT_GE(queries.size(), 38U);
  expect_known(queries, known);
}

// Every alert is played: there is a situation in which it fires, and one in which it does not. Of
// every recording rule a situation says what it gives.
TEST(Rules, AreAllPlayed) {
  std::set<std::string> given;
  std::set<std::string> fire;
  std::set<std::string> rest;
  for (const char* file : kSituations) {
    for (const YAML::Node& situation : YAML::LoadFile(situations(file))["tests"]) {
      for (const YAML::Node& one : situation["alert_rule_test"]) {
        const bool fires = one["exp_alerts"].IsDefined() && one["exp_alerts"].size() > 0;
        (fires ? fire : rest).insert(one["alertname"].as<std::string>());
      }
      for (const YAML::Node& one : situation["promql_expr_test"]) {
        if (one["exp_samples"].size() > 0) given.merge(names_in(one["expr"].as<std::string>()));
      }
    }
  }
  std::set<std::string> recorded;
  std::set<std::string> alerts;
  for (const Query& rule : all_rules(recorded)) {
    if (!recorded.contains(rule.where)) alerts.insert(rule.where);
  }
  EXPECT_EQ(fire, alerts);
  EXPECT_EQ(rest, alerts);
  EXPECT_EQ(given, recorded);
}

std::vector<Query> all_panels() {
  std::vector<Query> all;
  for (const std::string& file : dashboard_files()) {
    for (Query& query : dashboard_queries(file)) all.push_back(std::move(query));
  }
  return all;
}

// The dashboards work without the recording rules.
TEST(Dashboards, AskOnlyForWhatIsExported) {
  EXPECT_EQ(dashboard_files().size(), 3U);
  const std::vector<Query> queries = all_panels();
  EXPECT_GE(queries.size(), 80U);
  expect_known(queries, exported());
  for (const Query& query : queries) {
    EXPECT_EQ(query.expr.find('$'), std::string::npos) << query.where << ": " << query.expr;
  }
}

// Within one, a number and its course may be the same query.
TEST(Dashboards, ShowNothingThatAnotherShows) {
  std::map<std::string, std::string> shown;  // an expression or uid, and in which file
  for (const std::string& file : dashboard_files()) {
    std::ifstream text(file);
    EXPECT_TRUE(shown.emplace(nlohmann::json::parse(text).at("uid"), file).second) << file;
    for (const Query& query : dashboard_queries(file)) {
      EXPECT_EQ(shown.emplace(query.expr, file).first->second, file) << query.where;
    }
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

class PromtoolIfInstalled : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(PINION_PROMTOOL).empty()) GTEST_SKIP() << "promtool is not installed";
  }
};

TEST_F(PromtoolIfInstalled, IsContentWithTheRules) {
  for (const std::string& file : rule_files()) {
    const auto [status, said] = promtool("check rules " + file);
    EXPECT_EQ(status, 0) << said;
  }
}

// As recording rules, which promtool reads.
TEST_F(PromtoolIfInstalled, IsContentWithTheDashboards) {
  nlohmann::json rules = nlohmann::json::array();
  for (const Query& query : all_panels()) {
    rules.push_back({{"record", "panel:" + std::to_string(rules.size())}, {"expr", query.expr}});
  }
  const std::string file = testing::TempDir() + "pinion_panels." + std::to_string(getpid());
  std::ofstream(file) << nlohmann::json{{"groups", {{{"name", "panels"}, {"rules", rules}}}}};
  const auto [status, said] = promtool("check rules " + file);
  EXPECT_EQ(status, 0) << said;
  EXPECT_EQ(std::remove(file.c_str()), 0);
}

class AlertsIfPromtoolInstalled : public PromtoolIfInstalled,
                                  public testing::WithParamInterface<const char*> {};

// Situations that are played to the rules: what fires, and what does not.
TEST_P(AlertsIfPromtoolInstalled, FireWhenTheyShould) {
  const auto [status, said] = promtool("test rules " + situations(GetParam()));
  EXPECT_EQ(status, 0) << said;
}

INSTANTIATE_TEST_SUITE_P(Situations, AlertsIfPromtoolInstalled, testing::ValuesIn(kSituations),
                         [](const auto& one) {
                           const std::string name = one.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace pinion::prometheus
