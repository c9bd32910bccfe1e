// What the page makes of an answer, and of none: checked on its document in Debian's Chromium.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "proto/pinion/v1/node.pb.h"
#include "tests/page/look.h"

namespace pinion::page_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Page : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = skip_reason();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

json steps(int report_ms, const std::vector<json>& list = {}) {
  return {{"report_ms", report_ms}, {"steps", list}};
}
json click(int ms, const std::string& selector) {
  return {{"ms", ms}, {"click", selector}};
}
json focus(int ms, const std::string& selector) {
  return {{"ms", ms}, {"focus", selector}};
}
json key(int ms, const std::string& name, int times) {
  return {{"ms", ms}, {"key", name}, {"times", times}};
}
json hide(int ms, bool hidden) {
  return {{"ms", ms}, {"hide", hidden}};
}

// Each CPU of the machine is drawn once and carries who holds it, and nobody else.
void expect_holders(const Scene& scene, const json& report) {
  const auto holders = scene.holders();
  ASSERT_EQ(report.at("cpus").size(), scene.machine().pus.size());
  EXPECT_EQ(report.at("cores"), scene.machine().cores.size());
  EXPECT_EQ(report.at("l3s"), scene.machine().l3s.size());
  for (const auto& pu : scene.machine().pus) {
    const auto holder = holders.find(pu.cpu);
    const json& cell = report.at("cpus").at(std::to_string(pu.cpu));
    EXPECT_EQ(cell.at("container"), holder == holders.end() ? "" : holder->second) << pu.cpu;
    EXPECT_EQ(cell.at("tag").get<std::string>().empty(), holder == holders.end()) << pu.cpu;
  }
}

TEST(Scenes, AreSnapshotsOfTheInterface) {
  for (const Scene& scene : {two_cpus(), big(), hostile(), mixed()}) {
    const json written = scene.snapshot(3);
    v1::Snapshot snapshot;
    const auto read = google::protobuf::util::JsonStringToMessage(written.dump(), &snapshot);
    ASSERT_TRUE(read.ok()) << read.ToString();
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string again;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(snapshot, &again, options).ok());
    EXPECT_EQ(json::parse(again), written);
  }
}

TEST_F(Page, DrawsTwoCpusAndSaysWhatIsNotCounted) {
  const Scene scene = two_cpus();
  const Seen seen = look(scene, steps(5000));
  const json& report = seen.report;
  EXPECT_THAT(report.at("errors"), IsEmpty());
  expect_holders(scene, report);
  EXPECT_EQ(report.at("nodes"), 1);
  EXPECT_THAT(report.at("cpus").at("0").at("classes").get<std::string>(), HasSubstr("reserved"));
  EXPECT_EQ(report.at("missing"),
            "Not counted here: cycles, instructions, l3-misses, local-dram, remote-dram (no such "
            "PMU: this machine shows no hardware counters). Left out: IPC, L3 misses, "
            "Remote (one NUMA node).");
  EXPECT_THAT(report.at("heads"), AllOf(Contains("c-migrations"), Not(Contains("c-ipc")),
                                        Not(Contains("c-mpki")), Not(Contains("c-l3"))));
  EXPECT_THAT(report.at("refusals"), ElementsAre(AllOf(HasSubstr("hpc/wind-rank-1"))));
  EXPECT_THAT(seen.document, AllOf(HasSubstr(">coredns<"), HasSubstr(">wind-rank-0<")));
  EXPECT_EQ(report.at("notice"), "");
  EXPECT_EQ(report.at("link"), "live");
}

TEST_F(Page, Draws256CpusAndKeepsEverythingInItsPlace) {
  const Scene scene = big();
  const Seen seen = look(scene, steps(8000));
  const json& report = seen.report;
  EXPECT_THAT(report.at("errors"), IsEmpty());
  expect_holders(scene, report);
  EXPECT_EQ(report.at("cores"), 128);
  EXPECT_EQ(report.at("nodes"), 8);
  EXPECT_EQ(report.at("rows").size(), scene.size());
  EXPECT_EQ(scene.size(), 40U);
  EXPECT_THAT(report.at("heads"),
              AllOf(Contains("c-ipc"), Contains("c-mpki"), Not(Contains("c-l3"))));
  EXPECT_EQ(report.at("missing"), "");
  EXPECT_LE(report.at("scroll_width"), report.at("width"));
  // The figures changed from one answer to the next, and nothing moved.
  EXPECT_GT(report.at("compared"), 1000);
  EXPECT_THAT(report.at("moved"), IsEmpty());
  EXPECT_GE(seen.requests, 7);
}

// Containers of one job have one colour, and no two containers one tag.
TEST_F(Page, GivesEachContainerATagOfItsOwn) {
  const Scene scene = big();
  const json report = look(scene, steps(2500)).report;
  std::map<std::string, std::set<std::string>> tags;
  for (const auto& cell : report.at("cpus")) {
    if (cell.at("container") != "") tags[cell.at("container")].insert(cell.at("tag"));
  }
  std::set<std::string> all;
  for (const auto& [container, own] : tags) {
    EXPECT_EQ(own.size(), 1U) << container;
    EXPECT_TRUE(all.insert(*own.begin()).second) << *own.begin();
  }
  EXPECT_THAT(all, AllOf(Contains("W0"), Contains("W7"), Contains("F11")));
}

TEST_F(Page, MarksIdleIsolatedAndOfflineCpusAndMemoryOnlyNodes) {
  const Scene scene = mixed();
  const json report = look(scene, steps(2500)).report;
  EXPECT_THAT(report.at("errors"), IsEmpty());
  expect_holders(scene, report);
  EXPECT_EQ(report.at("offline"), 2);
  EXPECT_THAT(report.at("chips"),
              ElementsAre(StartsWith("NUMA 2: 0 of 16 GiB"), StartsWith("NUMA 3")));
  int idle = 0;
  int isolated = 0;
  for (const auto& cell : report.at("cpus")) {
    const std::string classes = cell.at("classes");
    idle += classes.find("idle") != std::string::npos ? 1 : 0;
    isolated += classes.find("isolated") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(idle, 6);  // two containers of three CPUs, one on each core
  EXPECT_EQ(isolated, 4);
  EXPECT_THAT(report.at("missing"),
              AllOf(HasSubstr("l3-misses (not permitted: perf_event_paranoid is 3)"),
                    HasSubstr("Left out: L3 misses.")));
}

TEST_F(Page, ShowsMissesInASecondWhereInstructionsAreNotCounted) {
  Scene scene(two_cpus().machine(), topology::CpuSet{0});
  topology::Request request;
  request.cpus = 1;
  scene.place({.name_space = "hpc", .pod = "a", .container = "b"}, request);
  scene.not_counted("instructions", "not supported", "");
  const json report = look(scene, steps(2500)).report;
  EXPECT_THAT(report.at("heads"), AllOf(Contains("c-l3"), Not(Contains("c-mpki"))));
  EXPECT_EQ(
      report.at("missing"),
      "Not counted here: instructions (not supported). Left out: IPC, Remote (one NUMA node).");
}

TEST_F(Page, TakesHostileNamesAsText) {
  const Scene scene = hostile();
  // Each place that shows names is opened as well: the row's detail, the words beside a CPU.
  const Seen seen = look(scene, steps(4000, {click(1500, "#machine [data-container=c1000]"),
                                             focus(2000, "#machine [data-container=c1000]")}));
  const json& report = seen.report;
  EXPECT_THAT(report.at("errors"), IsEmpty());
  EXPECT_EQ(report.at("pwned"), "undefined");
  EXPECT_EQ(report.at("handlers"), 0);
  for (const char* tag : {"img", "iframe", "a", "object", "embed", "video", "link", "base"}) {
    EXPECT_FALSE(report.at("tags").contains(tag)) << tag;
  }
  EXPECT_EQ(report.at("tags").at("script"), 2);   // the page's and the probe's
  EXPECT_EQ(report.at("tags").value("b", 0), 1);  // of the line of missing events
  EXPECT_EQ(report.at("details"), 1);
  EXPECT_THAT(report.at("tip"), HasSubstr("<iframe srcdoc="));

  std::set<std::string> shown;
  for (const auto& row : report.at("rows")) shown.insert(row.at("name"));
  const json snapshot = scene.snapshot(0);
  for (const auto& container : snapshot.at("containers")) {
    EXPECT_THAT(shown, Contains(container.at("name").get<std::string>()));
  }
  EXPECT_THAT(seen.document, Not(HasSubstr("<img")));
  EXPECT_THAT(seen.document, HasSubstr("&lt;img src=x onerror=window.pwned='pod'&gt;"));
  EXPECT_THAT(report.at("missing"), HasSubstr("<img src=x onerror=window.pwned='event'>"));
  EXPECT_LE(report.at("scroll_width"), report.at("width"));
}

TEST_F(Page, SaysThatTheAgentWasNeverThere) {
  const Seen seen = look([](int) { return Answer{.status = 500, .body = "no"}; }, steps(60'000));
  const json& report = seen.report;
  EXPECT_THAT(report.at("notice"),
              AllOf(HasSubstr("Agent not reachable since "), HasSubstr("HTTP 500")));
  EXPECT_EQ(report.at("link"), "not reachable");
  EXPECT_EQ(report.at("waiting"), "Waiting for the agent");
  // At 0, 2, 6, 14, 29, 44 and 59 seconds.
  EXPECT_GE(seen.requests, 5);
  EXPECT_LE(seen.requests, 9);
}

TEST_F(Page, KeepsThePictureOfAnAgentThatWentAway) {
  const Scene scene = two_cpus();
  const auto answer = [&scene](int n) {
    return n < 4 ? answer_of(scene, n) : Answer{.status = 500, .body = ""};
  };
  const json report = look(answer, steps(20'000)).report;
  EXPECT_THAT(report.at("notice"), AllOf(HasSubstr("Agent not reachable since "),
                                         HasSubstr("Shown is what it said then.")));
  expect_holders(scene, report);
}

TEST_F(Page, TakesUpAgainWhenTheAgentIsBack) {
  const Scene scene = two_cpus();
  const auto answer = [&scene](int n) {
    return n < 3 || n > 5 ? answer_of(scene, n) : Answer{.status = 503, .body = ""};
  };
  const Seen seen = look(answer, steps(30'000));
  EXPECT_EQ(seen.report.at("notice"), "");
  EXPECT_EQ(seen.report.at("link"), "live");
  EXPECT_GE(seen.requests, 12);
}

// Answers that are no Snapshot, or one of an agent that knows nothing yet.
TEST_F(Page, LivesWithOddAnswers) {
  struct Case {
    const char* body;
    const char* notice;
  };
  const std::vector<Case> cases = {
      {"", "not JSON"},
      {"{\"node\":", "not JSON"},
      {"[]", "cannot be drawn"},
      {"null", "cannot be drawn"},
      {"{}", "cannot be drawn"},
      {R"({"node":{}})", ""},
      {R"({"node":{"machine":{"cpus":[{}]},"sets":{"online":"0-4294967295"}}})", ""},
      {R"({"node":{"machine":{"cpus":[{"node":-1}]}},"containers":[{},{"id":"x","exclusive":true,)"
       R"("cpus":"7-9,x","rates":{"cpus":"NaN"}}]})",
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    const json report =
        look([&c](int) { return Answer{.status = 200, .body = c.body}; }, steps(2500)).report;
    EXPECT_THAT(report.at("errors"), IsEmpty());
    if (std::string(c.notice).empty()) {
      EXPECT_EQ(report.at("notice"), "");
    } else {
      EXPECT_THAT(report.at("notice"), HasSubstr(c.notice));
    }
  }
}

TEST_F(Page, AsksNothingWhileHidden) {
  const Scene scene = two_cpus();
  const Seen seen = look(scene, steps(36'200, {hide(3500, true), hide(33'500, false)}));
  // Four before, and three or four after it came to light again.
  EXPECT_GE(seen.requests, 6);
  EXPECT_LE(seen.requests, 10);
}

TEST_F(Page, ClickingACoreHighlightsItsRow) {
  const Scene scene = big();
  const json report =
      look(scene, steps(4000, {click(1500, "#machine [data-container=c1003]")})).report;
  std::vector<std::string> picked;
  for (const auto& row : report.at("rows")) {
    if (row.at("picked") == true) picked.push_back(row.at("id"));
  }
  EXPECT_THAT(picked, ElementsAre("c1003"));
  EXPECT_EQ(report.at("details"), 1);
  for (const auto& cell : report.at("cpus")) {
    const std::string classes = cell.at("classes");
    EXPECT_EQ(classes.find("picked") != std::string::npos, cell.at("container") == "c1003");
  }
}

TEST_F(Page, SortsByAColumn) {
  const Scene scene = big();
  const json report = look(scene, steps(4000, {click(1500, "#heads .c-name button"),
                                               click(1600, "#heads .c-name button")}))
                          .report;
  EXPECT_THAT(report.at("sorts"), Contains("descending"));
  std::vector<std::string> names;
  for (const auto& row : report.at("rows")) names.push_back(row.at("name"));
  EXPECT_EQ(names.size(), 40U);
  EXPECT_TRUE(std::is_sorted(names.rbegin(), names.rend()));
  EXPECT_NE(names.front(), names.back());
}

TEST_F(Page, ArrowKeysMoveFromCpuToCpu) {
  const Scene scene = big();
  const json report =
      look(scene, steps(4000, {focus(1500, "#machine [tabindex='0']"), key(1600, "ArrowRight", 2),
                               key(1700, "ArrowDown", 1)}))
          .report;
  // Core 0 is CPUs 0 and 128, core 1 is 1 and 129; below them is the next L3's row or the sibling.
  EXPECT_EQ(report.at("focus"), "129");
  EXPECT_EQ(report.at("stops"), 1);
  EXPECT_THAT(report.at("tip"), HasSubstr("CPU 129"));
}

TEST_F(Page, RemembersTwoMinutes) {
  const Scene scene = two_cpus();
  const Seen seen = look(scene, steps(200'000));
  EXPECT_GE(seen.requests, 190);
  const std::string spark = seen.report.at("rows").at(0).at("spark");
  const auto points =
      std::count(spark.begin(), spark.end(), 'L') + std::count(spark.begin(), spark.end(), 'M');
  EXPECT_GE(points, 110);
  EXPECT_LE(points, 122);
}

}  // namespace
}  // namespace pinion::page_test
