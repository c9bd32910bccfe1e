#include "cluster/slurm/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Phase = Placeholder::Phase;

constexpr std::int64_t kNow = 1'000'000;

// Two nodes with two CPUs each, held.
Job held_job() {
  Job job;
  job.id = 12;
  job.submit_s = 500;
  job.held = true;
  job.requeues = true;
  job.nodes = 2;
  job.cpus = 4;
  job.tasks = 4;
  job.admin_comment = "pinion=wait";
  return job;
}

// What stands in a placeholder for these nodes.
std::string list_of(const std::vector<std::string>& names) {
  Job job;
  job.id = 1;
  job.held = true;
  job.admin_comment = "pinion=wait";
  View view{.jobs = {job}, .nodes = {}, .placeholders = {}, .now_s = kNow};
  for (const std::string& name : names) {
    view.nodes.push_back({.name = name, .out = {}, .features = {}, .partitions = {}});
  }
  return std::get<Create>(decide({}, view).at(0)).pod.list;
}

Placeholder pod(int index, Phase phase, const std::string& node = "") {
  Placeholder made;
  made.attempt = "12-500-0-0";
  made.name = "wind-" + made.attempt + "-" + std::to_string(index);
  made.uid = "uid-" + std::to_string(index);
  made.job = 12;
  made.index = index;
  made.size = 2;
  made.cpus = 2;
  made.phase = phase;
  made.node = node;
  made.list = list_of({"n1", "n2"});
  return made;
}

std::vector<Placeholder> running() {
  return {pod(0, Phase::kRunning, "n2"), pod(1, Phase::kRunning, "n1")};
}

const std::vector<Node>& idle_nodes() {
  static const std::vector<Node> nodes = {
      {.name = "n1", .out = {}, .features = {}, .partitions = {}},
      {.name = "n2", .out = {}, .features = {}, .partitions = {}}};
  return nodes;
}

View view_of(std::vector<Job> jobs, std::vector<Placeholder> pods, std::int64_t now = kNow) {
  return {.jobs = std::move(jobs),
          .nodes = idle_nodes(),
          .placeholders = std::move(pods),
          .placeholders_current = true,
          .now_s = now};
}

std::vector<Action> actions(const Job& job, const std::vector<Placeholder>& pods,
                            std::int64_t now = kNow) {
  Rules rules;
  rules.cluster = "wind";
  return decide(rules, view_of({job}, pods, now));
}

std::vector<std::string> texts(const std::vector<Action>& actions) {
  std::vector<std::string> all;
  for (const Action& action : actions) all.push_back(to_text(action));
  return all;
}

TEST(Decide, AHeldJobGetsItsPlaceholders) {
  const auto made = actions(held_job(), {});
  EXPECT_THAT(texts(made), ElementsAre("create wind-12-500-0-0-0", "create wind-12-500-0-0-1"));
  const auto& first = std::get<Create>(made.at(0));
  EXPECT_EQ(first.pod.cpus, 2);
  EXPECT_EQ(first.pod.size, 2);
  EXPECT_EQ(first.shape.memory_mib, 2048);
  EXPECT_THAT(*first.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(first.nodes, std::get<Create>(made.at(1)).nodes) << "one list for both";
}

TEST(Decide, PlaceholdersGoOnlyWhereSlurmStartsTheJob) {
  Job job = held_job();
  job.nodes = 1;
  View view = view_of({job}, {});
  view.nodes[0].out = "IDLE+DRAIN (disk)";
  auto made = decide({.cluster = "wind"}, view);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_THAT(*std::get<Create>(made.front()).nodes, ElementsAre("n2"));
  view.nodes[0].out = "";
  view.nodes[0].features = {"gpu"};
  view.jobs[0].constraint = "gpu";
  made = decide({.cluster = "wind"}, view);
  EXPECT_THAT(*std::get<Create>(made.front()).nodes, ElementsAre("n1"));
}

TEST(Decide, AJobForWhichNoNodeIsLeftIsToldWhy) {
  View view = view_of({held_job()}, {});
  view.nodes[0].out = "IDLE+DRAIN (disk)";
  EXPECT_THAT(texts(decide({}, view)),
              ElementsAre("tell 12: [pinion: waits: needs 2 nodes, Slurm has 1 for it: n1 is "
                          "IDLE+DRAIN (disk)]"));
}

TEST(Decide, AJobForWhichTooFewNodesAreLeftGivesUpItsCoresAndItsTurn) {
  View view = view_of({held_job()}, {pod(0, Phase::kRunning, "n2"), pod(1, Phase::kWaiting)});
  view.nodes[0].out = "IDLE+DRAIN (disk)";
  const auto made = decide({}, view);
  EXPECT_THAT(texts(made),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  const auto& hold = std::get<Hold>(made.front());
  EXPECT_EQ(to_text(hold.mark), "pinion=wait;attempt=1;after=1000000") << "not its fault";
  EXPECT_THAT(*hold.comment, HasSubstr("waits: needs 2 nodes, Slurm has 1 for it"));
  view.jobs[0].admin_comment = to_text(hold.mark);
  view.jobs[0].comment = *hold.comment;
  view.placeholders.clear();
  EXPECT_THAT(decide({}, view), IsEmpty()) << "and gets none before there are enough";
}

TEST(Decide, APlaceholderOnANodeThatSlurmDoesNotUseIsReplaced) {
  View view = view_of({held_job()}, running());
  view.nodes[0].out = "DOWN";
  const auto made = decide({}, view);
  EXPECT_THAT(texts(made),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  EXPECT_EQ(std::get<Hold>(made.front()).comment,
            "[pinion: Slurm cannot start it on n1: n1 is DOWN]");
  view.jobs[0].held = false;
  view.jobs[0].pinned = {"n1", "n2"};
  EXPECT_EQ(texts(decide({}, view)).front(), "hold 12") << "nor is it waited for when let go";
  view.jobs[0].state = Job::State::kRunning;
  view.jobs[0].on = {"n1", "n2"};
  EXPECT_THAT(decide({}, view), IsEmpty()) << "a job that runs is Slurm's business";
}

TEST(Decide, ANodeThatComesBackIsAChanceForWhoWaits) {
  View view = view_of({held_job()}, {pod(0, Phase::kWaiting), pod(1, Phase::kWaiting)});
  view.jobs[0].admin_comment = "pinion=wait;attempt=7";
  for (Placeholder& one : view.placeholders) one.attempt = "12-500-0-7";
  EXPECT_THAT(decide({}, view), IsEmpty());
  view.nodes.push_back({.name = "n3", .out = {}, .features = {}, .partitions = {}});
  const auto made = decide({}, view);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(std::get<Hold>(made.front()).mark.after_s, kNow) << "without a pause";
  view.placeholders[0].node = "n1";
  EXPECT_THAT(decide({}, view), IsEmpty()) << "it is on its way already";
}

TEST(Decide, WhereNodesComeAndGoPlaceholdersHaveTimeToGetTheirs) {
  View view = view_of({held_job()}, {pod(0, Phase::kWaiting), pod(1, Phase::kWaiting)});
  view.jobs[0].admin_comment = "pinion=wait;attempt=2;after=1000000";
  for (Placeholder& one : view.placeholders) {
    one.attempt = "12-500-0-2";
    one.list = "of others";
  }
  EXPECT_THAT(decide({}, view), IsEmpty());
  view.now_s = kNow + 60;
  const auto made = decide({}, view);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(to_text(std::get<Hold>(made.front()).mark), "pinion=wait;attempt=3;after=1000060");
  for (Placeholder& one : view.placeholders) one.list.clear();
  EXPECT_THAT(decide({}, view), IsEmpty()) << "nobody knows what it was made for";
}

TEST(Decide, ALossAfterManyNewListsIsTheFirst) {
  Job job = held_job();
  job.admin_comment = "pinion=wait;attempt=9";
  Placeholder lost = pod(0, Phase::kLost, "n1");
  lost.attempt = "12-500-0-9";
  const auto made = actions(job, {lost});
  EXPECT_EQ(to_text(std::get<Hold>(made.front()).mark),
            "pinion=wait;attempt=10;failed=1;after=1000000");
}

TEST(Decide, OfSeveralPartitionsEachAttemptBeginsWithAnotherOneAndStaysThere) {
  View view = view_of({held_job()}, {});
  view.nodes = {{.name = "n1", .out = {}, .features = {}, .partitions = {"a", "b"}},
                {.name = "n2", .out = {}, .features = {}, .partitions = {"a", "b"}},
                {.name = "n3", .out = {}, .features = {}, .partitions = {"b", "small"}}};
  view.jobs[0].partitions = {"small", "a", "b"};
  const auto partition = [&](int attempt) {
    view.jobs[0].admin_comment = "pinion=wait;attempt=" + std::to_string(attempt);
    return std::get<Create>(decide({}, view).at(0)).pod.partition;
  };
  EXPECT_EQ(partition(0), "a") << "the first that has enough";
  EXPECT_EQ(partition(1), "a");
  EXPECT_EQ(partition(2), "b");
  EXPECT_EQ(partition(3), "a");
  // It got nodes of b. Another one comes to a.
  view.jobs[0].admin_comment = "pinion=wait";
  view.placeholders = {pod(0, Phase::kRunning, "n2"), pod(1, Phase::kRunning, "n3")};
  for (Placeholder& one : view.placeholders) one.partition = "b";
  EXPECT_THAT(texts(decide({}, view)), ElementsAre("place 12 on n2,n3"));
  for (Placeholder& one : view.placeholders) one.partition = "a";
  EXPECT_EQ(texts(decide({}, view)).front(), "hold 12") << "n3 is not in a";
}

TEST(Decide, WhatIsMissingIsMadeAndOthersAreWaitedFor) {
  EXPECT_THAT(texts(actions(held_job(), {pod(1, Phase::kWaiting)})),
              ElementsAre("create wind-12-500-0-0-0"));
  EXPECT_THAT(actions(held_job(), {pod(0, Phase::kRunning, "n1"), pod(1, Phase::kWaiting, "n2")}),
              IsEmpty());
}

TEST(Decide, AJobOfWhichAPlaceholderIsRefusedGivesBackWhatItHas) {
  Job job = held_job();
  const Hold hold = given_up({.cluster = "wind"}, job, "exceeded quota", kNow);
  EXPECT_EQ(to_text(hold.mark), "pinion=wait;attempt=1;after=1000030");
  EXPECT_EQ(hold.comment, "[pinion: waits: exceeded quota]");
  job.admin_comment = to_text(hold.mark);
  job.comment = *hold.comment;
  EXPECT_THAT(texts(actions(job, {pod(0, Phase::kWaiting)})),
              ElementsAre("delete wind-12-500-0-0-0"));
  EXPECT_THAT(texts(actions(job, {}, kNow + 30)),
              ElementsAre("create wind-12-500-0-1-0", "create wind-12-500-0-1-1"));
  job.admin_comment = "pinion=wait;attempt=50";
  EXPECT_EQ(given_up({}, job, "", kNow).mark.after_s, kNow + 30) << "a quota may be free soon";
}

TEST(Decide, AJobWhoseNodesSlurmRefusesWaitsLongerEachTime) {
  Job job = held_job();
  EXPECT_EQ(to_text(not_placed({}, job, "no such node", kNow).mark),
            "pinion=wait;attempt=1;failed=1;after=1000030");
  job.admin_comment = "pinion=wait;attempt=3;failed=3";
  const Hold hold = not_placed({}, job, "no such node", kNow);
  EXPECT_EQ(to_text(hold.mark), "pinion=wait;attempt=4;failed=4;after=1000120");
  EXPECT_EQ(hold.comment, "[pinion: waits: no such node]");
}

// Jobs 1 .. count of one user each, held.
std::vector<Job> crowd(int count, const std::string& user) {
  std::vector<Job> jobs;
  for (int i = 0; i < count; ++i) {
    Job job = held_job();
    job.id = static_cast<std::uint32_t>(1 + i);
    job.user = user.empty() ? "u" + std::to_string(i) : user;
    job.nodes = job.cpus = job.tasks = 1;
    jobs.push_back(job);
  }
  return jobs;
}

std::vector<Action> decided(const std::vector<Job>& jobs,
                            const std::vector<Placeholder>& pods = {}) {
  return decide({.cluster = "wind", .most_waiting = 8}, view_of(jobs, pods));
}

TEST(Decide, WhoWaitsBehindOthersIsTold) {
  const auto many = texts(decided(crowd(10, "")));
  ASSERT_EQ(many.size(), 10);
  EXPECT_EQ(many[7], "create wind-8-500-0-0-0");
  EXPECT_EQ(many[8], "tell 9: [pinion: waits: behind other jobs that wait for cores]");
  EXPECT_EQ(decided(crowd(100, "")).size(), 8U + 5U) << "and the others in later rounds";
}

TEST(Decide, OneUserKeepsNoOtherOut) {
  auto jobs = crowd(10, "a");
  Job last = jobs.back();
  last.id = 11;
  last.user = "b";
  jobs.push_back(last);
  const auto all = texts(decided(jobs));
  ASSERT_EQ(all.size(), 2U + 5U + 1U);
  EXPECT_EQ(all[1], "create wind-2-500-0-0-0");
  EXPECT_EQ(all[2], "tell 3: [pinion: waits: behind other jobs of its user that wait for cores]");
  EXPECT_EQ(all.back(), "create wind-11-500-0-0-0");
}

// Two jobs of 1,000 nodes each, of one user each, where Slurm has 1,500.
TEST(Decide, PlaceholdersNameOnlySoManyNodesAtOneTime) {
  auto jobs = crowd(4, "");
  for (Job& job : jobs) job.nodes = job.cpus = 1000;
  View view = view_of(jobs, {});
  view.nodes.clear();
  for (int i = 0; i < 1500; ++i) {
    view.nodes.push_back(
        {.name = "n" + std::to_string(i), .out = {}, .features = {}, .partitions = {}});
  }
  const auto all = texts(decide({.cluster = "wind"}, view));
  ASSERT_EQ(all.size(), 2U * 1000U + 2U);
  EXPECT_EQ(all[2000], "tell 3: [pinion: waits: behind other jobs that wait for cores]");
  view.jobs[1].user = view.jobs[0].user;
  EXPECT_EQ(texts(decide({.cluster = "wind"}, view)).at(1000),
            "tell 2: [pinion: waits: behind other jobs of its user that wait for cores]");
}

TEST(Decide, ThoseOfAJobThatNamesNoNumberOfNodesCountAsWell) {
  auto jobs = crowd(3, "");
  for (Job& job : jobs) job.tasks = job.cpus = 1000;
  View view = view_of(jobs, {});
  view.nodes.clear();
  for (int i = 0; i < 1500; ++i) {
    view.nodes.push_back(
        {.name = "n" + std::to_string(i), .out = {}, .features = {}, .partitions = {}});
  }
  Rules rules{.cluster = "wind"};
  rules.shape.most_cpus = 1;
  const std::string behind = "tell 3: [pinion: waits: behind other jobs that wait for cores]";
  const auto made = decide(rules, view);
  ASSERT_EQ(made.size(), 2U * 1000U + 1U);
  EXPECT_EQ(to_text(made.back()), behind);
  // The same when they are there.
  for (std::size_t i = 0; i < 2000; ++i) {
    view.placeholders.push_back(std::get<Create>(made[i]).pod);
    view.placeholders.back().uid = std::to_string(i);
  }
  EXPECT_THAT(texts(decide(rules, view)), ElementsAre(behind));
}

// Each wants another list of nodes, and there are too few for it.
TEST(Decide, OnlySoManyListsOfNodesAreMadeInOneRound) {
  auto jobs = crowd(1000, "a");
  for (Job& job : jobs) job.constraint = "none-" + std::to_string(job.id);
  Job last = crowd(1, "b").front();
  last.id = 2000;
  last.constraint = "";
  jobs.push_back(last);
  View view = view_of(jobs, {});
  EXPECT_EQ(texts(decide({}, view)).back(), "create slurm-2000-500-0-0-0");
  // The last one of the same user gets its turn after some rounds.
  view.jobs.back().user = "a";
  int rounds = 0;
  while (!std::holds_alternative<Create>(decide({}, view).back())) {
    ASSERT_LT(++rounds, 200);
    ++view.now_s;
  }
  EXPECT_GT(rounds, 0);
}

TEST(Decide, JobsThatFitNoNodeKeepNoOtherOut) {
  const auto jobs = crowd(9, "");
  std::vector<Placeholder> pods;
  for (int i = 0; i < 8; ++i) {
    Placeholder made = pod(0, Phase::kWaiting);
    made.job = jobs[static_cast<std::size_t>(i)].id;
    made.attempt = std::to_string(made.job) + "-500-0-0";
    made.size = made.cpus = 1;
    made.never = true;
    made.why = "fits no node";
    pods.push_back(made);
  }
  const auto all = texts(decided(jobs, pods));
  ASSERT_EQ(all.size(), 9);
  EXPECT_EQ(all[0], "tell 1: [pinion: waits: fits no node]");
  EXPECT_EQ(all[8], "create wind-9-500-0-0-0");
}

TEST(Decide, AJobThatIsTooWideForEachNodeIsToldToAskForMoreNodes) {
  std::vector<Placeholder> never = {pod(0, Phase::kWaiting), pod(1, Phase::kWaiting)};
  for (Placeholder& one : never) {
    one.never = true;
    one.why = "fits no node";
  }
  Job job = held_job();
  EXPECT_THAT(texts(actions(job, never)),
              ElementsAre("tell 12: [pinion: waits: no node can give it 2 CPUs, submit it with -N "
                          "for more nodes: fits no node]"));
  job.tasks = 2;
  job.cpus_per_task = 2;
  EXPECT_THAT(texts(actions(job, never)), ElementsAre("tell 12: [pinion: waits: fits no node]"))
      << "a task is on one node";
}

TEST(Decide, AJobWhoseCoresDoNotFitIntoItsMarkIsNotPlaced) {
  auto pods = running();
  pods[0].cpu_list = std::string(kLongestMark, '1');
  const auto made = actions(held_job(), pods);
  EXPECT_THAT(texts(made),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  EXPECT_EQ(*std::get<Hold>(made.front()).comment,
            "[pinion: waits: its cores on 1 nodes are more than Slurm can note on a job: ask for "
            "fewer nodes (-N)]");
  EXPECT_EQ(to_text(std::get<Hold>(made.front()).mark),
            "pinion=wait;attempt=1;failed=1;after=1000030");
  pods[0].cpu_list.resize(kLongestMark - std::string("pinion=wait;since=1000000;cpus=n2:").size());
  EXPECT_THAT(texts(actions(held_job(), pods)), ElementsAre("place 12 on n1,n2"));
}

TEST(Decide, WithAllOfThemTheJobIsPlacedOnTheirNodes) {
  auto pods = running();
  pods[0].cpu_list = "4-5";
  Job job = held_job();
  job.comment = "profile=cpu [pinion: waits: x]";
  const auto made = actions(job, pods);
  ASSERT_EQ(made.size(), 1);
  const auto& place = std::get<Place>(made.front());
  EXPECT_THAT(place.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(place.cpus, 2);
  EXPECT_EQ(to_text(place.mark), "pinion=wait;since=1000000;cpus=n2:4-5");
  EXPECT_EQ(place.comment, "profile=cpu");
}

TEST(Decide, ARequeuedJobIsNotPlacedInTheSecondOfItsEnd) {
  Job job = held_job();
  job.restarts = 1;
  std::vector<Placeholder> pods = running();
  for (Placeholder& one : pods) one.attempt = "12-500-1-0";
  EXPECT_THAT(actions(job, pods, job.submit_s + 1), IsEmpty());
  EXPECT_THAT(texts(actions(job, pods, job.submit_s + 2)), ElementsAre("place 12 on n1,n2"));
  job.restarts = 0;
  for (Placeholder& one : pods) one.attempt = "12-500-0-0";
  EXPECT_THAT(texts(actions(job, pods, job.submit_s)), ElementsAre("place 12 on n1,n2"));
}

TEST(Decide, NothingIsPlacedOnOldNews) {
  View view = view_of({held_job()}, running());
  view.placeholders_current = false;
  EXPECT_THAT(decide({.cluster = "wind"}, view), IsEmpty());
}

TEST(Decide, AReleasedJobIsLeftToSlurmForAWhile) {
  Job job = held_job();
  job.held = false;
  job.pinned = {"n1", "n2"};
  job.admin_comment = "pinion=wait;since=" + std::to_string(kNow - 100);
  job.reason = "AssocGrpCpuLimit";
  EXPECT_THAT(actions(job, running()), IsEmpty());
  const auto made = actions(job, running(), kNow + 100);
  EXPECT_THAT(texts(made),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  const auto& hold = std::get<Hold>(made.front());
  EXPECT_EQ(hold.mark.attempt, 1);
  EXPECT_THAT(*hold.comment, HasSubstr("AssocGrpCpuLimit"));
}

TEST(Decide, AReleasedJobWithoutItsPlaceholdersIsHeldAgain) {
  Job job = held_job();
  job.held = false;
  EXPECT_THAT(texts(actions(job, {})), ElementsAre("hold 12"));
  job.pinned = {"n1"};
  EXPECT_THAT(texts(actions(job, running())), ElementsAre("hold 12")) << "on other nodes";
  EXPECT_THAT(texts(actions(job, {pod(0, Phase::kRunning, "n1")})), ElementsAre("hold 12"));
}

TEST(Decide, ALostPlaceholderTakesTheOthersWithIt) {
  const auto made =
      actions(held_job(), {pod(0, Phase::kLost, "n1"), pod(1, Phase::kRunning, "n2")});
  EXPECT_THAT(texts(made),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  EXPECT_EQ(to_text(std::get<Hold>(made.front()).mark),
            "pinion=wait;attempt=1;failed=1;after=1000000");
}

TEST(Decide, ARunningJobKeepsItsPlaceholders) {
  Job job = held_job();
  job.held = false;
  job.state = Job::State::kRunning;
  job.on = {"n1", "n2"};
  EXPECT_THAT(actions(job, running()), IsEmpty());
  job.on = {"n1"};
  EXPECT_THAT(texts(actions(job, running())), ElementsAre("delete wind-12-500-0-0-0"))
      << "it has become smaller";
}

TEST(Decide, ARunningJobThatLosesOneEndsOrIsRunAgain) {
  Job job = held_job();
  job.held = false;
  job.state = Job::State::kRunning;
  job.on = {"n1", "n2"};
  const std::vector<Placeholder> pods = {pod(0, Phase::kLost, "n2"), pod(1, Phase::kRunning, "n1")};
  EXPECT_THAT(texts(actions(job, pods)), ElementsAre("requeue 12: its cores were taken away"));
  job.requeues = false;
  EXPECT_THAT(texts(actions(job, pods)), ElementsAre("cancel 12"));
}

TEST(Decide, ARequeuedJobGetsNewPlaceholders) {
  Job job = held_job();
  job.restarts = 1;
  job.submit_s = 900;
  job.held = false;
  job.begin_s = kNow + 120;
  EXPECT_THAT(texts(actions(job, running())),
              ElementsAre("hold 12", "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
  job.held = true;
  EXPECT_THAT(texts(actions(job, {})),
              ElementsAre("create wind-12-900-1-0-0", "create wind-12-900-1-0-1"))
      << "Slurm's own begin is not waited for";
}

TEST(Decide, JobsThatAreOverOrGoneHaveNone) {
  Job job = held_job();
  job.state = Job::State::kOver;
  auto pods = running();
  pods[1].leaving = true;
  EXPECT_THAT(texts(actions(job, pods)), ElementsAre("delete wind-12-500-0-0-0"));
  job.id = 13;
  EXPECT_THAT(texts(actions(job, pods)), ElementsAre("delete wind-12-500-0-0-0"));
}

TEST(Decide, WhoMayNotStartYetHasNone) {
  Job job = held_job();
  job.begin_s = kNow + 1;
  EXPECT_THAT(actions(job, {}), IsEmpty());
  job.begin_s = kNow;
  EXPECT_EQ(actions(job, {}).size(), 2);
  job.dependent = true;
  EXPECT_THAT(actions(job, {}), IsEmpty());
  job.dependent = false;
  job.admin_comment = "pinion=wait;after=1000001";
  EXPECT_THAT(actions(job, {}), IsEmpty());
  job.admin_comment = "pinion=user-held";
  EXPECT_THAT(actions(job, {}), IsEmpty());
  job.comment = "released-by-user";
  EXPECT_EQ(actions(job, {}).size(), 2);
}

TEST(Decide, JobsOfOthersAreLeftAlone) {
  Job job = held_job();
  job.admin_comment = "maintenance";
  EXPECT_THAT(actions(job, {}), IsEmpty());
  job.held = false;
  job.state = Job::State::kRunning;
  job.on = {"n1"};
  EXPECT_THAT(actions(job, {}), IsEmpty());
}

TEST(Decide, WhyItWaitsIsToldOnce) {
  Job job = held_job();
  std::vector<Placeholder> pods = {pod(0, Phase::kWaiting), pod(1, Phase::kWaiting)};
  pods[1].why = "room for 1";
  EXPECT_THAT(texts(actions(job, pods)), ElementsAre("tell 12: [pinion: waits: room for 1]"));
  job.comment = "[pinion: waits: room for 1]";
  EXPECT_THAT(actions(job, pods), IsEmpty());
}

TEST(Decide, WhatCannotBePlacedIsToldAndHasNone) {
  Job job = held_job();
  job.comment = "profile=gpu";
  EXPECT_THAT(texts(actions(job, running())),
              ElementsAre(HasSubstr("tell 12: profile=gpu [pinion: profile gpu is unknown"),
                          "delete wind-12-500-0-0-0", "delete wind-12-500-0-0-1"));
}

TEST(Decide, PlaceholdersThatDoNotFitTheJobAnyMoreAreReplaced) {
  Job job = held_job();
  job.cpus = 6;
  EXPECT_THAT(texts(actions(job, running())),
              ElementsAre("hold 12", HasSubstr("delete"), HasSubstr("delete")));
  auto pods = running();
  pods[1].node = "n2";
  EXPECT_THAT(texts(actions(held_job(), pods)),
              ElementsAre("hold 12", HasSubstr("delete"), HasSubstr("delete")))
      << "both on one node";
}

TEST(Decide, OnlySoManyJobsWaitAtOneTime) {
  Rules rules;
  rules.most_waiting = 2;
  View view = view_of({}, {});
  for (std::uint32_t id = 1; id <= 4; ++id) {
    Job job = held_job();
    job.id = id;
    job.submit_s = 10 - id;
    job.nodes = 1;
    job.user = std::to_string(id);
    view.jobs.push_back(job);
  }
  EXPECT_THAT(texts(decide(rules, view)),
              ElementsAre("create slurm-4-6-0-0-0", "create slurm-3-7-0-0-0",
                          "tell 2: [pinion: waits: behind other jobs that wait for cores]",
                          "tell 1: [pinion: waits: behind other jobs that wait for cores]"));
}

TEST(Decide, AnArraysElementsAreToldApartAsTheyMayRun) {
  Job rest = held_job();
  rest.array = 12;
  rest.elements = "1,3-9%3";
  rest.most_elements = 3;
  Job first = held_job();
  first.id = 13;
  first.array = 12;
  first.element = 0;
  View view = view_of({rest, first}, {});
  EXPECT_THAT(texts(decide({}, view)),
              ElementsAre("split 12_1", "split 12_3", HasSubstr("create"), HasSubstr("create")));
  view.jobs[0].dependent = true;
  EXPECT_THAT(texts(decide({}, view)), ElementsAre(HasSubstr("create"), HasSubstr("create")));
}

TEST(Decide, WhoEndsKeepsWhatItHas) {
  Job job = held_job();
  job.held = false;
  job.state = Job::State::kEnding;
  EXPECT_THAT(actions(job, running()), IsEmpty());
  job.restarts = 1;
  EXPECT_THAT(actions(job, running()), IsEmpty()) << "requeued, and not over yet";
}

}  // namespace
}  // namespace pinion::slurm
