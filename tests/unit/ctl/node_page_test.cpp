// What docs/node.md shows of `pinionctl plan` is what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "ctl/plan/draw_plan.h"
#include "ctl/plan/node_options.h"
#include "ctl/plan/requests_file.h"
#include "policy/plan.h"
#include "tests/support/places.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;

// Up to its last example.
std::string node_page() {
  std::ifstream file(test_support::in_checkout("docs/node.md"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.substr(0, text.find("\n### Devices\n"));
}

// What stands between `from` and `to` behind `start`, which moves to its end; "" where there is no
// more.
std::string between(const std::string& text, std::size_t& start, const std::string& from,
                    const std::string& to) {
  const auto begin = text.find(from, start);
  if (begin == std::string::npos) return {};
  const auto end = text.find(to, begin + from.size());
  start = end;
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::string drawn(const std::string& machine, const std::string& yaml) {
  NodeOptions options;
  CLI::App app;
  add_node_options(app, options);
  app.parse(std::vector<std::string>{"one-per-core", "--allowed-privileges", "0-1",
                                     "--reserved-cpus", machine, "--topology"});
  const auto requests = parse_requests(yaml);
  const auto node = read_node(options);
  if (!requests || !node) return !requests ? requests.error().text : node.error().text;
  return draw_plan(node->topology, *requests,
                   policy::plan(node->topology, node->ledger, *requests, options.privileges));
}

void expect_lines(const std::string& text, const std::string& lines) {
  EXPECT_FALSE(lines.empty());
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) EXPECT_THAT(text, HasSubstr(line + "\n"));
}

TEST(NodePage, ShowsWhatTheCommandPrints) {
  const std::string page = node_page();
  std::size_t at = 0;
  const std::string machine = between(page, at, "$ T='", "'\n");
  int examples = 0;
  for (std::string yaml = between(page, at, "```yaml\n", "```\n"); !yaml.empty();
       yaml = between(page, at, "```yaml\n", "```\n")) {
    SCOPED_TRACE(yaml);
    at += 4;  // behind the list's own end
    expect_lines(drawn(machine, yaml), between(page, at, "```\n", "```\n"));
    at += 4;
    ++examples;
    const std::string job = "{id: late, cpus: 8, job: wind}";
    const auto late = yaml.find(job);
    if (late == std::string::npos) continue;
    expect_lines(drawn(machine, yaml.replace(late, job.size(), "{id: late, cpus: 8}")),
                 between(page, at, "The same without a job for `late`:\n\n```\n", "```\n"));
    at += 4;
  }
  EXPECT_EQ(examples, 4);
}

}  // namespace
}  // namespace pinion::ctl
