#include "cluster/sim/fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/sim/runs_file.h"

namespace pinion::sim {
namespace {

// Run times made by the model itself: bandwidth 0.125, so that 16 processes want twice what there
// is. Pinned: stream 300 * 2, calc 500. Not pinned and alone: stream 1.2 * 300 * 1, calc 2 * 500.
constexpr const char* kRuns = R"(
tasks: 16
nodes: 4
kinds: {stream: memory, calc: cpu}
experiments:
  - name: loose
    pinned: false
    runs: [[stream, 0, 360], [stream, 1000, 360], [calc, 3000, 1000], [calc, 5000, 1000]]
  - name: pinned
    pinned: true
    runs: [[stream, 0, 600], [stream, 1000, 600], [calc, 3000, 500], [calc, 5000, 500]]
)";

TEST(Fit, FindsTheRunTimesThatTheModelMade) {
  const auto data = parse_runs_file(kRuns);
  ASSERT_TRUE(data) << data.error().text;
  const Fit found = fit(*data);
  EXPECT_LT(found.error, 0.01);
  EXPECT_LT(found.cross_error.value(), 0.03);
  EXPECT_NEAR(found.model.kind("calc").loose, 2, 0.1);
  ASSERT_EQ(found.by_kind.size(), 4U);
  EXPECT_EQ(found.by_kind[0].experiment + " " + found.by_kind[0].kind, "loose calc");
  EXPECT_NEAR(found.by_kind[0].fitted, 1000, 20);
  // The same again.
  EXPECT_EQ(fit(*data).model.bandwidth, found.model.bandwidth);
}

TEST(Fit, PredictsNoRunThatIsTheOnlyOneOfItsKind) {
  const auto data = parse_runs_file(R"(
tasks: 16
kinds: {stream: memory, calc: cpu, rest: cpu}
experiments: [{name: a, pinned: true, runs: [[calc, 0, 500], [stream, 0, 600], [stream, 1000, 610]]}]
)");
  ASSERT_TRUE(data) << data.error().text;
  const Fit found = fit(*data);
  ASSERT_EQ(found.by_kind.size(), 2U);
  EXPECT_FALSE(found.by_kind[0].predicted);
  EXPECT_NEAR(found.by_kind[1].predicted.value(), 605, 1);
  EXPECT_NEAR(found.cross_error.value(), 10 / 605.0, 0.001);  // without that of calc
  EXPECT_FALSE(found.model.kinds.contains("rest"));
}

TEST(Fit, SaysWhatEndedAtTheEndOfItsRange) {
  // Faster where it is not pinned, which `loose` cannot say.
  const auto data = parse_runs_file(R"(
kinds: {calc: cpu}
experiments:
  - {name: loose, runs: [[calc, 0, 300], [calc, 1000, 300]]}
  - {name: pinned, pinned: true, runs: [[calc, 0, 600], [calc, 1000, 600]]}
)");
  ASSERT_TRUE(data) << data.error().text;
  const auto bounds = fit(*data).bounds;
  const auto loose = std::find_if(bounds.begin(), bounds.end(), [](const FitBound& bound) {
    return bound.parameter == "loose of calc";
  });
  ASSERT_NE(loose, bounds.end());
  EXPECT_EQ(loose->value, 1);
}

TEST(RunsFile, SaysWhatIsWrong) {
  for (const char* bad :
       {"- 5", "tasks: 4", "{kinds: {a: cpu}, experiments: 5}",
        "{kinds: {a: disk}, experiments: []}", "{kinds: {a: cpu}, experiments: []}",
        "{kinds: {a: cpu}, experiments: [{runs: [[b, 0, 1]]}]}",
        "{kinds: {a: cpu}, experiments: [{runs: [[a, 0, 0]]}]}",
        "{kinds: {a: cpu}, experiments: [{runs: [[a, 0]]}]}",
        "{kinds: {a: cpu}, experiments: [{pinned: yes, runs: [[a, 0, 1]]}]}"}) {
    const auto data = parse_runs_file(bad);
    ASSERT_FALSE(data) << bad;
    EXPECT_EQ(data.error().text.substr(0, 7), "line 1:") << data.error().text;
  }
}

}  // namespace
}  // namespace pinion::sim
