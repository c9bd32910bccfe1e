// The page at each size and in both colour schemes: nothing sticks out, everything can be read. The
// pictures are left in the build folder for a human to look at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/page/look.h"
#include "tests/support/places.h"

namespace pinion::page_test {
namespace {

using nlohmann::json;
using testing::IsEmpty;

struct Size {
  const char* name;
  int width;
  int height;
  int report_ms;
};
struct Case {
  const char* name;
  Scene (*scene)();
  const char* click = "";  // what the reader clicks, and puts the focus on
  int answers = 1000;      // before the agent goes away
};

constexpr Size kSizes[] = {{"desk", 1280, 800, 12'000},  {"full", 1280, 2600, 12'000},
                           {"wide", 1920, 1080, 12'000}, {"tablet", 820, 1800, 12'000},
                           {"phone", 390, 3200, 12'000}, {"narrow", 320, 1500, 12'000}};
constexpr Case kCases[] = {{"two", two_cpus},
                           {"big", big},
                           {"hostile", hostile},
                           {"mixed", mixed},
                           {"picked", big, "#machine [data-container=c1015]"},
                           {"gone", big, "", 6}};

class Pictures : public testing::TestWithParam<std::tuple<Case, Size, bool>> {};

TEST_P(Pictures, FitAndCanBeRead) {
  const std::string reason = skip_reason();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const auto& [which, size, dark] = GetParam();
  const std::string folder = test_support::built_program("../tests/page/pictures");
  std::filesystem::create_directories(folder);
  const std::string file =
      folder + "/" + which.name + "-" + size.name + (dark ? "-dark" : "-light") + ".png";
  std::filesystem::remove(file);
  const View view = {.width = size.width, .height = size.height, .dark = dark, .screenshot = file};
  json scenario = {{"report_ms", size.report_ms}, {"steps", json::array()}};
  if (*which.click != 0) {
    scenario["steps"].push_back({{"ms", 3000}, {"click", which.click}});
    scenario["steps"].push_back({{"ms", 3500}, {"focus", which.click}});
  }
  const Scene scene = which.scene();
  const int answers = which.answers;
  const auto answer = [&scene, answers](int n) {
    return n < answers ? answer_of(scene, n) : Answer{.status = 500, .body = ""};
  };
  const Seen seen = look(answer, scenario, view);
  const json& report = seen.report;
  ASSERT_TRUE(report.contains("errors"));
  EXPECT_THAT(report.at("errors"), IsEmpty());
  EXPECT_EQ(report.at("width"), size.width);
  EXPECT_EQ(report.at("dark"), dark);
  EXPECT_LE(report.at("scroll_width"), report.at("width"));
  EXPECT_THAT(report.at("pale"), IsEmpty());
  EXPECT_THAT(report.at("moved"), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(file));
}

std::string name_of(const testing::TestParamInfo<Pictures::ParamType>& info) {
  const auto& [which, size, dark] = info.param;
  return std::string(which.name) + "_" + size.name + (dark ? "_dark" : "_light");
}

// The few that ctest runs; the others take minutes: page_test --gtest_filter='All/*'.
INSTANTIATE_TEST_SUITE_P(Some, Pictures,
                         testing::Combine(testing::Values(kCases[0], kCases[1]),
                                          testing::Values(kSizes[0], kSizes[4]),
                                          testing::Values(false)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(All, Pictures,
                         testing::Combine(testing::ValuesIn(kCases), testing::ValuesIn(kSizes),
                                          testing::Bool()),
                         name_of);

}  // namespace
}  // namespace pinion::page_test
