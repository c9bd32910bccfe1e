// Slurm jobs that change their size as the extender says: real Slurm with slurmdbd, API server,
// scheduler, extender and agents, and pinion-slurm between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "cluster/extender/kube/json_read.h"
#include "cluster/slurm/mark.h"
#include "cluster/slurm/slurm.h"
#include "tests/e2e/bridge_process.h"
#include "tests/e2e/scene.h"
#include "tests/e2e/slurm_lab.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using slurm::Job;
using State = slurm::Job::State;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
// Else none runs on a node that a job has had before.
constexpr const char* kProlog = "PrologFlags=Alloc\n";

class ElasticSlurmJobs : public Scene {
 protected:
  void start_all(bool accounting) {
    auto lab = SlurmLab::start({.nodes = {"node-0", "node-1", "node-2"},
                                .cpus = 64,
                                .more = kProlog,
                                .accounting = accounting});
    if (!lab && lab.error().code == Errc::kNotFound) GTEST_SKIP() << lab.error().text;
    ASSERT_TRUE(ok(lab));
    slurm_ = *std::move(lab);
    ASSERT_TRUE(ok(admin().let_extender_resize_jobs()));
    start(3, {}, {"--elastic", "elastic"});
    if (HasFatalFailure()) return;
    nodes().tell_ready();
    auto bridge = BridgeProcess::start(cluster(), slurm(), {"--elastic", "true"});
    ASSERT_TRUE(ok(bridge));
    bridge_ = *std::move(bridge);
  }
  void TearDown() override {
    if (slurm_) {
      slurm().cancel_all();
      EXPECT_TRUE(nothing_is_left());
      if (HasFailure()) std::cerr << slurm().logs() << '\n';
    }
    Scene::TearDown();
  }

  SlurmLab& slurm() { return *slurm_; }
  BridgeProcess& bridge() { return bridge_; }

  // So many nodes, of each 30 of 32 CPUs.
  std::uint32_t submit(const std::string& nodes, const std::string& comment) {
    const auto id =
        slurm().submit({"--nodes=" + nodes, "--ntasks-per-node=30", "--comment=" + comment});
    EXPECT_TRUE(ok(id));
    return id ? *id : 0;
  }

  // It runs on so many nodes, each of which one of its placeholders holds with the cores that it
  // was told, and nobody else's are there.
  testing::AssertionResult runs_on(std::uint32_t id, std::size_t nodes_wanted) {
    std::string why;
    const bool done = lab::eventually(kPatience, [&] {
      why = why_not_on(id, nodes_wanted);
      return why.empty();
    });
    if (done) return testing::AssertionSuccess();
    return testing::AssertionFailure() << why << "\n" << slurm().show(id) << jobs_now().dump(1);
  }

  // The same, while the bridge is killed again and again: each time a little later in what it does.
  testing::AssertionResult comes_to(std::uint32_t id, std::size_t nodes_wanted) {
    constexpr int kKills = 12;
    constexpr int kLaterMs = 60;
    for (int kills = 1; kills <= kKills; ++kills) {
      if (lab::eventually(lab::Milliseconds(kills * kLaterMs),
                          [&] { return why_not_on(id, nodes_wanted).empty(); })) {
        break;
      }
      bridge().kill();
      if (const Status done = bridge().restart(); !done) {
        return testing::AssertionFailure() << done.error().text;
      }
    }
    return runs_on(id, nodes_wanted);
  }

  json jobs_now() {
    const auto list = admin().api().get(kJobs);
    return list ? kube::json_at(*list, "items") : json();
  }

  // The API server has no Job of ours, and no placeholder.
  testing::AssertionResult nothing_is_left() {
    if (lab::eventually(kPatience, [&] { return pods().now().empty() && jobs_now().empty(); })) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << pods().now().size() << " placeholders are left, " << jobs_now().dump(1);
  }

 private:
  std::string why_not_on(std::uint32_t id, std::size_t nodes_wanted) {
    const Job job = slurm().job(id);
    if (job.state != State::kRunning) return "it does not run";
    if (job.on.size() != nodes_wanted) return std::to_string(job.on.size()) + " nodes";
    const auto mark = slurm::read_mark(job.admin_comment);
    std::size_t of_its = 0;
    for (const auto& [name, holds] : nodes().held()) {
      if (!name.starts_with("wind-" + std::to_string(id) + "-")) continue;
      ++of_its;
      if (std::find(job.on.begin(), job.on.end(), holds.node) == job.on.end()) {
        return name + " is on " + holds.node;
      }
      const auto told = mark->cpus.find(holds.node);
      if (told == mark->cpus.end() || told->second != holds.cpus.to_string()) {
        return name + " has " + holds.cpus.to_string() + ", told is something else";
      }
    }
    return of_its == nodes_wanted ? "" : std::to_string(of_its) + " placeholders";
  }

  std::unique_ptr<SlurmLab> slurm_;
  BridgeProcess bridge_;  // the last: it speaks with all others
};

TEST_F(ElasticSlurmJobs, MakeRoomForMoreUrgentOnesAndGrowBack) {
  start_all(true);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto low = submit("1-3", "elastic rescale-gap-seconds=0");
  ASSERT_TRUE(runs_on(low, 3));
  for (int times = 0; times < 2; ++times) {
    const auto high = submit("1-2", "elastic,priority=9,rescale-gap-seconds=0");
    EXPECT_TRUE(runs_on(high, 2));
    EXPECT_TRUE(runs_on(low, 1));
    ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(high)})));
    EXPECT_TRUE(runs_on(low, 3));
  }
  EXPECT_EQ(slurm().job(low).restarts, 0) << "it ran on all the time";
  EXPECT_EQ(slurm().job(low).comment, "elastic rescale-gap-seconds=0");
  // A step of it runs on all of its nodes, and a requeued job may have other nodes again.
  const auto step = slurm().run(
      {"srun", "--jobid=" + std::to_string(low), "--nodes=3", "--ntasks=3", "--overlap", "true"});
  EXPECT_TRUE(ok(step));
  ASSERT_TRUE(ok(slurm().run({"scontrol", "requeue", std::to_string(low)})));
  EXPECT_TRUE(lab::eventually(kPatience, [&] { return slurm().job(low).restarts == 1; }));
  EXPECT_TRUE(runs_on(low, 3));
}

TEST_F(ElasticSlurmJobs, SurviveABridgeThatIsKilledAllTheTime) {
  start_all(true);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto low = submit("1-3", "elastic rescale-gap-seconds=0");
  ASSERT_TRUE(comes_to(low, 3));
  const auto high = submit("1-2", "elastic priority=9 rescale-gap-seconds=0");
  EXPECT_TRUE(comes_to(high, 2));
  EXPECT_TRUE(comes_to(low, 1));
  ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(high)})));
  EXPECT_TRUE(comes_to(low, 3));
  EXPECT_EQ(slurm().job(low).restarts, 0) << "it ran on all the time";
  EXPECT_EQ(slurm().job(low).comment, "elastic rescale-gap-seconds=0");
  const auto left = slurm().run({"squeue", "--noheader", "--format=%i"});
  EXPECT_EQ(left.value_or(""), std::to_string(low) + "\n") << "a job of ours is left";
}

TEST_F(ElasticSlurmJobs, KeepWhatTheyStartWithWhereSlurmResizesNone) {
  start_all(false);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto low = submit("1-3", "elastic");
  ASSERT_TRUE(runs_on(low, 3));
  EXPECT_EQ(slurm().job(low).comment,
            "elastic [pinion: keeps the nodes with which it starts: this Slurm has no slurmdbd]");
  const auto high = submit("1-3", "moldable priority=9");
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    return slurm().job(high).comment.find("for 1 to 3 nodes with 30 CPUs each") !=
           std::string::npos;
  })) << slurm().show(high);
  ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(low)})));
  // With all of low's, whose placeholders go one after the other.
  EXPECT_TRUE(runs_on(high, 3));
  EXPECT_EQ(slurm().job(high).comment, "moldable priority=9");
}

// The calls themselves.
TEST(ResizedSlurmJob, RunsItsStepsOnTheCoresOfEachOfItsNodes) {
  const auto lab = SlurmLab::start(
      {.nodes = {"node-0", "node-1"}, .cpus = 8, .more = kProlog, .accounting = true});
  if (!lab && lab.error().code == Errc::kNotFound) GTEST_SKIP() << lab.error().text;
  ASSERT_TRUE(ok(lab));
  setenv("SLURM_CONF", (*lab)->conf().c_str(), 1);
  slurm::Slurm client{std::chrono::seconds(30)};
  const auto why = client.keeps_size();
  ASSERT_TRUE(ok(why));
  EXPECT_EQ(*why, "");
  const auto id = (*lab)->submit({"--nodes=1-2", "--ntasks-per-node=1"});
  ASSERT_TRUE(ok(id));
  const Job held = (*lab)->job(*id);
  EXPECT_EQ(held.nodes, 1);
  EXPECT_EQ(held.max_nodes, 2);
  slurm::Place place{.job = *id, .nodes = {"node-1"}, .cpus = 1, .mark = {}, .comment = {}};
  place.mark.cpus["node-1"] = "0";
  ASSERT_TRUE(ok(client.place(held, place)));
  ASSERT_TRUE((*lab)->wait_for(*id, State::kRunning)) << (*lab)->show(*id);
  const Job job = (*lab)->job(*id);
  EXPECT_EQ(job.batch_host, "node-1");
  EXPECT_TRUE(job.batch);

  for (int times = 0; times < 2; ++times) {
    slurm::Grow grow{.job = *id, .node = "node-0", .cpus = 1, .mark = place.mark};
    grow.mark.cpus["node-0"] = "0";
    ASSERT_TRUE(ok(client.grow(job, grow)));
    std::uint32_t helper = 0;
    EXPECT_TRUE(lab::eventually(kPatience, [&] {
      const auto all = client.jobs();
      for (const Job& one : all.value_or(std::vector<Job>())) {
        const bool grows = slurm::grown_by(one.admin_comment) == *id;
        if (grows && one.state == State::kRunning) helper = one.id;
      }
      return helper != 0;
    }));
    ASSERT_TRUE(ok(client.join({.job = *id, .helper = helper}))) << (*lab)->logs();
    EXPECT_EQ((*lab)->job(*id).on, (std::vector<std::string>{"node-0", "node-1"}));
    // slurmd takes no credential of the second in which the job has left the node before.
    std::string printed;
    EXPECT_TRUE(lab::eventually(kPatience, [&] {
      const auto step = (*lab)->run({"srun", "--quiet", "--jobid=" + std::to_string(*id),
                                     "--nodes=2", "--ntasks=2", "--overlap", "grep",
                                     "Cpus_allowed_list", "/proc/self/status"});
      printed = step ? *step : step.error().text;
      return step.has_value();
    })) << printed;
    EXPECT_EQ(printed, "Cpus_allowed_list:\t0\nCpus_allowed_list:\t0\n");
    EXPECT_FALSE(client.shrink(job, {.job = *id, .nodes = {"node-0"}, .declined = {}}))
        << "the script runs on the other one";
    ASSERT_TRUE(ok(client.shrink(job, {.job = *id, .nodes = {"node-1"}, .declined = {}})));
    EXPECT_EQ((*lab)->job(*id).on, std::vector<std::string>{"node-1"});
  }
  EXPECT_EQ((*lab)->job(*id).submit_s, job.submit_s) << "its placeholders would not be its own";
  if (HasFailure()) std::cerr << (*lab)->logs();
}

}  // namespace
}  // namespace pinion::e2e
