// The PromQL in deploy/: of the rules and of the dashboards, for tests that check or run it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace pinion::prometheus {

struct Query {
  std::string where;  // alert, recording rule, or panel
  std::string expr;   // the dashboard's variables replaced, so that a Prometheus can run it
};

// The files, by their paths: rules that record before those that use what they record.
std::vector<std::string> rule_files();
std::vector<std::string> dashboard_files();

// Of a file of rules. `recorded`: the names that the file itself records are added to it.
// A file that cannot be read, or is no such file, ends the test with an exception.
std::vector<Query> rule_queries(const std::string& path, std::set<std::string>& recorded);

// Of a dashboard: its panels and its variables. $node, $namespace, $job and $extender become ".*",
// $__rate_interval becomes 1m.
std::vector<Query> dashboard_queries(const std::string& path);

// The series of docs/kubernetes.md's table, which expose_test compares with what the extender
// writes; of a histogram also what it consists of.
std::set<std::string> extender_series_names();

// The names in a query that begin with pinion_ (series) or contain a colon (recording rules).
std::set<std::string> names_in(const std::string& expr);

}  // namespace pinion::prometheus
