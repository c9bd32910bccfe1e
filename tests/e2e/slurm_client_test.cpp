// The product's calls of Slurm, and its job_submit.lua, with a real Slurm and without Kubernetes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <thread>

#include "cluster/slurm/shape.h"
#include "cluster/slurm/slurm.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/ok.h"
#include "tests/e2e/slurm_lab.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using slurm::Job;
using State = slurm::Job::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SlurmClient : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto lab = SlurmLab::start();
    if (lab) {
      lab_ = std::move(*lab);
      setenv("SLURM_CONF", lab_->conf().c_str(), 1);  // for the client's own commands
    } else {
      why_none_ = lab.error();
    }
  }
  static void TearDownTestSuite() { lab_.reset(); }
  void SetUp() override {
    if (!lab_ && why_none_.code == Errc::kNotFound) GTEST_SKIP() << why_none_.text;
    ASSERT_TRUE(lab_) << why_none_.text;
  }
  void TearDown() override {
    if (HasFailure() && lab_) std::cerr << lab_->logs() << '\n';
    if (lab_) lab_->cancel_all();
  }

  static SlurmLab& lab() { return *lab_; }
  slurm::Slurm client_{std::chrono::seconds(30)};

  Job submitted(std::vector<std::string> options, int sleep_s = 300) {
    const auto id = lab().submit(std::move(options), sleep_s);
    EXPECT_TRUE(ok(id));
    return id ? lab().job(*id) : Job();
  }
  slurm::Place placing(const Job& job, std::vector<std::string> nodes, int cpus) {
    slurm::Place place;
    place.job = job.id;
    place.nodes = std::move(nodes);
    place.cpus = cpus;
    place.at_once = job.restarts > 0;
    place.mark.attempt = 1;
    place.mark.cpus["node-1"] = "0-1";
    place.comment = "mine [pinion: a, \"b\"; c]";
    return place;
  }

 private:
  static std::unique_ptr<SlurmLab> lab_;
  static Error why_none_;
};

std::unique_ptr<SlurmLab> SlurmClient::lab_;
Error SlurmClient::why_none_;

TEST_F(SlurmClient, AJobIsHeldThenPlacedAndRunsThere) {
  Job job = submitted({"--nodes=2", "--ntasks=4", "--comment=profile=cpu"});
  EXPECT_EQ(job.state, State::kPending);
  EXPECT_TRUE(job.held);
  EXPECT_TRUE(job.requeues);
  EXPECT_EQ(job.admin_comment, "pinion=wait");
  EXPECT_EQ(job.comment, "profile=cpu");
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.cpus, 4);
  ASSERT_TRUE(ok(client_.place(job, placing(job, {"node-1", "node-2"}, 2))));
  ASSERT_TRUE(lab().wait_for(job.id, State::kRunning)) << lab().show(job.id);
  EXPECT_THAT(lab().show(job.id), HasSubstr("Nodes=node-[1-2] CPU_IDs=0-1")) << "two on each";
  job = lab().job(job.id);
  EXPECT_THAT(job.on, ElementsAre("node-1", "node-2"));
  EXPECT_EQ(job.admin_comment, "pinion=wait;attempt=1;cpus=node-1:0-1");
  EXPECT_EQ(job.comment, "mine [pinion: a, \"b\"; c]");
}

TEST_F(SlurmClient, AJobThatNamesNoNumberOfNodesRunsOnAsManyAsItNeeds) {
  const std::vector<std::string> names = {"node-0", "node-1", "node-2"};
  for (const auto& [options, nodes] : {std::pair<std::vector<std::string>, int>{{"--ntasks=8"}, 2},
                                       {{"--ntasks=9", "--ntasks-per-node=4"}, 3}}) {
    Job job = submitted(options);
    const auto shape = slurm::shape_of(job, {.most_cpus = 4});
    ASSERT_TRUE(ok(shape));
    EXPECT_EQ(shape->nodes, nodes);
    EXPECT_EQ(shape->cpus, 4);
    ASSERT_TRUE(
        ok(client_.place(job, placing(job, {names.begin(), names.begin() + nodes}, shape->cpus))));
    ASSERT_TRUE(lab().wait_for(job.id, State::kRunning)) << lab().show(job.id);
    job = lab().job(job.id);
    EXPECT_EQ(job.on.size(), static_cast<std::size_t>(nodes));
    EXPECT_EQ(*slurm::shape_of(job, {.most_cpus = 4}), *shape) << "it stays so when it is requeued";
    lab().cancel_all();
  }
}

TEST_F(SlurmClient, ARequeuedJobIsHeldAndRunsAgainAtOnce) {
  Job job = submitted({"--nodes=1"});
  ASSERT_TRUE(ok(client_.place(job, placing(job, {"node-0"}, 1))));
  ASSERT_TRUE(lab().wait_for(job.id, State::kRunning));
  ASSERT_TRUE(ok(client_.requeue(lab().job(job.id))));
  ASSERT_TRUE(lab().wait_for(job.id, State::kPending)) << lab().show(job.id);
  job = lab().job(job.id);
  EXPECT_TRUE(job.held);
  EXPECT_EQ(job.restarts, 1);
  slurm::Hold hold;
  hold.comment = "x";
  ASSERT_TRUE(ok(client_.hold(job, hold)));
  job = lab().job(job.id);
  EXPECT_TRUE(job.held);
  EXPECT_THAT(job.pinned, IsEmpty());
  EXPECT_EQ(job.comment, "x");
  ASSERT_TRUE(ok(client_.place(job, placing(job, {"node-2"}, 1))));
  ASSERT_TRUE(lab().wait_for(job.id, State::kRunning));
  EXPECT_THAT(lab().job(job.id).on, ElementsAre("node-2"));
  ASSERT_TRUE(ok(client_.cancel(lab().job(job.id), {.job = job.id, .comment = "lost"})));
  ASSERT_TRUE(lab().wait_for(job.id, State::kOver));
  EXPECT_EQ(lab().job(job.id).comment, "lost");
}

TEST_F(SlurmClient, ElementsOfAnArrayAreToldApart) {
  const Job rest = submitted({"--array=0-2%2"});
  EXPECT_EQ(rest.array, rest.id);
  EXPECT_EQ(rest.elements, "0-2%2");
  EXPECT_EQ(rest.most_elements, 2);
  slurm::Split split;
  split.element = 1;
  ASSERT_TRUE(ok(client_.split(rest, split)));
  const auto jobs = client_.jobs();
  ASSERT_TRUE(ok(jobs));
  int elements = 0;
  for (const Job& job : *jobs) {
    if (job.array != rest.id || !job.element) continue;
    ++elements;
    EXPECT_EQ(job.element, 1);
    EXPECT_TRUE(job.held);
    ASSERT_TRUE(ok(client_.place(job, placing(job, {"node-0"}, 1))));
    EXPECT_TRUE(lab().wait_for(job.id, State::kRunning));
  }
  EXPECT_EQ(elements, 1);
  EXPECT_TRUE(lab().job(rest.id).held) << "the rest is not let go";
  EXPECT_EQ(lab().job(rest.id).elements, "0,2%2");
}

TEST_F(SlurmClient, WhatAJobWaitsForIsSeen) {
  const Job first = submitted({"--begin=now+1hour"});
  EXPECT_GT(first.begin_s, first.submit_s + 3000);
  const Job second = submitted({"--dependency=afterok:" + std::to_string(first.id)});
  EXPECT_TRUE(second.dependent);
  EXPECT_EQ(second.begin_s, 0);
  const Job third = submitted({"--exclusive", "--mem-per-cpu=100", "--exclude=node-[0,2]"});
  EXPECT_TRUE(third.exclusive);
  EXPECT_EQ(third.memory_per_cpu_mib, 100);
  EXPECT_THAT(third.excluded, ElementsAre("node-0", "node-2"));
  EXPECT_FALSE(first.exclusive);
}

TEST_F(SlurmClient, NodesAreSeenAsTheyAre) {
  const auto node = [&](const std::string& name) {
    const auto nodes = client_.nodes();
    EXPECT_TRUE(ok(nodes));
    for (const slurm::Node& one : nodes ? *nodes : std::vector<slurm::Node>()) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no " << name;
    return slurm::Node();
  };
  EXPECT_EQ(node("node-0"),
            (slurm::Node{.name = "node-0", .out = "", .features = {}, .partitions = {"main"}}));
  const auto update = [&](std::vector<std::string> changes) {
    changes.insert(changes.begin(), {"scontrol", "update", "NodeName=node-1"});
    EXPECT_TRUE(ok(lab().run(std::move(changes))));
  };
  update({"AvailableFeatures=gpu,ib", "ActiveFeatures=gpu,ib"});
  EXPECT_EQ(node("node-1").features, (std::set<std::string>{"gpu", "ib"}));
  const Job job = submitted({"--constraint=gpu&ib"});
  EXPECT_EQ(job.constraint, "gpu&ib");
  EXPECT_THAT(job.partitions, ElementsAre("main"));
  ASSERT_TRUE(ok(client_.place(job, placing(job, {"node-1"}, 1))));
  ASSERT_TRUE(lab().wait_for(job.id, State::kRunning)) << lab().show(job.id);
  EXPECT_EQ(node("node-1").out, "") << "jobs run beside others";
  update({"State=DRAIN", "Reason=disk"});
  EXPECT_THAT(node("node-1").out, HasSubstr("DRAIN"));
  EXPECT_THAT(node("node-1").out, HasSubstr("(disk)"));
  update({"State=RESUME"});
  EXPECT_TRUE(lab::eventually(kPatience, [&] { return node("node-1").out.empty(); }))
      << "once it has answered";
}

TEST_F(SlurmClient, UsersPlaceNothing) {
  const auto submitted =
      lab().run_as_nobody({"sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "--nodes=1",
                           "--wrap=exec sleep 300"});
  ASSERT_TRUE(ok(submitted));
  const std::string id = std::to_string(std::stoul(*submitted));
  // 65534: what says "not set" in a field of 16 bits.
  for (const char* change : {"ReqNodeList=node-1",
                             "ReqNodeList=",
                             "NumNodes=2-2",
                             "NumNodes=65534",
                             "NumTasks=3",
                             "NumTasks=65534",
                             "NumCPUs=3",
                             "MinCPUsNode=3",
                             "CPUsPerTask=2",
                             "TasksPerNode=2",
                             "MinMemoryNode=4000",
                             "MinMemoryNode=65534",
                             "MinMemoryCPU=300",
                             "ReqSockets=1",
                             "ReqCores=2",
                             "ReqThreads=2",
                             "TresPerTask=cpu:2",
                             "Nice",
                             "Nice=1",
                             "Priority=100",
                             "AdminComment=pinion=wait"}) {
    const auto done = lab().run_as_nobody({"scontrol", "update", "JobId=" + id, change});
    ASSERT_FALSE(done) << change;
    EXPECT_THAT(done.error().text, HasSubstr("Access/permission denied")) << change;
  }
  for (const char* command : {"release", "hold", "top"}) {
    EXPECT_FALSE(lab().run_as_nobody({"scontrol", command, id})) << command;
  }
  EXPECT_TRUE(ok(lab().run_as_nobody({"scontrol", "update", "JobId=" + id, "TimeLimit=5"})));
  EXPECT_TRUE(ok(lab().run_as_nobody({"scontrol", "update", "JobId=" + id, "Comment=mine"})));
  EXPECT_FALSE(lab().run_as_nobody({"sbatch", "--nodelist=node-1", "--wrap=true"}));
  const Job job = lab().job(static_cast<std::uint32_t>(std::stoul(id)));
  EXPECT_TRUE(job.held);
  EXPECT_EQ(job.nodes, 1);
  EXPECT_EQ(job.cpus, 1);
  EXPECT_EQ(job.memory_per_node_mib, 0);
  EXPECT_TRUE(this->submitted({"--nice=100"}).held);
}

TEST_F(SlurmClient, AUsersOwnHoldIsReleasedByTheUser) {
  const auto submitted =
      lab().run_as_nobody({"sbatch", "--parsable", "--hold", "--chdir=/", "--output=/dev/null",
                           "--comment=profile=cpu", "--wrap=exec sleep 300"});
  ASSERT_TRUE(ok(submitted));
  const auto id = static_cast<std::uint32_t>(std::stoul(*submitted));
  EXPECT_EQ(lab().job(id).admin_comment, "pinion=user-held");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ok(lab().run_as_nobody({"scontrol", "release", std::to_string(id)})));
  }
  const Job job = lab().job(id);
  EXPECT_TRUE(job.held) << "it has no cores yet";
  EXPECT_EQ(job.comment, "profile=cpu released-by-user");
}

// With the real cores of this machine: whoever may use CPU 0 has it written down and is pinned to
// it.
TEST_F(SlurmClient, TasksAreOnTheirJobsOwnCores) {
  const std::string out = lab().folder() + "/cpus.";
  const std::string script =
      "cat /proc/self/status | grep Cpus_allowed_list; "
      "srun --quiet grep Cpus_allowed_list /proc/self/status";
  const auto id = lab().run({"sbatch", "--parsable", "--chdir=/", "--nodes=2", "--ntasks=2",
                             "--output=" + out + "%j", "--wrap=" + script});
  ASSERT_TRUE(ok(id));
  const Job job = lab().job(static_cast<std::uint32_t>(std::stoul(*id)));
  auto place = placing(job, {"node-0", "node-1"}, 1);
  place.mark.cpus = {{"node-0", "0"}, {"node-1", "0"}};
  ASSERT_TRUE(ok(client_.place(job, place)));
  ASSERT_TRUE(lab().wait_for(job.id, State::kOver)) << lab().show(job.id);
  const auto printed = lab::read_file(out + std::to_string(job.id));
  ASSERT_TRUE(ok(printed));
  EXPECT_EQ(*printed, "Cpus_allowed_list:\t0\nCpus_allowed_list:\t0\nCpus_allowed_list:\t0\n");
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    return std::filesystem::is_empty(lab().folder() + "/run");
  })) << "the epilog forgets them";
}

TEST_F(SlurmClient, TheLongestListOfCoresIsReadToItsEnd) {
  const std::string out = lab().folder() + "/long.";
  const auto id =
      lab().run({"sbatch", "--parsable", "--chdir=/", "--nodes=1", "--output=" + out + "%j",
                 "--wrap=grep Cpus_allowed_list /proc/self/status"});
  ASSERT_TRUE(ok(id));
  const Job job = lab().job(static_cast<std::uint32_t>(std::stoul(*id)));
  auto place = placing(job, {"node-0"}, 1);
  place.mark.cpus = {{"a", "1"}, {"node-0", "0"}};
  place.mark.cpus["a"].append(slurm::kLongestMark - to_text(place.mark).size(), '1');
  ASSERT_TRUE(ok(client_.place(job, place)));
  ASSERT_TRUE(lab().wait_for(job.id, State::kOver)) << lab().show(job.id);
  EXPECT_EQ(lab::read_file(out + std::to_string(job.id)).value_or("nothing"),
            "Cpus_allowed_list:\t0\n");
}

// Two at one time on one node, with several tasks each.
TEST_F(SlurmClient, TwoJobsOfANodeStayApart) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two CPUs";
  const std::string out = lab().folder() + "/apart.";
  std::vector<std::uint32_t> ids;
  for (const char* cpu : {"0", "1"}) {
    // Each task stays until the other job's are there, too.
    const std::string task = "grep Cpus_allowed_list /proc/self/status; touch " + out +
                             "$SLURM_JOB_ID.$SLURM_PROCID; "
                             "until [ $(ls " +
                             out +
                             "*.[01] | wc -l) = 4 ]; do sleep 0.1; done; "
                             "grep Cpus_allowed_list /proc/self/status";
    const auto id =
        lab().run({"sbatch", "--parsable", "--chdir=/", "--nodes=1", "--ntasks=2",
                   "--output=" + out + "%j", "--wrap=srun --quiet bash -c '" + task + "'"});
    ASSERT_TRUE(ok(id));
    const Job job = lab().job(static_cast<std::uint32_t>(std::stoul(*id)));
    auto place = placing(job, {"node-0"}, 2);
    place.mark.cpus = {{"node-0", cpu}};
    ASSERT_TRUE(ok(client_.place(job, place)));
    ids.push_back(job.id);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(lab().wait_for(ids[i], State::kOver)) << lab().show(ids[i]);
    const auto printed = lab::read_file(out + std::to_string(ids[i]));
    ASSERT_TRUE(ok(printed));
    std::string wanted;
    for (int line = 0; line < 4; ++line) {
      wanted += "Cpus_allowed_list:\t" + std::to_string(i) + "\n";
    }
    EXPECT_EQ(*printed, wanted);
  }
}

// CPU 0 is another job's.
TEST_F(SlurmClient, AJobWithoutCoresOfItsOwnKeepsOffThoseOfOthersAndIsTold) {
  const auto cpus_here = std::thread::hardware_concurrency();
  if (cpus_here < 2) GTEST_SKIP() << "needs two CPUs";
  const std::string rest = cpus_here == 2 ? "1" : "1-" + std::to_string(cpus_here - 1);
  const std::string out = lab().folder() + "/unpinned.";
  const auto placed = [&](const std::map<std::string, std::string>& cpus, const std::string& task) {
    const auto id = lab().run({"sbatch", "--parsable", "--chdir=/", "--nodes=1",
                               "--output=" + out + "%j", "--wrap=" + task});
    EXPECT_TRUE(ok(id));
    const Job job = id ? lab().job(static_cast<std::uint32_t>(std::stoul(*id))) : Job();
    auto place = placing(job, {"node-0"}, 1);
    place.mark.cpus = cpus;
    EXPECT_TRUE(ok(client_.place(job, place)));
    return job.id;
  };
  const auto other = placed({{"node-0", "0"}}, "exec sleep 300");
  ASSERT_TRUE(lab().wait_for(other, State::kRunning)) << lab().show(other);
  ASSERT_TRUE(lab::eventually(kPatience, [&] {
    return std::filesystem::exists(lab().folder() + "/run/" + std::to_string(other) + ".node-0");
  }));
  const std::string task = "grep Cpus_allowed_list /proc/self/status";
  for (const auto& [cpus, why] :
       {std::pair<std::map<std::string, std::string>, std::string>{
            {}, "its cores of node-0 are not known"},
        {{{"node-0", "4000"}}, "its CPUs 4000 of node-0 have not come in 1 s"}}) {
    const auto id = placed(cpus, task + "; srun --quiet " + task);
    ASSERT_TRUE(lab().wait_for(id, State::kOver)) << lab().show(id);
    const std::string told =
        "pinion-slurm: runs unpinned: " + why + "\nCpus_allowed_list:\t" + rest + "\n";
    EXPECT_EQ(lab::read_file(out + std::to_string(id)).value_or("nothing"), told + told);
  }
}

TEST_F(SlurmClient, WhatSlurmRefusesIsSaid) {
  const Job job = submitted({"--nodes=1"});
  const Status done = client_.place(job, placing(job, {"node-9"}, 1));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("Invalid node name"));
  EXPECT_TRUE(lab().job(job.id).held) << "what is not placed is not released";
}

TEST_F(SlurmClient, JobsOutliveTheController) {
  const Job job = submitted({"--nodes=1"});
  lab().stop_slurmctld();
  EXPECT_FALSE(client_.jobs());
  ASSERT_TRUE(ok(lab().restart_slurmctld()));
  const Job again = lab().job(job.id);
  EXPECT_TRUE(again.held);
  EXPECT_EQ(again.submit_s, job.submit_s);
  EXPECT_EQ(again.admin_comment, "pinion=wait");
}

}  // namespace
}  // namespace pinion::e2e
