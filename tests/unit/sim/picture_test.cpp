#include "cluster/sim/picture.h"

#include <gmock/gmock.h>

#include <regex>

#include "cluster/sim/node_machine.h"
#include "cluster/sim/pool.h"
#include "cluster/sim/report.h"
#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Picture, HasEachJobOnce) {
  Picture picture;
  Pool pool(4, QueueRule::kFcfs);
  for (const JobRecord& record : play({job_of(1, 0, 100, 4), job_of(2, 20, 40, 2)}, pool).records) {
    picture.ended(record);
  }
  picture.busy(0, 4);
  picture.busy(100'000, 2);
  picture.busy(140'000, 0);
  const std::string svg = picture.svg(4, nullptr);
  EXPECT_THAT(svg, HasSubstr("<title>1: 4 processors, 0 to 100 s</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>2: 2 processors, 100 to 140 s</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("CPUs of the first nodes")));
  EXPECT_EQ(count(svg, "<svg"), 1U);
  EXPECT_TRUE(std::regex_search(
      svg, std::regex(R"re(width="1000\.0" height="([0-9.]+)" viewBox="0 0 1000\.0 \1")re")));
  EXPECT_EQ(count(svg, ">1</text>") + count(svg, ">2</text>"), 2U);  // their names, on the bars
}

// The rows of so many pixels below `top` in which the job has a bar, where CPUs are drawn.
std::vector<int> rows_of(const std::string& svg, const std::string& job, double top,
                         double pixels) {
  const std::string drawn = svg.substr(svg.find("CPUs of the first nodes"));
  const std::regex bar("y=\"([0-9.]+)\" [^>]*><title>" + job + ":");
  std::vector<int> rows;
  for (std::sregex_iterator at(drawn.begin(), drawn.end(), bar), end; at != end; ++at) {
    rows.push_back(static_cast<int>((std::stod((*at)[1]) - top) / pixels + 0.5));
  }
  return rows;
}

// Each job is drawn at each CPU that it had: a row of 4 pixels for each CPU of the node.
TEST(Picture, ShowsWhichCpusEachJobHas) {
  NodeMachine machine({.queue = QueueRule::kFcfs});
  ASSERT_TRUE(machine.add(node_report(0)));
  Picture picture;
  const auto played =
      play({job_of(1, 0, 100, 3), job_of(2, 0, 50, 8), job_of(3, 60, 10, 8)}, machine);
  for (const JobRecord& record : played.records) picture.ended(record);
  ASSERT_EQ(played.records.size(), 3U);
  const std::string svg = picture.svg(16, &machine.fleet());
  std::smatch name;
  ASSERT_TRUE(std::regex_search(svg, name, std::regex("y=\"([0-9.]+)\">node-0<")));
  for (const JobRecord& record : played.records) {
    std::vector<int> cpus;
    for (const int cpu : record.pieces.at(0).cpus) cpus.push_back(cpu);
    EXPECT_EQ(rows_of(svg, std::to_string(record.job.number), std::stod(name[1]) - 10, 4), cpus);
  }
}

TEST(Picture, ShowsTheCpusOfAnElasticJobWhileItHasThem) {
  NodeMachine machine({.queue = QueueRule::kFcfs});
  ASSERT_TRUE(machine.add(node_report(0)));
  JobRecord record{.handle = 1, .job = job_of(7, 0, 100, 1), .start = 0, .end = 100'000};
  record.pieces = {{.node = 0, .tasks = 1, .cpus = {3}}};
  record.stays = {{.piece = record.pieces[0], .from = 0, .to = 100'000},
                  {.piece = {.node = 0, .tasks = 1, .cpus = {5}}, .from = 0, .to = 50'000},
                  {.piece = {.node = 0, .tasks = 1, .cpus = {5}}, .from = 60'000, .to = 80'000}};
  Picture picture;
  picture.ended(record);
  const std::string svg = picture.svg(16, &machine.fleet());
  std::smatch name;
  ASSERT_TRUE(std::regex_search(svg, name, std::regex("y=\"([0-9.]+)\">node-0<")));
  EXPECT_THAT(rows_of(svg, "7", std::stod(name[1]) - 10, 4), testing::ElementsAre(3, 5, 5));
  const std::string cpus = svg.substr(svg.find("CPUs of the first nodes"));
  EXPECT_EQ(count(cpus, "width=\"445.0\" height=\"3.5\""), 1U);  // half of the time
}

// The bars of utilisation, and those of the jobs, begin where the first job is submitted.
TEST(Picture, HasOneAxisFromTheFirstSubmission) {
  Picture picture;
  Pool pool(4, QueueRule::kFcfs);
  JobList source({job_of(1, 5'000'000, 100, 4), job_of(2, 5'000'050, 100, 4)});
  Simulation simulation(source, pool, {});
  simulation.on_end = [&](const JobRecord& record) { picture.ended(record); };
  simulation.on_moment = [&](Ms now, std::int64_t busy) { picture.busy(now, busy); };
  ASSERT_TRUE(simulation.run());
  const std::string svg = picture.svg(4, nullptr);
  EXPECT_EQ(count(svg, ">5000000 s<"), 2U);
  EXPECT_EQ(count(svg, "text-anchor=\"end\">5000200 s<"), 2U);  // not cut at the right
  EXPECT_THAT(svg, Not(HasSubstr(">0 s<")));
  EXPECT_EQ(count(svg, "class=\"u\""), 200U);  // seconds
  EXPECT_THAT(svg, HasSubstr("<rect x=\"90.0\" y=\"28.0\""));
}

TEST(Picture, ShowsHowLargeAnElasticJobIs) {
  JobRecord record{.handle = 1, .job = job_of(7, 0, 100, 4), .start = 0, .end = 100'000};
  record.sizes = {{.from = 0, .workers = 8}, {.from = 50'000, .workers = 4}};
  Picture picture;
  picture.ended(record);
  const std::string svg = picture.svg(8, nullptr);
  EXPECT_EQ(count(svg, "<title>7: 4 processors, 0 to 100 s, workers 8@0;4@50</title>"), 2U);
  EXPECT_THAT(svg, HasSubstr("width=\"445.0\" height=\"15.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"445.0\" height=\"7.5\""));
  EXPECT_THAT(svg, HasSubstr(">7: 8</text>"));
  EXPECT_THAT(svg, HasSubstr(">4</text>"));
}

TEST(Picture, IsNoLargerForALongTrace) {
  Picture picture;
  for (int i = 0; i < 5000; ++i) {
    const Ms at = Ms{i} * 977'000;
    picture.ended(
        {.handle = static_cast<Handle>(i), .job = job_of(i, 0, 1, 1), .start = at, .end = at + 1});
    picture.busy(at, i % 7);
  }
  const std::string svg = picture.svg(7, nullptr);
  EXPECT_EQ(count(svg, "</title>"), Picture::kMostJobs);
  EXPECT_LE(count(svg, "class=\"u\""), Picture::kMostTimes);
  EXPECT_GE(count(svg, "class=\"u\""), Picture::kMostTimes / 2);
}

TEST(Report, SecondsHaveNoNeedlessDigits) {
  EXPECT_EQ(seconds_text(12'000), "12");
  EXPECT_EQ(seconds_text(250), "0.25");
  EXPECT_EQ(seconds_text(1'001), "1.001");
}

TEST(Report, AJobIsALineOfTheTable) {
  JobRecord record{.handle = 1, .job = job_of(7, 1, 2, 4, 9), .start = 3000, .end = 5500};
  record.job.user = "ada";
  EXPECT_EQ(csv_line(record, -1), "7,1,3,5.5,4,9,ada,0,,,,,0,\n");
  record.pieces = {{.node = 0, .tasks = 2, .cpus = {}}, {.node = 1, .tasks = 2, .cpus = {}}};
  EXPECT_EQ(csv_line(record, 3), "7,1,3,5.5,4,9,ada,0,2,2,3,,0,\n");
  record.sizes = {{.from = 3000, .workers = 8}, {.from = 4250, .workers = 4}};
  EXPECT_EQ(csv_line(record, -1), "7,1,3,5.5,4,9,ada,0,4,,,,1,8@3;4@4.25\n");
}

}  // namespace
}  // namespace pinion::sim
