// The whole pages are files in golden/; here is what must hold for every page.
#include "ctl/top/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ctl/node/core_bar.h"
#include "tests/support/machine.h"
#include "tests/unit/ctl/golden.h"
#include "tests/unit/ctl/sample.h"

namespace pinion::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The words of a column, top to bottom, of the page without colour.
std::vector<std::string> names_in(const std::string& page) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(page)) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos || line.rfind("   CONTAINER", 0) == 0) continue;
    names.push_back(line.substr(3, line.find(' ', 3) - 3));
  }
  return names;
}

struct PageCase {
  std::string golden;
  bool large = false;
  TopView view;
};

TopView view_of(std::size_t width, std::size_t height, bool color, SortKey sort) {
  TopView view;
  view.width = width;
  view.height = height;
  view.color = color;
  view.keys = height > 0;
  view.sort = sort;
  view.clock = "2026-01-01 00:00:00Z";
  return view;
}

std::vector<PageCase> page_cases() {
  return {{"top_2_pipe.txt", false, view_of(0, 0, false, SortKey::kCpu)},
          {"top_2_80x24.txt", false, view_of(80, 24, false, SortKey::kMigrations)},
          {"top_2_80x24_color.txt", false, view_of(80, 24, true, SortKey::kIntrusion)},
          {"top_2_40x10.txt", false, view_of(40, 10, false, SortKey::kName)},
          {"top_256_pipe.txt", true, view_of(0, 0, false, SortKey::kCpu)},
          {"top_256_80x24.txt", true, view_of(80, 24, false, SortKey::kRemote)},
          {"top_256_160x50.txt", true, view_of(160, 50, false, SortKey::kIntrusion)},
          {"top_256_160x50_color.txt", true, view_of(160, 50, true, SortKey::kCpu)}};
}

class TopPage : public testing::TestWithParam<PageCase> {
 protected:
  static v1::Snapshot snapshot() { return GetParam().large ? large_sample() : small_sample(); }
};

TEST_P(TopPage, LooksAsCheckedIn) {
  expect_golden(GetParam().golden, render_top(snapshot(), GetParam().view));
}

TEST_P(TopPage, StaysInsideTheTerminalAtAnySize) {
  TopView view = GetParam().view;
  for (const std::size_t width :
       {std::size_t{1}, std::size_t{10}, std::size_t{33}, std::size_t{80}, std::size_t{200}}) {
    for (const std::size_t height : {std::size_t{1}, std::size_t{3}, std::size_t{24}}) {
      view.width = width;
      view.height = height;
      const auto lines = lines_of(render_top(snapshot(), view));
      EXPECT_LE(lines.size(), height);
      for (const std::string& line : lines) {
        EXPECT_LE(without_color(line).size(), width) << width << "x" << height << ": " << line;
      }
    }
  }
}

TEST_P(TopPage, SaysTheSameWithColor) {
  TopView view = GetParam().view;
  view.color = false;
  const std::string plain = render_top(snapshot(), view);
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  view.color = true;
  EXPECT_EQ(without_color(render_top(snapshot(), view)), plain);
}

INSTANTIATE_TEST_SUITE_P(Pages, TopPage, testing::ValuesIn(page_cases()), [](const auto& one) {
  return one.param.golden.substr(0, one.param.golden.find('.'));
});

TEST(RenderTop, LeavesOutWhatNobodyCounts) {
  const std::string page = render_top(small_sample(), view_of(0, 0, false, SortKey::kCpu));
  for (const char* title : {"MPKI", "IPC", "REMOTE%", "L3M/S"}) {
    EXPECT_THAT(page, Not(HasSubstr(title)));
  }
  for (const char* title : {"CPU", "MIGR/S", "INTR%", "SWCH/S"}) {
    EXPECT_THAT(page, HasSubstr(title));
  }
}

TEST(RenderTop, SortsTheLargestFirstAndTheMissingLast) {
  const auto names = [](SortKey sort) {
    return names_in(render_top(small_sample(), view_of(0, 0, false, sort)));
  };
  const std::string rank = "hpc/wind-rank-0/rank";
  const std::string noise = "default/noise-0/main";
  const std::string dns = "kube-system/coredns-7db6d8ff4d-x2x9k/coredns";
  EXPECT_THAT(names(SortKey::kCpu), ElementsAre(rank, noise, dns));
  EXPECT_THAT(names(SortKey::kMigrations), ElementsAre(noise, rank, dns));
  EXPECT_THAT(names(SortKey::kIntrusion), ElementsAre(rank, noise, dns));
  EXPECT_THAT(names(SortKey::kName), ElementsAre(noise, rank, dns));
  EXPECT_THAT(names(SortKey::kIpc), ElementsAre(noise, rank, dns));
}

TEST(RenderTop, TakesNoNumberForMissing) {
  v1::Snapshot snapshot = small_sample();
  snapshot.mutable_containers(0)->mutable_rates()->set_cpus(
      std::numeric_limits<double>::quiet_NaN());
  const auto names = names_in(render_top(snapshot, view_of(0, 0, false, SortKey::kCpu)));
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names.back(), "default/noise-0/main");
}

TEST(RenderTop, LeavesOutTheFinishedAndNamesTheTroubled) {
  v1::Snapshot snapshot = small_sample();
  snapshot.mutable_containers(0)->set_finished(true);
  snapshot.mutable_containers(2)->set_trouble("cpuset.cpus is 0-1");
  const std::string page = render_top(snapshot, view_of(0, 0, false, SortKey::kCpu));
  EXPECT_THAT(page, Not(HasSubstr("noise-0")));
  EXPECT_THAT(page, HasSubstr("2 containers, 1 exclusive"));
  EXPECT_THAT(page, HasSubstr("1 in trouble (!)"));
  EXPECT_THAT(page, HasSubstr("\n!A hpc/wind-rank-0/rank"));
}

TEST(RenderTop, LetsNoNameWriteToTheTerminal) {
  v1::Snapshot snapshot = small_sample();
  snapshot.mutable_node()->set_name("\x1b[31mnode");
  snapshot.mutable_containers(0)->set_pod("\x1b]0;x\x07");
  snapshot.mutable_containers(1)->set_cpus("\x1b[2J");
  TopView view = view_of(0, 0, false, SortKey::kCpu);
  view.message = "\x1b[2Jgone";
  EXPECT_THAT(render_top(snapshot, view), Not(HasSubstr("\x1b")));
}

TEST(RenderTop, OfNothingIsAPage) {
  EXPECT_THAT(render_top({}, view_of(80, 24, true, SortKey::kCpu)), HasSubstr("no containers"));
}

TEST(CoreBar, BreaksANodeThatIsWiderThanTheTerminal) {
  const auto machine = test_support::machine({.l3s_per_node = 3, .cores_per_l3 = 8});
  const v1::Snapshot snapshot = sample_of(machine, {{.name = "a/b/c", .cpus = "8-15"}});
  EXPECT_THAT(core_bar(snapshot, 80, 9, false), ElementsAre("0 [r....... AAAAAAAA ........]"));
  EXPECT_THAT(core_bar(snapshot, 0, 9, false), ElementsAre("0 [r....... AAAAAAAA ........]"));
  EXPECT_THAT(core_bar(snapshot, 22, 9, false),
              ElementsAre("0 [r....... AAAAAAAA", "   ........]"));
  EXPECT_THAT(core_bar(snapshot, 8, 9, false),
              ElementsAre("0 [r...", "   ....", "   AAAA", "   AAAA", "   ....", "   ....]"));
  EXPECT_THAT(core_bar(snapshot, 8, 3, false),
              ElementsAre("0 [r...", "   ....", "... 16 more CPUs"));
}

TEST(CoreBar, MarksReservedIsolatedAndHeldButIdle) {
  v1::Snapshot snapshot =
      sample_of(test_support::machine({.cores_per_l3 = 8}), {{.name = "a/b/c", .cpus = "2"}});
  snapshot.mutable_containers(0)->set_claim("2-3");
  snapshot.mutable_node()->mutable_sets()->set_isolated("6-7");
  EXPECT_THAT(core_bar(snapshot, 80, 9, false), ElementsAre("0 [r.AA..ii]"));
  EXPECT_THAT(core_bar(snapshot, 80, 9, true).front(),
              StartsWith("0 [\x1b[2mr\x1b[0m\x1b[2m.\x1b[0m\x1b[30;42mA\x1b[0m"));
}

}  // namespace
}  // namespace pinion::ctl
