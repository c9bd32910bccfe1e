// The pod scheduler among threads: binds that are held, a slow API server, a stop in the middle.
#include "cluster/extender/service/placing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "cluster/extender/pods/pod_of.h"
#include "tests/support/eventually.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using test_support::eventually;

// A fake API server's side: says what a test wants, and counts.
class FakeCluster : public Cluster {
 public:
  Status bind(const PodRef& pod, const std::string& node,
              const std::map<std::string, std::string>&) override {
    const std::lock_guard lock(mutex_);
    if (refuse.contains(pod.uid)) return failure(Errc::kDenied, "not now");
    if (lose.erase(pod.uid) > 0) return failure(Errc::kUnavailable, "no answer");
    bound[pod.uid] += "@" + node;
    return {};
  }
  void wake(const PodRef& pod) override {
    const std::lock_guard lock(mutex_);
    woken.insert(pod.uid);
  }
  void warn(const PodRef& pod, const std::string& why) override {
    const std::lock_guard lock(mutex_);
    warned[pod.uid] = why;
  }
  void nominate(const PodRef& pod, const std::string& node) override {
    const std::lock_guard lock(mutex_);
    nominated[pod.uid] = node;
  }
  void open(const Opening& opening) override {
    const std::lock_guard lock(mutex_);
    opened[opening.pod.uid] = opening.node;
  }
  void explain(const PodRef& pod, const std::string& why) override {
    const std::lock_guard lock(mutex_);
    explained[pod.uid] = why;
  }

  std::set<std::string> refuse;  // set before the threads begin
  std::set<std::string> lose;    // the same: whether it is made is not told, once
  std::map<std::string, std::string> bound;
  std::set<std::string> woken;
  std::map<std::string, std::string> nominated;
  std::map<std::string, std::string> opened;
  std::map<std::string, std::string> explained;
  std::map<std::string, std::string> warned;

 private:
  std::mutex mutex_;
};

class PlacingTest : public testing::Test {
 protected:
  void SetUp() override {
    const MachinePtr machine = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
    for (const char* name : {"a", "b"}) {
      placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
        return scheduler.report(report_of(name, machine), now).has_value();
      });
    }
  }

  static wire::PodSpecView pod_of(const std::string& uid, int cpus, int gang = 0) {
    wire::PodSpecView pod;
    pod.uid = uid;
    pod.name_space = "default";
    pod.name = "pod-" + uid;
    pod.qos = policy::Qos::kGuaranteed;
    wire::ContainerView container;
    container.name = "main";
    container.resources.limits.cpu_milli = 1000 * cpus;
    pod.containers.push_back(container);
    if (gang > 0) {
      pod.annotations = {{"pinion.dev/job", "j"}, {"pinion.dev/gang-size", std::to_string(gang)}};
    }
    return pod;
  }
  static wire::FilterAsk ask_of(const wire::PodSpecView& pod) {
    wire::FilterAsk ask;
    ask.pod = pod;
    ask.names = {"a", "b"};
    return ask;
  }
  std::string filtered(const wire::PodSpecView& pod) {
    const auto ask = ask_of(pod);
    std::string names;
    for (const std::size_t node : placing_.filter(ask).nodes) names += ask.names[node];
    return names;
  }
  std::string bind(const wire::PodSpecView& pod, const std::string& node) {
    return placing_
        .bind({.pod_uid = pod.uid,
               .pod_namespace = pod.name_space,
               .pod_name = pod.name,
               .node = node})
        .error;
  }
  // All of the gang m0 .. exist.
  void exist(int members) {
    for (int i = 0; i < members; ++i) filtered(pod_of("m" + std::to_string(i), 2, members));
  }
  // A call that stays under way until it has an answer.
  std::future<std::string> bind_later(const wire::PodSpecView& pod, const std::string& node) {
    return std::async(std::launch::async, [this, pod, node] { return bind(pod, node); });
  }
  // Until the pod scheduler holds so many.
  void wait_for_held(int count) {
    const auto held = [](const PodScheduler& scheduler) {
      int sum = 0;
      for (const Job* gang : scheduler.gangs()) sum += scheduler.held(gang->id);
      return sum;
    };
    EXPECT_TRUE(eventually([&] { return placing_.look(held) == count; }));
  }

  std::chrono::milliseconds tick() { return placing_.tick(kMost); }

  static constexpr std::chrono::milliseconds kMost{60'000};
  FakeCluster cluster_;
  std::atomic<std::int64_t> now_{100};
  std::atomic<int> hurried_ = 0;
  Placing placing_{cluster_,
                   policy::Defaults(),
                   {.hold_ms = 1000, .scheduler = {.keep_ms = 5000, .confirm_ms = 9000}},
                   [this] { return now_.load(); },
                   [](const Note&) {},
                   [this] { ++hurried_; }};
};

TEST_F(PlacingTest, AnswersAreThoseOfThePodScheduler) {
  const auto pod = pod_of("p", 5);
  const auto answer = placing_.filter(ask_of(pod));
  EXPECT_EQ(answer.nodes, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(placing_.prioritize(ask_of(pod)).scores, (std::vector<std::int64_t>{8, 8}));
  EXPECT_EQ(bind(pod, "b"), "");
  EXPECT_EQ(cluster_.bound["p"], "@b");
  const auto next = placing_.filter(ask_of(pod_of("q", 5)));
  EXPECT_EQ(next.nodes, (std::vector<std::size_t>{0}));
  ASSERT_EQ(next.failed.size(), 1U);
  EXPECT_EQ(next.failed[0].node, 1U);
  EXPECT_EQ(next.reasons.at(next.failed[0].reason),
            "needs 5 CPUs on one node; too few CPUs are free: at most 2 CPUs on one node");
  const auto never = placing_.filter(ask_of(pod_of("r", 9)));
  EXPECT_EQ(never.unresolvable.size(), 2U);
}

TEST_F(PlacingTest, APodThatIsNotOursIsBoundAsAsked) {
  EXPECT_EQ(bind(pod_of("other", 1), "elsewhere"), "");
  EXPECT_EQ(cluster_.bound["other"], "@elsewhere");
}

TEST_F(PlacingTest, AFailedBindingFreesTheCores) {
  cluster_.refuse = {"p"};
  const auto pod = pod_of("p", 5);
  filtered(pod);
  EXPECT_EQ(bind(pod, "a"), "not now");
  EXPECT_EQ(filtered(pod_of("q", 5)), "ab");
}

TEST_F(PlacingTest, HeldBindsGoTogether) {
  constexpr int members = 6;
  exist(members);
  std::vector<std::future<std::string>> calls;
  for (int i = 0; i < members; ++i) {
    const auto pod = pod_of("m" + std::to_string(i), 2, members);
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U);
    if (i + 1 == members) wait_for_held(members - 1);
    EXPECT_TRUE(cluster_.bound.empty());
    calls.push_back(bind_later(pod, node));
  }
  for (auto& call : calls) EXPECT_EQ(call.get(), "");
  EXPECT_EQ(cluster_.bound.size(), static_cast<std::size_t>(members));
}

TEST_F(PlacingTest, HeldBindsEndWhenTheirTimeIsUp) {
  exist(3);
  const auto pod = pod_of("m0", 2, 3);
  auto call = bind_later(pod, filtered(pod));
  wait_for_held(1);
  now_ += 1000;
  tick();
  EXPECT_EQ(call.get(), "1 of 3 members of its gang came within 1 s");
  EXPECT_TRUE(cluster_.bound.empty());
}

TEST_F(PlacingTest, SaysWhenSomethingIsDueAndWhoeverMakesThatSoonerHurries) {
  tick();
  EXPECT_EQ(tick(), kMost) << "nothing is";
  filtered(pod_of("m0", 2, 3));
  EXPECT_EQ(tick(), std::chrono::milliseconds(9000)) << "then nobody has told of the pod";
  hurried_ = 0;
  exist(3);
  EXPECT_EQ(hurried_, 1) << "once, however much is new";
  EXPECT_EQ(tick(), std::chrono::milliseconds(5000)) << "their places are kept for so long";
  const auto pod = pod_of("m0", 2, 3);
  auto call = bind_later(pod, filtered(pod));
  EXPECT_TRUE(eventually([&] { return hurried_ == 2; }));
  now_ += 400;
  EXPECT_EQ(tick(), std::chrono::milliseconds(600)) << "the call is held for a second";
  now_ += 600;
  tick();
  EXPECT_NE(call.get(), "");
}

TEST_F(PlacingTest, AStopEndsWhatIsHeldAndHoldsNoMore) {
  exist(3);
  const auto first = pod_of("m0", 2, 3);
  const auto second = pod_of("m1", 2, 3);
  const std::string node = filtered(second);
  auto call = bind_later(first, filtered(first));
  wait_for_held(1);
  placing_.stopping();
  EXPECT_EQ(call.get(), "Pinion's extender is being stopped");
  EXPECT_EQ(bind(second, node), "Pinion's extender is being stopped");
  EXPECT_TRUE(cluster_.bound.empty());
}

TEST_F(PlacingTest, AFreedHoleWakesWhoWaitsForIt) {
  const auto large = pod_of("large", 7);
  filtered(large);
  ASSERT_EQ(bind(large, "a"), "");
  const auto second = pod_of("second", 7);
  filtered(second);
  ASSERT_EQ(bind(second, "b"), "");
  EXPECT_EQ(filtered(pod_of("waits", 6)), "");
  placing_.tell([](PodScheduler& scheduler, std::int64_t now) {
    scheduler.gone("large", now);
    return 0;
  });
  tick();
  EXPECT_EQ(cluster_.woken, (std::set<std::string>{"waits"}));
}

// Many at once: nothing is bound twice, all calls end, and each says what became of its pod.
TEST_F(PlacingTest, ManyGangsAndTicksAtOnce) {
  std::atomic<bool> done = false;
  std::thread ticker([&] {
    while (!done) {
      now_ += 1;
      tick();
      std::this_thread::yield();
    }
  });
  std::map<std::string, std::future<std::string>> calls;  // by uid
  for (int round = 0; round < 20; ++round) {
    for (int turn = 0; turn < 6; ++turn) {  // the first three questions tell that they exist
      const int i = turn % 3;
      auto pod = pod_of(std::to_string(round) + "-" + std::to_string(i), 1, 3);
      pod.annotations["pinion.dev/job"] = "j" + std::to_string(round % 2);
      const std::string node = filtered(pod);
      if (turn > 2 && !node.empty()) calls[pod.uid] = bind_later(pod, node);
    }
  }
  EXPECT_GE(calls.size(), 3U) << "an empty fleet has room for the first gang";
  std::map<std::string, std::string> answers;
  for (auto& [uid, call] : calls) {
    EXPECT_TRUE(eventually([&, &call = call] {
      now_ += 10;
      return call.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }));
    answers[uid] = call.get();
  }
  done = true;
  ticker.join();
  for (const auto& [uid, answer] : answers) {
    EXPECT_EQ(answer.empty(), cluster_.bound.contains(uid)) << uid << answer;
  }
  for (const auto& [uid, nodes] : cluster_.bound) {
    EXPECT_EQ(std::count(nodes.begin(), nodes.end(), '@'), 1) << uid << nodes;
  }
}

TEST_F(PlacingTest, ABindingWhoseAnswerIsLostIsMadeAgainOnTheSameNode) {
  const auto pod = pod_of("p", 5);
  cluster_.lose = {"p"};
  filtered(pod);
  EXPECT_EQ(bind(pod, "a"), "no answer");
  EXPECT_EQ(filtered(pod_of("other", 5)), "b") << "its cores are not given away";
  EXPECT_EQ(filtered(pod), "a");
  EXPECT_EQ(bind(pod, "b"), "its binding is under way");
  EXPECT_EQ(bind(pod, "a"), "");
  EXPECT_EQ(cluster_.bound.at("p"), "@a");
  now_ += 9000;
  tick();
  EXPECT_EQ(filtered(pod), "ab") << "the API server has not told of it";
}

TEST_F(PlacingTest, AGangAtItsGatesIsOpenedOrItsUserIsTold) {
  const auto see = [&](const std::string& uid, int cpus) {
    wire::PodSpecView view = pod_of(uid, cpus, 2);
    view.annotations["pinion.dev/job"] = uid.substr(0, 1);
    Pod pod = cluster::pod_of(view);
    pod.gang_gate = true;
    placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
      scheduler.complete_gangs(now);
      return scheduler.seen(pod, now);
    });
  };
  for (const char* uid : {"m0", "m1"}) see(uid, 7);
  EXPECT_EQ(cluster_.opened, (std::map<std::string, std::string>{{"m0", "a"}, {"m1", "b"}}));
  EXPECT_EQ(placing_.figures().opened, 2U);
  for (const char* uid : {"n0", "n1"}) see(uid, 7);
  now_ += 1000;
  tick();
  EXPECT_EQ(cluster_.opened.size(), 2U);
  ASSERT_EQ(cluster_.explained.count("n0"), 1U);
  EXPECT_THAT(cluster_.explained["n0"], testing::HasSubstr("7 CPUs"));
  for (const char* uid : {"o0", "o1"}) see(uid, 8);
  now_ += 1000;
  tick();
  EXPECT_EQ(cluster_.explained.size(), 1U);
  EXPECT_EQ(cluster_.warned,
            (std::map<std::string, std::string>{
                {"o0",
                 "needs 2 x 8 CPUs in one NUMA node; no node could give that even with nothing "
                 "running, largest 7"}}));
  EXPECT_EQ(placing_.figures().hopeless, 1U);
}

}  // namespace
}  // namespace pinion::cluster
