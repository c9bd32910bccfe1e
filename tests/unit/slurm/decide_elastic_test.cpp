// What is decided for jobs whose number of nodes the extender chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/slurm/decide.h"

namespace pinion::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Phase = Placeholder::Phase;

constexpr std::int64_t kMoment = 1'000'000;
constexpr const char* kAttempt = "12-500-0-0";

// One to three nodes with two CPUs each.
Job elastic_job() {
  Job job;
  job.id = 12;
  job.submit_s = 500;
  job.held = true;
  job.batch = true;
  job.requeues = true;
  job.nodes = 1;
  job.max_nodes = 3;
  job.cpus = 2;
  job.comment = "elastic";
  job.admin_comment = "pinion=wait";
  return job;
}

Job running_on(std::vector<std::string> nodes) {
  Job job = elastic_job();
  job.state = Job::State::kRunning;
  job.held = false;
  job.nodes = static_cast<int>(nodes.size());
  job.max_nodes = 0;
  job.batch_host = nodes.front();
  job.on = std::move(nodes);
  job.admin_comment = "pinion=wait;since=1;sizes=1-3x2";
  return job;
}

Job helper_on(const std::string& node) {
  Job helper;
  helper.id = 77;
  helper.state = Job::State::kRunning;
  helper.admin_comment = "pinion-grows=12";
  helper.on = {node};
  return helper;
}

NodeCount count_of(int stated, std::optional<int> wanted = {}) {
  NodeCount count;
  count.name = "wind-12-500-0-0-nodes";
  count.uid = "u";
  count.version = "7";
  count.job = 12;
  count.attempt = kAttempt;
  count.suspended = false;
  count.stated = stated;
  count.wanted = wanted;
  return count;
}

Placeholder pod(int index, const std::string& node) {
  Placeholder made;
  made.attempt = kAttempt;
  made.name = "wind-12-500-0-0-nodes-" + std::to_string(index) + "-cores";
  made.uid = "uid-" + std::to_string(index);
  made.job = 12;
  made.index = index;
  made.size = 0;
  made.cpus = 2;
  made.phase = node.empty() ? Phase::kWaiting : Phase::kRunning;
  made.node = node;
  made.cpu_list = node.empty() ? "" : "0-1";
  return made;
}

View view_of(std::vector<Job> jobs, std::vector<Placeholder> pods, std::vector<NodeCount> counts) {
  View view{
      .jobs = std::move(jobs), .nodes = {}, .placeholders = std::move(pods), .now_s = kMoment};
  for (const char* name : {"n1", "n2", "n3"}) {
    view.nodes.push_back({.name = name, .out = {}, .features = {}, .partitions = {}});
  }
  for (NodeCount& count : counts) {
    // It was told what there is, so that only what else is done is seen.
    for (const Placeholder& one : view.placeholders) {
      ++count.told.active;
      const auto& on = view.jobs.front().on;
      const bool in_use = on.empty() || std::find(on.begin(), on.end(), one.node) != on.end();
      if (one.phase == Phase::kRunning && in_use) ++count.told.ready;
    }
  }
  view.counts = std::move(counts);
  return view;
}

std::vector<Action> actions(const View& view) {
  Rules rules;
  rules.cluster = "wind";
  rules.elastic = true;
  return decide(rules, view);
}

std::vector<std::string> texts(const View& view) {
  std::vector<std::string> all;
  for (const Action& action : actions(view)) all.push_back(to_text(action));
  return all;
}

TEST(DecideElastic, AJobAsksForItsNodesFirst) {
  Job job = elastic_job();
  job.comment = "elastic priority=5";
  const auto made = actions(view_of({job}, {}, {}));
  ASSERT_EQ(made.size(), 1U);
  const auto& ask = std::get<Ask>(made.front());
  EXPECT_EQ(ask.name, "wind-12-500-0-0-nodes");
  EXPECT_EQ(ask.shape.nodes, 1);
  EXPECT_EQ(ask.shape.cpus, 2);
  EXPECT_EQ(ask.most, 3);
  EXPECT_FALSE(ask.moldable);
  EXPECT_EQ(ask.wishes.at("priority"), "5");
}

TEST(DecideElastic, OneThatKeepsItsSizeAsksOnce) {
  struct Case {
    const char* name;
    void (*change)(View& view);
  };
  for (const Case& one :
       {Case{"as its user says", [](View& view) { view.jobs[0].comment = "moldable"; }},
        Case{"Slurm resizes none", [](View& view) { view.keeps_size = "no slurmdbd"; }},
        Case{"not this one", [](View& view) { view.jobs[0].batch = false; }},
        Case{"nor an element of an array", [](View& view) { view.jobs[0].array = 11; }}}) {
    View view = view_of({elastic_job()}, {}, {});
    one.change(view);
    const auto made = actions(view);
    ASSERT_EQ(made.size(), 1U) << one.name;
    EXPECT_TRUE(std::get<Ask>(made.front()).moldable) << one.name;
  }
}

TEST(DecideElastic, WhatTheExtenderWouldNotTakeIsToldToTheUser) {
  Job job = elastic_job();
  job.comment = "elastic priority=high";
  EXPECT_THAT(texts(view_of({job}, {}, {})),
              ElementsAre("tell 12: elastic priority=high [pinion: priority is to be a number from "
                          "-1000000000 to 1000000000]"));
}

TEST(DecideElastic, WhereItIsOffAJobHasItsLeastNumberOfNodesAndSaysSo) {
  View view = view_of({elastic_job()}, {}, {});
  auto made = decide({.cluster = "wind"}, view);
  ASSERT_EQ(made.size(), 1U);
  Placeholder placed = std::get<Create>(made.front()).pod;
  EXPECT_EQ(placed.size, 1);
  placed.phase = Phase::kRunning;
  placed.node = "n1";
  view.placeholders = {placed};
  made = decide({.cluster = "wind"}, view);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(std::get<Place>(made.front()).comment,
            "elastic [pinion: has the least number of nodes: elastic jobs are off here]");
}

TEST(DecideElastic, ItWaitsForTheExtender) {
  NodeCount count = count_of(1);
  count.suspended = true;
  EXPECT_THAT(
      texts(view_of({elastic_job()}, {}, {count})),
      ElementsAre(HasSubstr("tell 12: elastic [pinion: waits: for 1 to 3 nodes with 2 CPUs")));
  EXPECT_THAT(texts(view_of({elastic_job()}, {pod(0, "n1")}, {count})),
              Contains("delete wind-12-500-0-0-nodes-0-cores"))
      << "it was not to start after all";
}

TEST(DecideElastic, ItStartsWithWhatTheExtenderGives) {
  EXPECT_THAT(
      texts(view_of({elastic_job()}, {}, {count_of(2, 2)})),
      ElementsAre("create wind-12-500-0-0-nodes-0-cores", "create wind-12-500-0-0-nodes-1-cores"));
  EXPECT_THAT(texts(view_of({elastic_job()}, {pod(0, "n1"), pod(1, "")}, {count_of(2, 2)})),
              IsEmpty());
  const auto placed =
      actions(view_of({elastic_job()}, {pod(0, "n1"), pod(1, "n3")}, {count_of(2, 2)}));
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_THAT(std::get<Place>(placed.front()).nodes, ElementsAre("n1", "n3"));
  EXPECT_EQ(std::get<Place>(placed.front()).mark.sizes, (Sizes{.least = 1, .most = 3, .cpus = 2}));
  // Only the first came in time.
  EXPECT_THAT(texts(view_of({elastic_job()}, {pod(0, "n1"), pod(1, "")}, {count_of(1)})),
              ElementsAre("delete wind-12-500-0-0-nodes-1-cores", "place 12 on n1"));
}

TEST(DecideElastic, WhatThereIsIsReported) {
  NodeCount count = count_of(2, 2);
  View view = view_of({elastic_job()}, {pod(0, "n1"), pod(1, "")}, {count});
  view.counts[0].told = {};
  EXPECT_THAT(texts(view), ElementsAre("report 1 of 2 nodes of wind-12-500-0-0-nodes"));
}

TEST(DecideElastic, ItLeavesNodesButNeverItsBatchHost) {
  const std::vector<Placeholder> three = {pod(0, "n1"), pod(1, "n2"), pod(2, "n3")};
  const auto made = actions(view_of({running_on({"n2", "n1", "n3"})}, three, {count_of(3, 1)}));
  ASSERT_EQ(made.size(), 1U);
  const auto& shrink = std::get<Shrink>(made.front());
  EXPECT_THAT(shrink.nodes, ElementsAre("n2"));
  EXPECT_EQ(shrink.declined.nodes, 3);
  // It has left them.
  EXPECT_THAT(
      texts(view_of({running_on({"n2"})}, three, {count_of(3, 1)})),
      ElementsAre("delete wind-12-500-0-0-nodes-0-cores", "delete wind-12-500-0-0-nodes-2-cores",
                  "acknowledge 1 nodes of wind-12-500-0-0-nodes"));
}

TEST(DecideElastic, ItGrowsByAJobOfOurs) {
  const std::vector<Placeholder> two = {pod(0, "n1"), pod(1, "n3")};
  EXPECT_THAT(texts(view_of({running_on({"n1"})}, {pod(0, "n1")}, {count_of(2, 2)})),
              ElementsAre("create wind-12-500-0-0-nodes-1-cores"));
  const auto grows = actions(view_of({running_on({"n1"})}, two, {count_of(2, 2)}));
  ASSERT_EQ(grows.size(), 1U);
  const auto& grow = std::get<Grow>(grows.front());
  EXPECT_EQ(grow.node, "n3");
  EXPECT_EQ(grow.cpus, 2);
  EXPECT_EQ(to_text(grow.mark), "pinion=wait;since=1;sizes=1-3x2;cpus=n1:0-1/n3:0-1");
  EXPECT_THAT(texts(view_of({running_on({"n1"}), helper_on("n3")}, two, {count_of(2, 2)})),
              ElementsAre("join 77 with 12"));
}

TEST(DecideElastic, ItDoesNotGrowWhereItsCoresDoNotFitIntoItsMark) {
  std::vector<Placeholder> two = {pod(0, "n1"), pod(1, "n3")};
  two[1].cpu_list = std::string(kLongestMark, '1');
  EXPECT_THAT(texts(view_of({running_on({"n1"})}, two, {count_of(2, 2)})),
              ElementsAre("tell 12: elastic [pinion: its cores on 2 nodes are more than Slurm can "
                          "note on a job: ask for fewer nodes (-N)]"));
}

TEST(DecideElastic, AHelperThatNobodyNeedsGoes) {
  const std::vector<Placeholder> one = {pod(0, "n1")};
  Job pending = helper_on("n3");
  pending.state = Job::State::kPending;
  pending.on.clear();
  struct Case {
    const char* name;
    View view;
  };
  for (const Case& its :
       {Case{"no more nodes are wanted",
             view_of({running_on({"n1"}), helper_on("n3")}, one, {count_of(1)})},
        Case{"its placeholder is gone", view_of({running_on({"n1"}), helper_on("n3")},
                                                {pod(0, "n1"), pod(1, "")}, {count_of(2, 2)})},
        Case{"the job is over", view_of({helper_on("n3")}, {}, {})},
        Case{"it waits", view_of({running_on({"n1"}), pending}, {pod(0, "n1"), pod(1, "")},
                                 {count_of(2, 2)})}}) {
    EXPECT_THAT(texts(its.view), Contains("cancel 77")) << its.name;
    EXPECT_THAT(texts(its.view), Not(Contains("join 77 with 12"))) << its.name;
  }
}

TEST(DecideElastic, AMoldableOneKeepsItsNodes) {
  NodeCount count = count_of(2, 1);
  count.moldable = true;
  EXPECT_THAT(texts(view_of({running_on({"n1", "n2"})}, {pod(0, "n1"), pod(1, "n2")}, {count})),
              ElementsAre("acknowledge 2 nodes of wind-12-500-0-0-nodes"));
}

TEST(DecideElastic, ARequeuedOneMayHaveOtherNodesAgain) {
  Job job = running_on({"n1", "n2", "n3"});
  job.state = Job::State::kPending;
  job.held = true;
  job.on.clear();
  job.cpus = 6;
  job.restarts = 1;
  job.submit_s = 900;
  const View view = view_of({job}, {pod(0, "n1")}, {count_of(3)});
  const auto made = actions(view);
  ASSERT_EQ(made.size(), 3U);
  const auto& ask = std::get<Ask>(made[0]);
  EXPECT_EQ(ask.name, "wind-12-900-1-0-nodes");
  EXPECT_EQ(ask.shape.nodes, 1);
  EXPECT_EQ(ask.shape.cpus, 2);
  EXPECT_EQ(ask.most, 3);
  EXPECT_EQ(to_text(made[1]), "delete wind-12-500-0-0-nodes-0-cores");
  EXPECT_EQ(to_text(made[2]), "give up wind-12-500-0-0-nodes");
}

TEST(DecideElastic, OneThatEndsGivesAllBackWhenItIsOver) {
  Job job = running_on({"n1"});
  job.state = Job::State::kEnding;
  EXPECT_THAT(texts(view_of({job}, {pod(0, "n1")}, {count_of(1)})), IsEmpty());
  job.state = Job::State::kOver;
  EXPECT_THAT(texts(view_of({job}, {pod(0, "n1")}, {count_of(1)})),
              ElementsAre("delete wind-12-500-0-0-nodes-0-cores", "give up wind-12-500-0-0-nodes"));
}

TEST(DecideElastic, OneThatLosesANodeRunsAgain) {
  EXPECT_THAT(texts(view_of({running_on({"n1", "n2"})}, {pod(0, "n1")}, {count_of(2)})),
              Contains("requeue 12: its cores were taken away"));
}

}  // namespace
}  // namespace pinion::slurm
