// Containers of mixed classes come and go by four workers, watched all the while.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/integration/node.h"
#include "tests/lab/sampler.h"

namespace pinion::integration {
namespace {

constexpr int kWorkers = 4;

// More by hand, fewer on a slow machine.
int cycles() {
  const char* text = std::getenv("PINION_CHURN_CYCLES");
  return text != nullptr ? std::atoi(text) : 150;
}

// Runs half of the time: busy enough to be caught, idle enough to let others be made.
std::vector<std::string> half_busy() {
  return {"/bin/busybox", "sh", "-c",
          "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; usleep 10000; done"};
}

class Root_Containerd_Churn : public NodeTest {
 protected:
  struct Tally {
    std::atomic<int> next{0};
    std::atomic<int> ranks{0};
    std::atomic<int> refused{0};
    std::atomic<int> shared{0};
    std::mutex mutex;
    std::vector<std::string> errors;
    void fail(const std::string& what) {
      const std::lock_guard lock(mutex);
      errors.push_back(what);
    }
  };

  // One container's life. A rank that finds no core free is refused, which is an answer too.
  void live(int number, lab::Sampler& sampler, Tally& tally) {
    const std::string name = "c" + std::to_string(number);
    lab::PodSpec spec;
    if (number % 3 == 0) {
      spec = rank_spec(name);
      spec.containers[0].command = half_busy();
    } else if (number % 3 == 1) {
      spec = lab::burstable_pod(name, 100, half_busy());
    } else {
      spec = lab::best_effort_pod(name, half_busy());
    }
    const bool rank = number % 3 == 0;
    const auto pod = node().run_pod(spec);
    if (!pod) return tally.fail(name + ": " + pod.error().text);
    const auto id = node().create_container(*pod, spec.containers[0]);
    if (id) {
      run_one(*pod, *id, rank, sampler, tally);
    } else if (rank && id.error().text.find("not enough free CPUs") != std::string::npos) {
      ++tally.refused;
    } else {
      tally.fail(name + ": " + id.error().text);
    }
    if (Status removed = node().remove_pod(*pod); !removed) {
      tally.fail(name + ": " + removed.error().text);
    }
  }

  void run_one(const lab::RunningPod& pod, const std::string& id, bool rank, lab::Sampler& sampler,
               Tally& tally) {
    sampler.add({.id = id,
                 .cgroup = lab::ContainerdLab::cgroup_of(pod, id),
                 .exclusive = rank ? machine().width : 0});
    Status done = node().cri().start_container(id);
    if (done) {
      ++(rank ? tally.ranks : tally.shared);
      sampler.started(id);
      // A rank lives while others come and go around it, a shared container for a few looks.
      const auto until = sampler.report().sweeps + (rank ? 80 : 8);
      lab::eventually(Milliseconds(1000), [&] { return sampler.report().sweeps >= until; });
      sampler.changing(id);
      done = node().cri().stop_container(id);
    }
    sampler.remove(id);
    if (done) done = node().cri().remove_container(id);
    if (!done) tally.fail(pod.spec.name + ": " + done.error().text);
  }

  // Standing containers that each create re-tells.
  void stand(lab::Sampler& sampler) {
    for (int i = 0; i < 4; ++i) {
      const std::string name = "standing-" + std::to_string(i);
      auto standing = i % 2 == 0 ? run(lab::burstable_pod(name, 100, half_busy()))
                                 : run(lab::best_effort_pod(name, half_busy()));
      ASSERT_TRUE(ok(standing));
      sampler.add({.id = standing->id, .cgroup = standing->cgroup, .exclusive = 0});
      standing_.push_back(*standing);
    }
  }

  void churn(lab::Sampler& sampler, Tally& tally) {
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&] {
        for (int number = tally.next++; number < cycles(); number = tally.next++) {
          live(number, sampler, tally);
        }
      });
    }
    for (auto& worker : workers) worker.join();
  }

  std::vector<Running> standing_;
};

TEST_P(Root_Containerd_Churn, NobodyEverRunsOnARanksCore) {
  ASSERT_TRUE(ok(start_agent({.more = {"--log-level", "warn"}})));
  lab::Sampler sampler(node().cgroups(), Milliseconds(2));
  ASSERT_NO_FATAL_FAILURE(stand(sampler));
  Tally tally;
  churn(sampler, tally);
  const auto report = sampler.report();
  std::printf("%d ranks, %d refused, %d shared; %s\n", tally.ranks.load(), tally.refused.load(),
              tally.shared.load(), lab::to_text(report).c_str());
  std::string errors;
  for (const auto& error : tally.errors) errors += "\n" + error;
  EXPECT_TRUE(tally.errors.empty()) << errors;
  EXPECT_EQ(report.violations(), 0U);
  EXPECT_GT(report.looks, static_cast<std::uint64_t>(10 * cycles())) << "little was watched";
  EXPECT_GT(tally.ranks, 0);
  EXPECT_EQ(tally.ranks + tally.refused + tally.shared, cycles());
  // At rest all is as decided, all cores are free, and the standing ones have them.
  EXPECT_TRUE(lab::eventually(Milliseconds(5000),
                              [&] {
                                return static_cast<bool>(no_drift()) &&
                                       file(standing_[0]) == machine().topology.online;
                              }))
      << no_drift().message() << " standing on " << file(standing_[0]).to_string();
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  EXPECT_EQ(status->containers.size(), standing_.size()) << "the agent remembers the dead";
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Churn, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
