#include "tests/unit/prometheus/queries.h"

#include <re2/re2.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/places.h"

namespace pinion::prometheus {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
  return text;
}

std::string without_variables(const std::string& expr) {
  std::string text = replaced(expr, "$__rate_interval", "1m");
  for (const char* variable : {"$node", "$namespace", "$job", "$extender"}) {
    text = replaced(text, variable, ".*");
  }
  return text;
}

// The first argument of label_values(SERIES, LABEL).
std::string of_label_values(const std::string& query) {
  std::string series;
  return RE2::FullMatch(query, R"(label_values\((.*), [a-z_]+\))", &series) ? series : query;
}

}  // namespace

std::vector<std::string> rule_files() {
  const std::string folder = test_support::in_checkout("deploy/chart/pinion/rules/");
  return {folder + "recording.yaml", folder + "alerts.yaml"};
}

std::vector<std::string> dashboard_files() {
  std::set<std::string> paths;
  for (const auto& file :
       std::filesystem::directory_iterator(test_support::in_checkout("deploy/grafana"))) {
    if (file.path().extension() == ".json") paths.insert(file.path());
  }
  return {paths.begin(), paths.end()};
}

std::vector<Query> rule_queries(const std::string& path, std::set<std::string>& recorded) {
  std::vector<Query> queries;
  for (const YAML::Node& group : YAML::LoadFile(path)["groups"]) {
    for (const YAML::Node& rule : group["rules"]) {
      const bool records = rule["record"].IsDefined();
      const auto name = rule[records ? "record" : "alert"].as<std::string>();
      if (records) recorded.insert(name);
      queries.push_back({name, rule["expr"].as<std::string>()});
    }
  }
  return queries;
}

std::vector<Query> dashboard_queries(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json dashboard = nlohmann::json::parse(file);
  std::vector<Query> queries;
  for (const auto& variable : dashboard.at("templating").at("list")) {
    if (variable.at("type") != "query") continue;
    const auto query = variable.at("query").at("query").get<std::string>();
    queries.push_back(
        {"$" + variable.at("name").get<std::string>(), without_variables(of_label_values(query))});
  }
  for (const auto& panel : dashboard.at("panels")) {
    if (!panel.contains("targets")) continue;
    for (const auto& target : panel.at("targets")) {
      queries.push_back({panel.at("title").get<std::string>(),
                         without_variables(target.at("expr").get<std::string>())});
    }
  }
  return queries;
}

std::set<std::string> extender_series_names() {
  std::ifstream file(test_support::in_checkout("docs/kubernetes.md"));
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::string name;
    std::string type;
    if (!RE2::PartialMatch(line, R"(^\| `(pinion_[a-z0-9_]+)` \| ([a-z]+) \|)", &name, &type))
      continue;
    names.insert(name);
    if (type != "histogram") continue;
    for (const char* end : {"_bucket", "_sum", "_count"}) names.insert(name + end);
  }
  return names;
}

std::set<std::string> names_in(const std::string& expr) {
  std::string text = expr;
  RE2::GlobalReplace(&text, R"re("[^"]*")re", R"("")");
  std::set<std::string> names;
  re2::StringPiece rest(text);
  for (std::string name; RE2::FindAndConsume(&rest, "([a-zA-Z_][a-zA-Z0-9_:]*)", &name);) {
    if (name.starts_with("pinion_") || name.find(':') != std::string::npos) names.insert(name);
  }
  return names;
}

}  // namespace pinion::prometheus
