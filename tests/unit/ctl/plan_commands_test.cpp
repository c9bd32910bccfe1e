// pinionctl plan and plan-job as programs: what the operator of the nodes has set counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/tree.h"
#include "tests/unit/ctl/program.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;

constexpr const char* kLacks = "this node's allowedPrivileges does not have 'one-per-core'";

class PlanCommands : public testing::Test {
 protected:
  [[nodiscard]] Outcome run(const std::string& rest) const {
    return run_pinionctl(dir_.path(), rest);
  }
  // In quotes for the shell.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (dir_.path() / name).string();
    std::ofstream(path) << text;
    return "'" + path + "'";
  }
  [[nodiscard]] std::string requests(const std::string& text) const {
    return "plan --topology 'synthetic:numa:2(memory=64GiB) core:4 pu:2' --requests " +
           file("requests.yaml", text) + " ";
  }

 private:
  test_support::TempDir dir_;
};

TEST_F(PlanCommands, PlanFollowsTheAgentsSettings) {
  struct Case {
    const char* name;
    const char* request;
    const char* settings;
    const char* says;
  };
  const Case cases[] = {
      {"the usual reserved memory", "{cpus: 2, job: j, memory: 63.5Gi}", "", "largest 63 GiB"},
      {"none reserved", "{cpus: 2, job: j, memory: 63.5Gi}", "--reserved-memory ''", "1 of 1"},
      {"another amount", "{cpus: 2, job: j, memory: 63Gi}",
       "--reserved-memory '0:memory=2Gi;1:memory=4Gi'", "largest 62 GiB"},
      {"no wish", "{cpus: 2, smt: one-per-core}", "", kLacks},
      {"the wish", "{cpus: 2, smt: one-per-core}", "--allowed-privileges one-per-core", "1 of 1"},
      {"an isolated one", "{cpus: 2, isolation: isolated}", "", "does not have 'isolated'"},
      {"the last CPUs, which others may use too", "{cpus: 8, align: none}", "--reserved-cpus 0-7",
       "1 of 1"},
      {"the last CPUs", "{cpus: 8, align: none}", "--reserved-cpus 0-7 --strict-cpu-reservation",
       "no CPU would be left"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = run(requests(std::string("- ") + c.request) + c.settings);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(c.says));
  }
}

TEST_F(PlanCommands, PlanFailsWhereNoAgentWouldStart) {
  struct Case {
    const char* settings;
    int exit_code;
    const char* says;
  };
  const Case cases[] = {
      {"--reserved-memory 1Gi", 2, "--reserved-memory: '1Gi' is no number of a NUMA node"},
      {"--allowed-privileges all", 2, "--allowed-privileges: unknown value 'all', use one of: "},
      {"--reserved-memory 2:memory=1Gi", 1, "reservedMemory: NUMA node 2 does not exist"},
      {"--reserved-cpus 0-15 --strict-cpu-reservation", 1, "reservedSystemCPUs: with strict-cpu-"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.settings);
    const Outcome outcome = run(requests("- {cpus: 1}") + c.settings);
    EXPECT_EQ(outcome.exit_code, c.exit_code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
  }
}

TEST_F(PlanCommands, AFolderIsNoFile) {
  const std::string fleet = file("fleet.yaml", "[]");
  for (const std::string& command :
       {"plan-job -f /tmp --fleet " + fleet, std::string("plan-job -f /tmp --fleet /tmp"),
        std::string("plan --requests /tmp"), std::string("plan --requests - </tmp")}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_THAT(outcome.err, testing::EndsWith(": Is a directory\n")) << command;
  }
}

TEST_F(PlanCommands, PlanJobFollowsTheFleetsSettings) {
  struct Case {
    const char* name;
    const char* annotation;
    const char* memory;
    const char* settings;
    int exit_code;
    const char* says;
  };
  const Case cases[] = {
      {"nothing out of the way", "smt: pack", "1Gi", "", 0, "Job wind: changed"},
      {"no wish", "smt: one-per-core", "1Gi", "", 1, kLacks},
      {"the wish", "smt: one-per-core", "1Gi", ", allowed-privileges: one-per-core", 0,
       "Job wind: changed"},
      {"the usual reserved memory", "smt: pack", "63.5Gi", "", 0, "It would wait: needs 2 x"},
      {"none reserved", "smt: pack", "63.5Gi", ", reserved-memory: []", 0, "node-1"},
      {"another amount", "smt: pack", "63Gi", ", reserved-memory: '0:memory=2Gi'", 0,
       "It would wait: needs 2 x"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string job =
        file("job.yaml",
             "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: wind\n  annotations:\n"
             "    pinion.dev/tasks: '2'\n    pinion.dev/cpus-per-task: '2'\n    pinion.dev/" +
                 std::string(c.annotation) + "\n    pinion.dev/memory-per-task: " + c.memory +
                 "\nspec:\n  completionMode: Indexed\n  parallelism: 2\n  completions: 2\n"
                 "  template: {spec: {containers: [{name: c}]}}\n");
    const std::string fleet =
        file("fleet.yaml", std::string("- {name: node, count: 2, reserved-cpus: '0', "
                                       "topology: 'synthetic:numa:1(memory=64GiB) core:4 pu:2'") +
                               c.settings + "}\n");
    const Outcome outcome = run("plan-job -f " + job + " --fleet " + fleet);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(c.says));
    EXPECT_EQ(outcome.err, "");
  }
}

}  // namespace
}  // namespace pinion::ctl
