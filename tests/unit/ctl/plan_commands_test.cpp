// pinionctl plan and plan-job as programs: what the operator of the nodes has set counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/tree.h"
#include "tests/unit/ctl/program.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;

constexpr const char* kLacks = "this node's allowedWishes does not have 'one-per-core'";

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
      {"the wish", "{cpus: 2, smt: one-per-core}", "--allowed-wishes one-per-core", "1 of 1"},
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
      {"--allowed-wishes all", 2, "--allowed-wishes: unknown value 'all', use one of: "},
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

}  // namespace
}  // namespace pinion::ctl
