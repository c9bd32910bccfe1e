// The machines of a job's plan: whole pictures are files in golden/, here is what holds for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/files/fleet_file.h"
#include "ctl/job/draw_job_plan.h"
#include "tests/unit/ctl/golden.h"

namespace pinion::ctl {
namespace {

using cluster::Fleet;
using cluster::jobs::JobPlan;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmallNodes =
    "[{name: node, count: 3, topology: 'synthetic:package:2 numa:1 l3:2 core:4 pu:2', "
    "reserved-cpus: "
    "'0-1',"
    "  used: ['4-7', '24-31']}]";
constexpr const char* kLargeNodes =
    "[{name: big, count: 40, topology: 'synthetic:package:2 numa:4 l3:4 core:8 pu:1',"
    "  reserved-cpus: '0,128'}]";

// An Indexed Job of equal workers with these annotations more.
json job_of(int workers, int cpus, int groups, json annotations = json::object()) {
  json job = json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"wind"},
    "spec":{"completionMode":"Indexed","template":{"spec":{"containers":[{"name":"c"}]}}}})");
  job["spec"]["parallelism"] = job["spec"]["completions"] = workers;
  annotations["pinion.dev/tasks"] = std::to_string(workers);
  annotations["pinion.dev/cpus-per-task"] = std::to_string(cpus);
  annotations["pinion.dev/memory-per-task"] = "1Mi";
  if (groups > 0) annotations["pinion.dev/task-groups"] = std::to_string(groups);
  job["metadata"]["annotations"] = std::move(annotations);
  return job;
}

JobPlan plan_on(const json& job, const char* fleet_text) {
  Fleet fleet;
  const auto nodes = cluster::parse_fleet_file(fleet_text);
  EXPECT_TRUE(nodes) << (nodes ? "" : nodes.error().text);
  const Status good = cluster::fill_fleet(*nodes, fleet);
  EXPECT_TRUE(good) << (good ? "" : good.error().text);
  cluster::jobs::Options options;
  options.defaults.privileges = {policy::Privilege::kOnePerCore};
  return cluster::jobs::plan_job(job, options, [&](const auto& see) { see({.fleet = fleet}); });
}

JobPlan small_plan() {
  return plan_on(job_of(6, 2, 2, {{"pinion.dev/smt", "one-per-core"}}), kSmallNodes);
}
JobPlan large_plan() {
  return plan_on(job_of(300, 8, 20), kLargeNodes);
}

TEST(JobPicture, LooksAsCheckedIn) {
  const JobPlan small = small_plan();
  expect_golden("plan_job_small.txt", draw_job_plan(small) + "\n" + draw_job_picture(small, {}));
  expect_golden("plan_job_small_color.txt",
                draw_job_picture(small, {.width = 80, .height = 24, .color = true}));
  expect_golden("plan_job_large.txt", draw_job_picture(large_plan(), {}));
  expect_golden("plan_job_large_40x12.txt",
                draw_job_picture(large_plan(), {.width = 40, .height = 12}));
}

TEST(JobPicture, StaysInItsSize) {
  for (const JobPlan& plan : {small_plan(), large_plan()}) {
    for (const std::size_t width : {std::size_t{12}, std::size_t{40}, std::size_t{200}}) {
      for (const std::size_t height : {std::size_t{4}, std::size_t{10}, std::size_t{500}}) {
        const std::string text =
            draw_job_picture(plan, {.width = width, .height = height, .color = true});
        const auto lines = lines_of(text);
        EXPECT_LE(lines.size(), height);
        for (const std::string& line : lines) EXPECT_LE(without_color(line).size(), width) << line;
      }
    }
  }
}

TEST(JobPicture, HasEveryCpuOfAWorkerOnceWhereThereIsRoom) {
  const JobPlan plan = large_plan();
  const std::string text = draw_job_picture(plan, {.width = 300, .height = 10'000});
  std::size_t letters = 0;
  for (const std::string& line : lines_of(text)) {
    const auto open = line.find('[');
    if (open == std::string::npos) continue;
    for (const char c : line.substr(open)) {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 && c != 'r') ++letters;
    }
  }
  EXPECT_EQ(letters, 300U * 8U);
  EXPECT_THAT(text, testing::Not(HasSubstr("more node")));
}

TEST(JobPicture, CountsWhatItLeavesOut) {
  const JobPlan plan = large_plan();
  const auto lines = lines_of(draw_job_picture(plan, {.width = 100, .height = 24}));
  std::size_t heads = 0;
  for (const std::string& line : lines) heads += line.rfind("big-", 0) == 0 ? 1U : 0U;
  EXPECT_THAT(lines.back(),
              HasSubstr("... " + std::to_string(plan.nodes.size() - heads) + " more nodes with "));
}

TEST(JobPicture, MarksWhatIsIsolated) {
  JobPlan plan = plan_on(job_of(1, 1, 0), "[{name: a, topology: 'synthetic:core:4 pu:1'}]");
  ASSERT_EQ(plan.machines.size(), 1U);
  plan.machines.front().isolated = {3};
  EXPECT_THAT(lines_of(draw_job_picture(plan, {})),
              ElementsAre(HasSubstr("isolated"), "a  wind-0: A 0", "  0 [A..i]"));
}

TEST(JobPlanDocument, IsReadAsItWasWritten) {
  for (const JobPlan& plan : {small_plan(), large_plan(), plan_on(job_of(9, 30, 0), kSmallNodes),
                              plan_on({{"kind", "Pod"}}, kSmallNodes)}) {
    const auto read = cluster::jobs::read_job_plan(to_json(plan));
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, plan);
  }
}

struct BadCase {
  const char* name;
  const char* pointer;
  json value;
  const char* says;
};

class BadDocument : public testing::TestWithParam<BadCase> {};

TEST_P(BadDocument, IsRefusedWithTheField) {
  json document = to_json(small_plan());
  document[json::json_pointer(GetParam().pointer)] = GetParam().value;
  const auto read = cluster::jobs::read_job_plan(document);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadDocument,
    testing::Values(
        BadCase{"no_object", "", json::array(), "not an object"},
        BadCase{"kind", "/kind", 1, "kind: not a string"},
        BadCase{"outcome", "/outcome", "eaten", "outcome: unknown"},
        BadCase{"patch", "/patch", "x", "patch: not a list"},
        BadCase{"workers", "/workers", 5, "workers: not a list"},
        BadCase{"tasks", "/workers/0/tasks", -1, "tasks: not a number"},
        BadCase{"cpus_there", "/workers/0/cpus_there", "x-y", "workers.cpus_there: not a list"},
        BadCase{"machine", "/nodes/0/machine", 7, "nodes.machine: there is no such machine"},
        BadCase{"taken", "/nodes/0/taken", 7, "nodes.taken: not a list of CPUs"},
        BadCase{"nobody_there", "/nodes/0/name", "elsewhere", "nodes.name: no worker goes there"},
        BadCase{"nameless", "/nodes/0/name", "", "nodes.name: no worker goes there"},
        BadCase{"numa_id", "/machines/0/numa/0/id", -1, "id: not a number"},
        BadCase{"twice", "/machines/0/numa/0/l3s/0/0", "2", "a CPU is there twice"},
        BadCase{"l3_no_list", "/machines/0/numa/0/l3s/0", 1, "not a list of lists"},
        BadCase{"reserved", "/machines/0/reserved", nullptr, "machines.reserved"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::ctl
