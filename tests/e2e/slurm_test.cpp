// A Slurm job from sbatch to its end through placeholders: real Slurm, API server, scheduler,
// extender and agents, and pinion-slurm between them.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <thread>

#include "cluster/extender/kube/json_read.h"
#include "cluster/slurm/mark.h"
#include "tests/e2e/bridge_process.h"
#include "tests/e2e/quota.h"
#include "tests/e2e/scene.h"
#include "tests/e2e/slurm_lab.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using slurm::Job;
using State = slurm::Job::State;

class SlurmJobs : public Scene {
 protected:
  void SetUp() override {
    Scene::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // Slurm takes its nodes to have more CPUs than they have: Kubernetes knows better.
    auto lab = SlurmLab::start({.nodes = {"node-0", "node-1", "node-2"}, .cpus = 64, .more = {}});
    if (!lab && lab.error().code == Errc::kNotFound) GTEST_SKIP() << lab.error().text;
    ASSERT_TRUE(ok(lab));
    slurm_ = *std::move(lab);
    start(3);
    if (!HasFatalFailure()) nodes().tell_ready();
  }
  void TearDown() override {
    if (slurm_) {
      slurm().cancel_all();
      EXPECT_TRUE(no_placeholders());
      if (HasFailure()) std::cerr << slurm().logs() << '\n';
    }
    Scene::TearDown();
  }

  SlurmLab& slurm() { return *slurm_; }
  void start_bridge(const std::vector<std::string>& more = {}) {
    auto bridge = BridgeProcess::start(cluster(), slurm(), more);
    ASSERT_TRUE(ok(bridge));
    bridge_ = *std::move(bridge);
  }
  BridgeProcess& bridge() { return bridge_; }

  std::uint32_t submit(std::vector<std::string> options, int sleep_s = 300) {
    const auto id = slurm().submit(std::move(options), sleep_s);
    EXPECT_TRUE(ok(id));
    return id ? *id : 0;
  }

  // Of the job's present attempt, by name.
  Collection::Objects placeholders_of(const Job& job) {
    const auto mark = slurm::read_mark(job.admin_comment);
    Collection::Objects all = pods().now();
    std::erase_if(all, [&](const auto& pod) {
      return !mark || kube::json_text(pod.second, "metadata", "labels",
                                      "pinion.dev/slurm-attempt") != attempt_of(job, *mark);
    });
    return all;
  }

  // The job runs on the nodes of its placeholders, and knows their cores as their agents gave them.
  testing::AssertionResult runs(std::uint32_t id) {
    if (!slurm().wait_for(id, State::kRunning)) {
      return testing::AssertionFailure() << slurm().show(id);
    }
    const Job job = slurm().job(id);
    const auto mark = slurm::read_mark(job.admin_comment);
    const auto all = placeholders_of(job);
    const auto held = nodes().held();
    std::set<std::string> on;
    for (const auto& [name, pod] : all) {
      const auto holds = held.find(name);
      if (holds == held.end()) return testing::AssertionFailure() << name << " has no cores";
      on.insert(holds->second.node);
      const auto told = mark->cpus.find(holds->second.node);
      const std::string cpus = told == mark->cpus.end() ? "none" : told->second;
      if (cpus != holds->second.cpus.to_string()) {
        return testing::AssertionFailure()
               << name << " has " << holds->second.cpus.to_string() << ", told is " << cpus;
      }
    }
    if (on != std::set<std::string>(job.on.begin(), job.on.end())) {
      return testing::AssertionFailure() << "it is not where its placeholders are\n"
                                         << slurm().show(id);
    }
    return testing::AssertionSuccess();
  }

  testing::AssertionResult no_placeholders() {
    if (pods().wait([](const Collection::Objects& all) { return all.empty(); })) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << pods().now().size() << " placeholders are left";
  }

 private:
  std::unique_ptr<SlurmLab> slurm_;
  BridgeProcess bridge_;  // the last: it speaks with all others
};

TEST_F(SlurmJobs, RunOnTheNodesOfTheirPlaceholdersWhichGoWithThem) {
  start_bridge();
  const auto begin = std::chrono::steady_clock::now();
  const auto id = submit({"--nodes=2", "--ntasks=8", "--comment=profile=memory"});
  ASSERT_TRUE(slurm().wait_for(id, State::kRunning)) << slurm().show(id);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "from sbatch to running: " << took.count() << " s\n";
  RecordProperty("submit_to_running_s", std::to_string(took.count()));
  EXPECT_TRUE(runs(id));
  const auto all = placeholders_of(slurm().job(id));
  EXPECT_EQ(all.size(), 2U);
  for (const auto& [name, pod] : all) {
    const auto annotation = [&, &object = pod](const char* key) {
      return kube::json_text(object, "metadata", "annotations", key);
    };
    EXPECT_EQ(annotation("pinion.dev/lend-to"), "wind-node-*/slurm");
    EXPECT_EQ(annotation("pinion.dev/profile"), "memory");
    EXPECT_EQ(kube::json_text(pod, "status", "qosClass"), "Guaranteed");
  }
  // A second one beside it, on cores of its own.
  const auto other = submit({"--ntasks=3"}, 1);
  EXPECT_TRUE(runs(other));
  EXPECT_TRUE(slurm().wait_for(other, State::kOver));
  ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(id)})));
  EXPECT_TRUE(no_placeholders());
}

TEST_F(SlurmJobs, ThatCanNeverFitSayWhyAndCanBeCancelled) {
  start_bridge();
  const auto large = submit({"--nodes=2", "--ntasks=80"});
  const auto wrong = submit({"--comment=profile=gpu"});
  const auto told = [&](std::uint32_t id, const char* why) {
    return lab::eventually(kPatience,
                           [&] { return slurm().job(id).comment.find(why) != std::string::npos; });
  };
  EXPECT_TRUE(told(large, "[pinion: waits: ")) << slurm().show(large);
  EXPECT_TRUE(told(large, "40 CPUs")) << slurm().show(large);
  EXPECT_TRUE(told(wrong, "profile gpu is unknown")) << slurm().show(wrong);
  EXPECT_EQ(placeholders_of(slurm().job(large)).size(), 2U);
  ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(large)})));
  EXPECT_TRUE(no_placeholders());
}

TEST_F(SlurmJobs, GoWhereSlurmStartsThem) {
  const auto update = [&](std::vector<std::string> changes) {
    changes.insert(changes.begin(), {"scontrol", "update"});
    EXPECT_TRUE(ok(slurm().run(std::move(changes))));
  };
  update({"NodeName=node-2", "AvailableFeatures=gpu", "ActiveFeatures=gpu"});
  update({"NodeName=node-0", "State=DRAIN", "Reason=disk"});
  start_bridge();
  const auto wide = submit({"--nodes=3", "--ntasks=3"});
  const auto gpu = submit({"--nodes=1", "--constraint=gpu"});
  const auto two = submit({"--nodes=2", "--ntasks=2"});
  EXPECT_TRUE(runs(gpu));
  EXPECT_EQ(slurm().job(gpu).on, std::vector<std::string>{"node-2"});
  EXPECT_TRUE(runs(two));
  EXPECT_EQ(slurm().job(two).on, (std::vector<std::string>{"node-1", "node-2"}));
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    return slurm().job(wide).comment.find("Slurm has 2 for it: node-0 is IDLE+DRAIN (disk") !=
           std::string::npos;
  })) << slurm().show(wide);
  EXPECT_TRUE(placeholders_of(slurm().job(wide)).empty());
  update({"NodeName=node-0", "State=RESUME"});
  EXPECT_TRUE(runs(wide));
}

TEST_F(SlurmJobs, GiveBackWhatTheyHaveWhereAQuotaAdmitsNotAll) {
  auto quota = Quota::make(admin());
  ASSERT_TRUE(ok(quota));
  ASSERT_TRUE(ok(quota->admit(1, 0)));
  start_bridge({"--retry", "1s"});
  const auto id = submit({"--nodes=2", "--ntasks=2"});
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    return slurm().job(id).comment.find("exceeded quota") != std::string::npos;
  })) << slurm().show(id);
  EXPECT_TRUE(no_placeholders()) << "it waits with half of them";
  ASSERT_TRUE(ok(quota->admit(100, 0)));
  EXPECT_TRUE(runs(id));
  EXPECT_EQ(slurm().job(id).comment, "");
}

TEST_F(SlurmJobs, RunAgainWhenTheyAreRequeuedOrLoseACore) {
  start_bridge();
  const auto id = submit({"--nodes=2", "--ntasks=2"});
  ASSERT_TRUE(runs(id));
  ASSERT_TRUE(ok(slurm().run({"scontrol", "requeue", std::to_string(id)})));
  const auto again = [&](int restarts) {
    return lab::eventually(kPatience, [&] {
      const Job job = slurm().job(id);
      return job.restarts == restarts && job.state == State::kRunning;
    });
  };
  EXPECT_TRUE(again(1)) << slurm().show(id);
  EXPECT_TRUE(runs(id));
  const auto all = placeholders_of(slurm().job(id));
  ASSERT_EQ(all.size(), 2U);
  ASSERT_TRUE(ok(admin().ask_pod_to_end(all.begin()->first)));
  EXPECT_TRUE(again(2)) << slurm().show(id);
  EXPECT_TRUE(runs(id));
  EXPECT_TRUE(pods().wait([](const Collection::Objects& now) { return now.size() == 2; }));
}

TEST_F(SlurmJobs, OfAnArrayAreTreatedElementByElement) {
  start_bridge();
  const auto id = submit({"--array=0-3%2", "--nodes=1"}, 2);
  // Two after each other, each with its placeholder.
  const bool over = lab::eventually(2 * kPatience, [&] {
    const auto left = slurm().run({"squeue", "--noheader", "--array"});
    return left && left->empty();
  });
  EXPECT_TRUE(over) << slurm().show(id);
  EXPECT_EQ(slurm().job(id).state, State::kOver);
}

TEST_F(SlurmJobs, GoOnWhereAKilledBridgeHasLeftThem) {
  const auto id = submit({"--nodes=2", "--ntasks=4"});
  start_bridge();
  ASSERT_TRUE(runs(id)) << "submitted before";
  bridge().kill();
  ASSERT_TRUE(ok(bridge().restart()));
  EXPECT_TRUE(runs(id));
  EXPECT_EQ(slurm().job(id).restarts, 0) << "it is left alone";
  bridge().kill();
  ASSERT_TRUE(ok(slurm().run({"scancel", std::to_string(id)})));
  const auto next = submit({"--nodes=2", "--ntasks=4"});
  EXPECT_EQ(pods().now().size(), 2U);
  ASSERT_TRUE(ok(bridge().restart()));
  EXPECT_TRUE(runs(next));
  EXPECT_TRUE(pods().wait([](const Collection::Objects& all) { return all.size() == 2; }))
      << "those of the job that ended unseen are gone";
}

// A thousand jobs of one user, for which there is no room, submitted 50 a second; beside them small
// ones of another user, for which there is. What Slurm itself needs from a release to a start is
// measured with the same jobs, released by hand.
TEST_F(SlurmJobs, ALongQueueOfOneUserDelaysNoOther) {
  constexpr int kQueued = 1000;
  constexpr std::chrono::milliseconds kEvery{20};
  constexpr int kProbes = 7;
  const auto now = [] { return std::chrono::system_clock::now().time_since_epoch(); };
  // Seconds from before `sbatch` until the job writes the time.
  const auto start_of = [&](int number, const std::function<void(std::uint32_t)>& submitted) {
    const std::string file = slurm().folder() + "/out/" + std::to_string(number);
    const std::chrono::duration<double> begin = now();
    const auto id =
        slurm().run_as_nobody({"sbatch", "--parsable", "--chdir=/", "--nodes=2", "--ntasks=2",
                               "--output=/dev/null", "--wrap=date +%s.%N >" + file});
    EXPECT_TRUE(ok(id));
    if (id) submitted(static_cast<std::uint32_t>(std::stoul(*id)));
    EXPECT_TRUE(lab::eventually(kPatience, [&] {
      const auto text = lab::read_file(file);
      return text && text->ends_with('\n');
    }));
    return std::stod(lab::read_file(file).value_or("0")) - begin.count();
  };
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + kProbes / 2, values.end());
    return values[kProbes / 2];
  };
  std::filesystem::create_directory(slurm().folder() + "/out");
  std::filesystem::permissions(slurm().folder() + "/out", std::filesystem::perms::all);

  std::vector<double> slurm_alone;
  for (int i = 0; i < kProbes; ++i) {
    slurm_alone.push_back(start_of(i, [&](std::uint32_t id) {
      EXPECT_TRUE(ok(slurm().run({"scontrol", "release", std::to_string(id)})));
    }));
  }
  start_bridge();
  std::vector<double> idle;
  for (int i = 0; i < kProbes; ++i) idle.push_back(start_of(100 + i, [](std::uint32_t) {}));
  // 28 of each node's 32 CPUs.
  EXPECT_TRUE(runs(submit({"--nodes=3", "--ntasks=84"})));
  const auto begin = std::chrono::steady_clock::now();
  std::thread user([&] {
    for (int i = 0; i < kQueued; ++i) {
      std::this_thread::sleep_until(begin + i * kEvery);
      EXPECT_TRUE(ok(slurm().submit({"--nodes=1", "--ntasks=8"})));
    }
  });
  std::vector<double> meanwhile;
  for (int i = 0; i < kProbes; ++i) {
    std::this_thread::sleep_until(begin + (i + 1) * kQueued * kEvery / (kProbes + 1));
    meanwhile.push_back(start_of(200 + i, [](std::uint32_t) {}));
  }
  user.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::vector<double> queued;
  for (int i = 0; i < kProbes; ++i) queued.push_back(start_of(300 + i, [](std::uint32_t) {}));
  std::cout << kQueued << " jobs submitted in " << took.count() << " s\n"
            << "from sbatch to running, median: Slurm alone " << median(slurm_alone) << " s, idle "
            << median(idle) << " s, while they come " << median(meanwhile)
            << " s, with all of them " << median(queued) << " s\n";
  EXPECT_LT(median(queued), took.count() / 2) << "as if half of the queue had come first";
  RecordProperty("idle_s", std::to_string(median(idle)));
  RecordProperty("queued_s", std::to_string(median(queued)));
}

// Killed again and again while jobs come: whatever it was in the middle of.
TEST_F(SlurmJobs, SurviveABridgeThatIsKilledAllTheTime) {
  start_bridge();
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(submit({"--nodes=2", "--ntasks=4"}, 1));
    // Each time a little later in what it does for the job.
    const std::size_t made = pods().now().size();
    if (i % 2 == 1) {
      (void)pods().wait([&](const Collection::Objects& all) { return all.size() > made; },
                        std::chrono::seconds(2));
    }
    bridge().kill();
    ASSERT_TRUE(ok(bridge().restart()));
  }
  for (const auto id : ids) {
    EXPECT_TRUE(slurm().wait_for(id, State::kOver)) << slurm().show(id);
    EXPECT_EQ(slurm().job(id).restarts, 0) << "it ran once";
  }
  EXPECT_TRUE(no_placeholders());
  const auto status = bridge().stop();
  ASSERT_TRUE(ok(status));
  EXPECT_EQ(*status, 0);
}

}  // namespace
}  // namespace pinion::e2e
