// What the agent measures, through a real containerd and over HTTP, against programs that do a
// known thing.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "metrics/cgroup_files.h"
#include "tests/integration/exercise.h"
#include "tests/integration/measured_node.h"
#include "tests/lab/files.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{20'000};
constexpr const char* kMigrations = "pinion_container_cpu_migrations_total";
constexpr const char* kSwitches = "pinion_container_context_switches_total";
constexpr const char* kVoluntary = "pinion_container_voluntary_switches_total";
constexpr const char* kFaults = "pinion_container_page_faults_total";
constexpr const char* kIntrusion = "pinion_container_core_intrusion_seconds_total";

class Root_Containerd_Measure : public MeasuredNodeTest {
 protected:
  // The figure once two passes of the collector in a row, `apart` from each other, agree on it.
  Result<double> settled(const std::string& name, const std::string& pod) {
    std::optional<double> last;
    double passes = 0;
    const bool found = lab::eventually(kSoon, [&] {
      const auto series = now();
      if (!series) return false;
      const double pass = series->at("pinion_collector_passes_total");
      if (pass < passes + kPassesBetween) return false;
      passes = pass;
      const auto value = of_pod(*series, name, pod);
      const bool same = value && last == value;
      last = value;
      return same;
    });
    if (!found) return failure(Errc::kUnavailable, name + " of " + pod + " does not settle");
    return *last;
  }

  // By how much the figure grows through what the exercise is told, and what that did itself.
  struct Growth {
    double shown = 0;
    Exercise::Did did;
  };
  Result<Growth> growth(const std::string& name, const std::string& pod, const Exercise& exercise,
                        const std::string& command) {
    const auto before = settled(name, pod);
    if (!before) return failure(before.error());
    const auto did = exercise.tell(command);
    if (!did) return failure(did.error());
    const auto after = settled(name, pod);
    if (!after) return failure(after.error());
    return Growth{.shown = *after - *before, .did = *did};
  }

  // What is read least often is read every tenth pass.
  static constexpr double kPassesBetween = 11;
};

TEST_P(Root_Containerd_Measure, AreExact) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU: nothing can migrate";
  ASSERT_TRUE(ok(start({"--shared-counters", "full"})));
  auto spec = lab::burstable_pod("known", 200, {});
  const auto exercise = Exercise::prepare(node(), spec);
  ASSERT_TRUE(ok(exercise));
  ASSERT_TRUE(ok(run(spec)));
  ASSERT_TRUE(ok(exercise->tell("migrate 1")));  // from now on it stays where it is put

  const auto migrations = growth(kMigrations, "known", *exercise, "migrate 1000");
  ASSERT_TRUE(ok(migrations));
  // Seen on a busy machine: the kernel moves it once more on its way.
  EXPECT_GE(migrations->shown, 1000);
  EXPECT_LE(migrations->shown, static_cast<double>(std::max(1000L, migrations->did.moves)) + 1);

  // Reading the command and writing the answer cost a few more than it can tell of itself.
  constexpr double kPipes = 5;
  const auto voluntary = growth(kVoluntary, "known", *exercise, "switch 500");
  ASSERT_TRUE(ok(voluntary));
  const auto slept = static_cast<double>(voluntary->did.voluntary);
  EXPECT_GE(slept, 400);
  EXPECT_GE(voluntary->shown, slept);
  EXPECT_LE(voluntary->shown, slept + kPipes);

  const auto switches = growth(kSwitches, "known", *exercise, "switch 500");
  ASSERT_TRUE(ok(switches));
  const auto all = static_cast<double>(switches->did.voluntary + switches->did.involuntary);
  EXPECT_GE(switches->shown, all);
  EXPECT_LE(switches->shown, all + kPipes);

  const auto faults = growth(kFaults, "known", *exercise, "touch 2000");
  ASSERT_TRUE(ok(faults));
  EXPECT_GE(faults->shown, 2000);
  EXPECT_LE(faults->shown, 2100);
}

// Runs on the CPU until this thread has used that much of it.
void burn(topology::CpuId cpu, std::chrono::milliseconds time) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto end = used() + time;
  while (used() < end) {
  }
}

// Ticks that the CPU ran anything, from another place than the agent takes them: as seconds.
double busy_seconds(topology::CpuId cpu) {
  const auto times = metrics::read_cpu_times("");
  if (!times) return 0;
  for (const auto& one : *times) {
    if (one.cpu == cpu) return static_cast<double>(metrics::busy_ticks(one)) / 100;
  }
  return 0;
}

TEST_P(Root_Containerd_Measure, IntrusionIsWhatOthersRanOnARanksCores) {
  constexpr double kBurnt = 0.5;
  constexpr double kExact = 0.06;  // see metrics/collect/intrusion.h, and a tick on each side
  ASSERT_TRUE(ok(start()));
  auto spec = lab::guaranteed_pod("rank", machine().width, {});
  const auto exercise = Exercise::prepare(node(), spec);
  ASSERT_TRUE(ok(exercise));
  const auto rank = run(spec);
  ASSERT_TRUE(ok(rank));
  const topology::CpuId core = *file(*rank).begin();
  const auto intrusion = [&] {
    const auto series = now();
    return series ? of_pod(*series, kIntrusion, "rank").value_or(-1) : -1;
  };
  ASSERT_TRUE(lab::eventually(kSoon, [&] { return intrusion() >= 0; }));

  // Its own work is no intrusion, however much it is: what grows meanwhile is the machine's doing.
  // What is shown is of a moment ago.
  const auto passes = [&] {
    return lab::eventually(kSoon, [&, first = 0.0]() mutable {
      const auto series = now();
      if (!series) return false;
      const double pass = series->at("pinion_collector_passes_total");
      if (first == 0) first = pass;
      return pass > first + 2;
    });
  };
  const double busy_at_first = busy_seconds(core);
  ASSERT_TRUE(passes());
  const double at_first = intrusion();
  ASSERT_TRUE(ok(exercise->tell("burn 500")));
  ASSERT_TRUE(passes());
  const double own = intrusion() - at_first;
  const double busy = busy_seconds(core) - busy_at_first;
  EXPECT_LE(own, busy - kBurnt + kExact + 0.3 * kBurnt) << "of " << busy << " s busy";

  const double before = intrusion();
  std::thread([&] { burn(core, std::chrono::milliseconds(500)); }).join();
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return intrusion() - before >= kBurnt - kExact; }))
      << "shown: " << intrusion() - before << " s";
}

// Every counter of `before` that is still there and went back.
std::string gone_back(const Series& before, const Series& after) {
  std::string list;
  for (const auto& [name, value] : before) {
    if (name.find("_total") == std::string::npos) continue;
    const auto now = after.find(name);
    if (now != after.end() && now->second < value) list += name + "\n";
  }
  return list;
}

TEST_P(Root_Containerd_Measure, NeverGoBackWhileTheAgentLives) {
  ASSERT_TRUE(ok(start()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  Series last;
  const auto look = [&] {
    const auto series = now();
    ASSERT_TRUE(ok(series));
    EXPECT_EQ(gone_back(last, *series), "");
    last = *series;
  };
  const auto look_for_passes = [&](double count) {
    const double from = last.empty() ? 0 : last.at("pinion_collector_passes_total");
    ASSERT_TRUE(lab::eventually(kSoon, [&] {
      look();
      return HasFatalFailure() || last.at("pinion_collector_passes_total") >= from + count;
    }));
  };
  ASSERT_NO_FATAL_FAILURE(look_for_passes(3));
  for (int round = 0; round < 3; ++round) {
    const auto rank = run_rank("rank-" + std::to_string(round));
    ASSERT_TRUE(ok(rank));
    ASSERT_NO_FATAL_FAILURE(look_for_passes(4));
    // From cores of its own into the shared set and back: its counters change their source.
    for (const std::int64_t milli : {machine().width * 1000 - 500, machine().width * 1000}) {
      lab::LinuxResources resources;
      resources.cpu_quota = milli * 100;
      resources.cpu_period = 100'000;
      resources.cpu_shares = milli * 1024 / 1000;
      ASSERT_TRUE(ok(node().cri().update_resources(rank->id, resources)));
      ASSERT_NO_FATAL_FAILURE(look_for_passes(6));
    }
    ASSERT_TRUE(ok(remove(*rank)));
    ASSERT_NO_FATAL_FAILURE(look_for_passes(4));
    const std::string pod = "rank-" + std::to_string(round);
    EXPECT_TRUE(of_pod(last, kMigrations, pod).has_value()) << "its last values stay for a while";
  }
}

// As Prometheus's increase() sees two scrapes: a value below the one before began at 0.
double increase(double before, double after) {
  return after >= before ? after - before : after;
}

TEST_P(Root_Containerd_Measure, ARestartOfTheAgentMakesNoLeap) {
  ASSERT_TRUE(ok(start()));
  auto spec = lab::guaranteed_pod("rank", machine().width, {});
  const auto exercise = Exercise::prepare(node(), spec);
  ASSERT_TRUE(ok(exercise));
  ASSERT_TRUE(ok(run(spec)));
  ASSERT_TRUE(ok(exercise->tell("burn 300")));
  const auto did = exercise->tell("switch 500");  // fewer where others preempt it
  ASSERT_TRUE(ok(did));
  ASSERT_GE(did->voluntary, 300) << "too few to see a leap by";
  const auto voluntary = settled(kVoluntary, "rank");
  ASSERT_TRUE(ok(voluntary));
  EXPECT_GE(*voluntary, static_cast<double>(did->voluntary));
  const auto before = now();
  ASSERT_TRUE(ok(before));

  agent().kill();
  ASSERT_TRUE(ok(start()));
  ASSERT_TRUE(ok(settled(kVoluntary, "rank")));
  const auto after = now();
  ASSERT_TRUE(ok(after));
  for (const char* name : {kVoluntary, kSwitches, kMigrations}) {
    EXPECT_LE(increase(*of_pod(*before, name, "rank"), *of_pod(*after, name, "rank")), 100) << name;
  }
  for (const char* mode : {",mode=\"user\"", ",mode=\"system\""}) {
    const std::string name = "pinion_container_cpu_seconds_total";
    EXPECT_LE(increase(*of_pod(*before, name, "rank", mode), *of_pod(*after, name, "rank", mode)),
              0.1)
        << mode;
  }
}

TEST_P(Root_Containerd_Measure, HealthFollowsTheRuntime) {
  ASSERT_TRUE(ok(start()));
  EXPECT_TRUE(ok(fetch(address(), "/livez")));
  EXPECT_TRUE(ok(fetch(address(), "/readyz")));
  const auto json = fetch(address(), "/api/v1/node");
  ASSERT_TRUE(ok(json));
  EXPECT_NE(json->find("\"containerd\""), std::string::npos) << *json;
  const auto page = fetch(address(), "/");
  ASSERT_TRUE(ok(page));
  EXPECT_NE(page->find("<html"), std::string::npos);
  ASSERT_TRUE(ok(node().stop_containerd()));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return !fetch(address(), "/readyz"); }))
      << "it is ready without a runtime";
  EXPECT_TRUE(ok(fetch(address(), "/livez")));
  ASSERT_TRUE(ok(node().start_containerd()));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return bool(fetch(address(), "/readyz")); }));
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Measure, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
