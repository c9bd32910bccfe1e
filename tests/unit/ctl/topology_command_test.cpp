// The program itself: what it prints and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/tree.h"
#include "tests/unit/ctl/program.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TopologyCommand : public testing::Test {
 protected:
  // `rest` is the shell's text behind the program's name.
  [[nodiscard]] Outcome run(const std::string& rest) const {
    return run_pinionctl(dir_.path(), rest);
  }

 private:
  test_support::TempDir dir_;
};

constexpr const char* kMachine =
    "--topology 'synthetic:package:1 [numa(memory=1GiB)] l3:1(size=8MiB) core:2 pu:2'";

TEST_F(TopologyCommand, DrawsWithTheReservedCpusMarked) {
  const Outcome outcome = run(std::string("topology --reserved-cpus 0-1 ") + kMachine);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("L3 0  8 MiB  [0r 1r] [2  3 ]\n"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(TopologyCommand, GivesTheSameAsData) {
  const Outcome outcome = run(std::string("topology --json --reserved-cpus 0-1 ") + kMachine);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["cpus"]["online"], "0-3");
  EXPECT_EQ(json["cpus"]["reserved"], "0-1");
  EXPECT_EQ(json["cores"][1]["cpus"], "2-3");
  EXPECT_EQ(json["nodes"][0]["memory_bytes"], 1 << 30);
}

TEST_F(TopologyCommand, ShowsThisMachineByDefault) {
  const Outcome outcome = run("topology");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Package 0"));
}

TEST_F(TopologyCommand, EndsWithTwoOnWrongUsage) {
  for (const char* arguments :
       {"", "nonsense", "topology --nonsense", "topology --topology bogus", "topology extra",
        "topology --topology", "topology --reserved-cpus 3-1"}) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_FALSE(outcome.err.empty());
  }
}

TEST_F(TopologyCommand, EndsWithOneOnFailure) {
  for (const std::string& arguments :
       {std::string("--topology xml:/nonexistent/machine.xml"),
        std::string("--topology 'synthetic:nonsense'"), std::string("--topology root:/nonexistent"),
        std::string("--reserved-cpus 4 ") + kMachine}) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run("topology " + arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("pinionctl: "));
  }
}

TEST_F(TopologyCommand, HelpIsNoFailure) {
  for (const char* arguments : {"--help", "topology --help"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Usage: pinionctl"));
  }
}

TEST_F(TopologyCommand, AnUnknownSubcommandIsNamed) {
  const Outcome outcome = run("topologie");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("topologie"));
  EXPECT_THAT(run("").err, HasSubstr("A subcommand is required"));
}

// The picture is larger than a pipe holds, so that the writer really meets the closed end.
TEST_F(TopologyCommand, SurvivesAReaderThatLeaves) {
  const Outcome status =
      run("--help >/dev/null; { '" + kPinionctl +
          "' topology --json --topology 'synthetic:package:8 numa:1 core:64 pu:2';"
          " echo \"ended with $?\" >&2; } | true");
  EXPECT_EQ(status.err, "ended with 0\n");
}

TEST_F(TopologyCommand, SaysWhenTheOutputCannotBeWritten) {
  if (!std::ofstream("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = run(std::string("topology ") + kMachine + " >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("write to standard output"));
}

}  // namespace
}  // namespace pinion::ctl
