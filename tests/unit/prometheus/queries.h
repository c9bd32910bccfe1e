// The PromQL in deploy/: of the rules and of the dashboard, for tests that check or run it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace pinion::prometheus {

struct Query {
  std::string where;  // alert, recording rule, or panel
  std::string expr;   // the dashboard's variables replaced, so that a Prometheus can run it
};

// Of a file of rules. `recorded`: the names that the file itself records are added to it.
// A file that cannot be read, or is no such file, ends the test with an exception.
std::vector<Query> rule_queries(const std::string& path, std::set<std::string>& recorded);

// Of a dashboard: its panels and its variables. $node, $namespace and $job become ".*",
// $__rate_interval becomes 1m.
std::vector<Query> dashboard_queries(const std::string& path);

// The names in a query that begin with pinion_ (series) or contain a colon (recording rules).
std::set<std::string> names_in(const std::string& expr);

}  // namespace pinion::prometheus
