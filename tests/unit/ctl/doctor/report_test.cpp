#include "ctl/doctor/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {
namespace {

const Finding kGood = good("nri", "the socket answers");
const Finding kWarning = warning("clock", "not synchronized", "start an NTP client");
const Finding kError = error("agent", "does not answer", "look at its log");
const Finding kUnknown = unknown("perf", {.code = Errc::kDenied, .text = "read it: no"});

TEST(DoctorReport, ExitCodeIsForScripts) {
  EXPECT_EQ(report_exit_code({kGood}), 0);
  EXPECT_EQ(report_exit_code({kGood, kWarning}), 1);
  EXPECT_EQ(report_exit_code({kError, kGood}), 1);
  EXPECT_EQ(report_exit_code({kGood, kUnknown}), 2);
  EXPECT_EQ(report_exit_code({kUnknown, kWarning}), 1);
}

TEST(DoctorReport, ShowsTheWorstFirstAndWhatToDo) {
  EXPECT_EQ(draw_report({kGood, kUnknown, kWarning, kError}, /*all=*/false),
            "error    agent                   does not answer\n"
            "                                 -> look at its log\n"
            "warning  clock                   not synchronized\n"
            "                                 -> start an NTP client\n"
            "unknown  perf                    read it: no\n"
            "                                 -> run it as root, on the node\n"
            "1 error, 1 warning, 1 unknown, 1 good\n");
}

TEST(DoctorReport, ShowsWhatIsGoodWhenAsked) {
  EXPECT_EQ(draw_report({kGood}, /*all=*/false), "0 errors, 0 warnings, 0 unknown, 1 good\n");
  EXPECT_EQ(draw_report({kGood}, /*all=*/true),
            "good     nri                     the socket answers\n"
            "0 errors, 0 warnings, 0 unknown, 1 good\n");
}

TEST(DoctorReport, KeepsATerminalSafe) {
  const std::string text = draw_report({error("agent", "a\x1b[2Jb", "")}, /*all=*/false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DoctorReport, GivesEverythingAsJson) {
  const auto document = nlohmann::json::parse(report_json({kGood, kWarning}));
  EXPECT_EQ(
      document,
      nlohmann::json(
          {{"findings",
            {{{"id", "nri"}, {"severity", "good"}, {"what", "the socket answers"}, {"advice", ""}},
             {{"id", "clock"},
              {"severity", "warning"},
              {"what", "not synchronized"},
              {"advice", "start an NTP client"}}}}}));
}

// Names come from outside, as bytes.
TEST(DoctorReport, JsonTakesBytesThatAreNoText) {
  EXPECT_NE(report_json({error("agent", "\xff", "")}), "");
}

}  // namespace
}  // namespace pinion::ctl::doctor
