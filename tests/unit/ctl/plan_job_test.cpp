// pinionctl plan-job: its two files, and the page that shows what it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "cluster/files/fleet_file.h"
#include "cluster/files/job_file.h"
#include "ctl/job/draw_job_plan.h"
#include "tests/support/places.h"

namespace pinion::ctl {
namespace {

using cluster::Fleet;
using cluster::jobs::JobPlan;
using cluster::jobs::Mutation;
using nlohmann::json;
using testing::HasSubstr;

std::string page() {
  std::ifstream file(test_support::in_checkout("docs/jobs.md"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty());
  return text;
}

// What stands between `from` and `to`, from `start` on, which moves behind it; "" at the end.
std::string next_block(const std::string& text, std::size_t& start, const std::string& from,
                       const std::string& to) {
  const auto begin = text.find(from, start);
  if (begin == std::string::npos) return {};
  const auto end = text.find(to, begin + from.size());
  start = end + to.size();
  return text.substr(begin + from.size(), end - begin - from.size());
}

JobPlan plan_on(const json& object, const Fleet& fleet) {
  return cluster::jobs::plan_job(object, {}, [&](const auto& see) { see({.fleet = fleet}); });
}

void fill_from_page(Fleet& fleet) {
  std::size_t start = 0;
  const auto nodes = cluster::parse_fleet_file(next_block(page(), start, "<<'END'\n", "\nEND\n"));
  ASSERT_TRUE(nodes) << nodes.error().text;
  const Status good = cluster::fill_fleet(*nodes, fleet);
  ASSERT_TRUE(good) << good.error().text;
}

TEST(JobsPage, ItsJobsAreCutAndFindRoom) {
  Fleet fleet;
  fill_from_page(fleet);
  const std::string text = page();
  std::size_t start = 0;
  std::vector<std::string> kinds;
  for (std::string yaml = next_block(text, start, "```yaml\n", "```\n"); !yaml.empty();
       yaml = next_block(text, start, "```yaml\n", "```\n")) {
    const auto objects = cluster::parse_objects(yaml);
    ASSERT_TRUE(objects) << objects.error().text;
    for (const json& object : *objects) {
      if (object.at("kind") == "MutatingWebhookConfiguration") continue;
      const JobPlan plan = plan_on(object, fleet);
      EXPECT_EQ(plan.outcome, Mutation::Kind::kChanged) << plan.text;
      EXPECT_FALSE(plan.workers.empty());
      EXPECT_EQ(plan.waits, "");
      EXPECT_FALSE(plan.nodes.empty());
      kinds.push_back(object.at("kind"));
    }
  }
  EXPECT_THAT(kinds, testing::ElementsAre("MPIJob", "Job", "JobSet", "Job", "Pod"));
}

TEST(JobsPage, ShowsWhatTheCommandPrints) {
  Fleet fleet;
  fill_from_page(fleet);
  const std::string text = page();
  std::size_t start = 0;
  const auto objects = cluster::parse_objects(next_block(text, start, "```yaml\n", "```\n"));
  ASSERT_TRUE(objects && !objects->empty());
  const JobPlan plan = plan_on(objects->front(), fleet);
  const std::string drawn = draw_job_plan(plan) + "\n" + draw_job_picture(plan, {});
  EXPECT_THAT(text, HasSubstr("```\n" + drawn + "```\n"));
}

TEST(JobPlan, SaysWhyAGangWouldWait) {
  Fleet fleet;
  const auto nodes = cluster::parse_fleet_file(
      "[{name: a, topology: 'synthetic:numa:1 core:4 pu:1', reserved-cpus: '0'}]");
  ASSERT_TRUE(nodes && cluster::fill_fleet(*nodes, fleet));
  json job =
      json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","annotations":
    {"pinion.dev/tasks":"4","pinion.dev/memory-per-task":"1Mi"}},"spec":{"completionMode":"Indexed",
    "parallelism":4,"completions":4,"template":{"spec":{"containers":[{"name":"c"}]}}}})");
  const JobPlan plan = plan_on(job, fleet);
  EXPECT_THAT(draw_job_plan(plan), HasSubstr("It would wait: needs 4 x 1 CPU and 1 MiB"));
  EXPECT_EQ(draw_job_picture(plan, {}), "");
  const json data = to_json(plan);
  EXPECT_THAT(data.at("waits").get<std::string>(), HasSubstr("needs 4 x 1 CPU and 1 MiB"));
  EXPECT_EQ(data.at("workers").size(), 4U);
  EXPECT_EQ(job.patch(data.at("patch"))
                .at("spec")
                .at("template")
                .at("metadata")
                .at("annotations")
                .at("pinion.dev/gang-size"),
            "4");
}

TEST(JobPlan, SaysWhyAJobIsRefused) {
  const Fleet fleet;
  const json job = json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j",
    "annotations":{"pinion.dev/tasks":"-1"}}})");
  const JobPlan plan = plan_on(job, fleet);
  EXPECT_THAT(draw_job_plan(plan), HasSubstr("Job j: refused: annotation pinion.dev/tasks"));
  EXPECT_EQ(to_json(plan).at("outcome"), "refused");
}

TEST(JobFile, HasTheTypesThatKubectlSends) {
  const auto objects = cluster::parse_objects(R"(
a: 1
b: "1"
c: true
d: 'true'
e: ~
f: 1.5
g: 1Gi
h: [x, 2]
i: |
  5
j: -3
k:
---
---
{"a": {"b": []}}
)");
  ASSERT_TRUE(objects) << objects.error().text;
  ASSERT_EQ(objects->size(), 2U);
  EXPECT_EQ(objects->at(0),
            json::parse(R"({"a":1,"b":"1","c":true,"d":"true","e":null,"f":1.5,"g":"1Gi",
                            "h":["x",2],"i":"5\n","j":-3,"k":null})"));
  EXPECT_EQ(objects->at(1), json::parse(R"({"a":{"b":[]}})"));
}

TEST(JobFile, SaysWhereItIsWrong) {
  const auto error_of = [](const std::string& text) {
    const auto objects = cluster::parse_objects(text);
    return objects ? std::string("none") : objects.error().text;
  };
  EXPECT_THAT(error_of("a: 1\nb: [\n"), HasSubstr("line "));
  EXPECT_EQ(error_of("- a"), "line 1: not a Kubernetes object");
  EXPECT_EQ(error_of("a: 1\n? [b]\n: 2\n"), "line 2: a key must be a word");
  EXPECT_THAT(error_of(std::string(150, '[') + std::string(150, ']')), HasSubstr("too deeply"));
}

TEST(FleetFileSettings, AreThoseOfTheAgents) {
  constexpr topology::Bytes kGiB = 1 << 30;
  struct Case {
    const char* name;
    const char* keys;
    topology::Bytes memory;  // of a node of 64 GiB that containers can be bound to
    std::set<policy::Privilege> privileges;
    bool strict;
  };
  const std::set<policy::Privilege> usual = policy::Defaults().privileges;
  const Case cases[] = {
      {"none stated", "", 63 * kGiB, usual, false},
      {"memory as the flag has it", ", reserved-memory: '0:memory=2Gi'", 62 * kGiB, usual, false},
      {"memory as the agent's file has it",
       ", reserved-memory: [{numaNode: 0, limits: {memory: 4Gi}}]", 60 * kGiB, usual, false},
      {"no memory", ", reserved-memory: ''", 64 * kGiB, usual, false},
      {"some privileges",
       ", allowed-privileges: 'isolated,one-per-core'",
       63 * kGiB,
       {policy::Privilege::kIsolated, policy::Privilege::kOnePerCore},
       false},
      {"no privileges", ", allowed-privileges: ''", 63 * kGiB, {}, false},
      {"a strict reservation", ", reserved-cpus: 0, strict-cpu-reservation: true", 63 * kGiB, usual,
       true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto nodes = cluster::parse_fleet_file(
        std::string("- {name: a, topology: 'synthetic:numa:1(memory=64GiB) core:4 pu:1'") + c.keys +
        "}");
    ASSERT_TRUE(nodes) << nodes.error().text;
    EXPECT_EQ(nodes->front().privileges, c.privileges);
    Fleet fleet;
    const Status good = cluster::fill_fleet(*nodes, fleet);
    ASSERT_TRUE(good) << good.error().text;
    EXPECT_EQ(fleet.node(0).topology().nodes[0].memory, c.memory);
    EXPECT_EQ(fleet.node(0).ledger.strict(), c.strict);
  }
}

struct FleetCase {
  const char* name;
  const char* text;
  const char* says;
};

class FleetFile : public testing::TestWithParam<FleetCase> {};

TEST_P(FleetFile, SaysWhatIsWrong) {
  const auto nodes = cluster::parse_fleet_file(GetParam().text);
  Fleet fleet;
  const std::string error = !nodes ? nodes.error().text : [&] {
    const Status good = cluster::fill_fleet(*nodes, fleet);
    return good ? std::string("nothing") : good.error().text;
  }();
  EXPECT_THAT(error, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Files, FleetFile,
    testing::Values(
        FleetCase{"no_list", "a: 1", "must be a list of nodes"},
        FleetCase{"no_map", "- a", "line 1: an entry must be a map"},
        FleetCase{"no_name", "- topology: live", "the key 'name' is missing"},
        FleetCase{"no_topology", "- name: a", "the key 'topology' is missing"},
        FleetCase{"odd_topology", "- {name: a, topology: x}", "topology: "},
        FleetCase{"unknown_key", "- {name: a, topology: live, cpus: 4}", "unknown key 'cpus'"},
        FleetCase{"too_many", "- {name: a, topology: live, count: 10001}", "from 1 to 10000"},
        FleetCase{"used_is_no_list", "- {name: a, topology: 'synthetic:core:4 pu:1', used: 1}",
                  "used must be a list"},
        FleetCase{"used_is_no_cpus", "- {name: a, topology: 'synthetic:core:4 pu:1', used: [x]}",
                  "a list of CPUs"},
        FleetCase{"used_twice", "- {name: a, topology: 'synthetic:core:4 pu:1', used: ['1', '1']}",
                  "node a"},
        FleetCase{"used_of_no_core",
                  "- {name: a, topology: 'synthetic:core:4 pu:1', used: ['1', '0-99']}",
                  "node a: used: CPUs 4-99 do not exist, this machine has 0-3"},
        FleetCase{"odd_memory", "- {name: a, topology: live, reserved-memory: 1Gi}",
                  "line 1: reserved-memory: '1Gi' is no number of a NUMA node"},
        FleetCase{"memory_of_no_node",
                  "- {name: a, topology: 'synthetic:core:4 pu:1', reserved-memory: '1:memory=1Gi'}",
                  "node a: reservedMemory: NUMA node 1 does not exist"},
        FleetCase{"reserved_cpus_of_no_core",
                  "- {name: a, topology: 'synthetic:core:4 pu:1', reserved-cpus: '4'}",
                  "node a: reservedSystemCPUs: CPUs 4 do not exist"},
        FleetCase{"unknown_wish", "- {name: a, topology: live, allowed-privileges: all}",
                  "line 1: allowed-privileges: unknown value 'all', use one of: one-per-core"},
        FleetCase{"other_wishes",
                  "- {name: a, topology: live}\n"
                  "- {name: b, topology: live, allowed-privileges: isolated}",
                  "line 2: allowed-privileges must be the same on all nodes"},
        FleetCase{"twice",
                  "- {name: a, topology: 'synthetic:core:4 pu:1'}\n"
                  "- {name: a, topology: 'synthetic:core:4 pu:1'}",
                  "node a: given twice"},
        FleetCase{"twice_by_count",
                  "- {name: a-1, topology: 'synthetic:core:4 pu:1'}\n"
                  "- {name: a, count: 2, topology: 'synthetic:core:4 pu:1'}",
                  "node a-1: given twice"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::ctl
