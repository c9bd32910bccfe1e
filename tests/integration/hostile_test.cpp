// Containers that are hard to measure, through a real containerd: very many threads, the longest
// names, lives that end while they are looked at.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/integration/exercise.h"
#include "tests/integration/measured_node.h"
#include "tests/lab/files.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{60'000};
constexpr const char* kThreads = "pinion_container_threads";
constexpr const char* kVoluntary = "pinion_container_voluntary_switches_total";
constexpr const char* kPasses = "pinion_collector_passes_total";
constexpr const char* kVanished = "pinion_collector_vanished_total";
constexpr const char* kErrors = "pinion_collector_errors_total";

class Root_Containerd_Hostile : public MeasuredNodeTest {};

// 10,000, or half of what the machine allows.
long many_threads() {
  long count = 10'000;
  for (const char* limit : {"threads-max", "pid_max"}) {
    const auto text = lab::read_file(std::string("/proc/sys/kernel/") + limit);
    if (text) count = std::min(count, std::stol(*text) / 2);
  }
  return count;
}

TEST_P(Root_Containerd_Hostile, TenThousandThreadsAreCounted) {
  ASSERT_TRUE(ok(start()));
  auto spec = lab::burstable_pod("crowd", 200, {});
  const auto exercise = Exercise::prepare(node(), spec);
  ASSERT_TRUE(ok(exercise));
  const auto crowd = run(spec);
  ASSERT_TRUE(ok(crowd));
  ASSERT_TRUE(ok(run(lab::burstable_pod("other", 200, {}))));
  const long count = many_threads();
  ASSERT_TRUE(ok(exercise->tell("threads " + std::to_string(count))));

  const auto all = static_cast<double>(count + 1);
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto series = now();
    return series && of_pod(*series, kThreads, "crowd") == all;
  })) << of_pod(now().value_or(Series()), kThreads, "crowd").value_or(-1);
  // They take turns at being read; in the end each is counted with the switch to its sleep.
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto series = now();
    return series && of_pod(*series, kVoluntary, "crowd").value_or(0) >= static_cast<double>(count);
  })) << of_pod(now().value_or(Series()), kVoluntary, "crowd").value_or(-1);

  const auto before = std::chrono::steady_clock::now();
  const auto series = now();
  const auto took = std::chrono::steady_clock::now() - before;
  ASSERT_TRUE(ok(series));
  EXPECT_LT(took, std::chrono::seconds(5)) << "a scrape waits for the collector";
  EXPECT_EQ(of_pod(*series, kThreads, "other"), 1);
  EXPECT_EQ(series->at(kErrors), 0);
  std::printf("%ld threads: a scrape in %.1f ms, a pass in %.1f ms\n", count,
              std::chrono::duration<double, std::milli>(took).count(),
              1000 * series->at("pinion_collector_last_pass_seconds"));

  ASSERT_TRUE(ok(remove(*crowd)));
  const double passes = series->at(kPasses);
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto later = now();
    return later && later->at(kPasses) > passes + 3;
  })) << "the collector stands still";
}

TEST_P(Root_Containerd_Hostile, TheLongestNamesAreShownWhole) {
  ASSERT_TRUE(ok(start()));
  // As Kubernetes allows them: a DNS name of 253 characters, DNS labels of 63.
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string name;
  while (name.size() < 253) name += letters + "0.";
  name.resize(253);
  auto spec = lab::burstable_pod(name, 100, {});
  spec.uid = "uid-long";
  spec.name_space = (letters + letters).substr(0, 63);
  spec.containers.front().name = ("0" + letters + letters).substr(0, 63);
  // The value of an annotation is any text; of a group's name 253 bytes are kept.
  spec.annotations["pinion.dev/job"] = "a \"job\" \\ of\ntwo lines, {x=\"y\"} 1 \xc3\xa9";
  spec.annotations["pinion.dev/task-group"] = std::string(2000, 'g');
  ASSERT_TRUE(ok(run(spec)));

  const std::string who = "{namespace=\"" + spec.name_space + "\",pod=\"" + name +
                          "\",container=\"" + spec.containers.front().name + "\"";
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto series = now();
    if (!series) return false;
    const auto found = series->find(kThreads + who + "}");
    return found != series->end() && found->second == 1;
  }));
  const auto text = fetch(address(), "/metrics");
  ASSERT_TRUE(ok(text));
  const std::string info = "\npinion_container_info" + who + R"(,job="a \"job\" \\ of)" +
                           "\xef\xbf\xbd" +  // no line ends in a text
                           R"(two lines, {x=\"y\"} 1 )" + "\xc3\xa9\",task_group=\"" +
                           std::string(253, 'g') + "\",";
  EXPECT_NE(text->find(info), std::string::npos) << *text;
  EXPECT_TRUE(ok(parse_series(*text)));
}

std::size_t open_files(int pid) {
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// The series that are not of the pods which come and go.
std::set<std::string> lasting(const Series& series) {
  std::set<std::string> names;
  for (const auto& [name, value] : series) {
    if (name.find("pod=\"short-") == std::string::npos) names.insert(name);
  }
  return names;
}

// How many containers of those pods are shown.
std::size_t shown_short(const Series& series) {
  const std::string info = "pinion_container_info{namespace=\"lab\",pod=\"short-";
  return static_cast<std::size_t>(std::count_if(series.begin(), series.end(), [&](const auto& one) {
    return one.first.rfind(info, 0) == 0;
  }));
}

TEST_P(Root_Containerd_Hostile, ShortLivesLeaveNoErrorAndNothingBehind) {
  constexpr std::uint32_t kLives = 20;
  ASSERT_TRUE(ok(start({"--shared-counters", "full"})));
  ASSERT_TRUE(ok(run_burstable("noise")));
  // Containers one after another in a pod: one of them runs until it is killed, the next ends at
  // once by itself.
  const auto live = [&](const lab::RunningPod& pod, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) {
      lab::ContainerSpec container{.name = "main", .attempt = i};
      if (i % 2 == 0) container.command = {"/bin/busybox", "true"};
      const auto id = node().start_container(pod, container);
      if (!id) return Status(failure(id.error()));
      // containerd does not stand being told to remove what is just ending.
      const bool ended = i % 2 != 0 || lab::eventually(kSoon, [&] {
                           const auto status = node().cri().container_status(*id);
                           return status && status->state == lab::ContainerState::kExited;
                         });
      if (!ended) return Status(failure(Errc::kUnavailable, *id + " does not end"));
      if (Status done = node().cri().remove_container(*id); !done) return done;
    }
    return Status();
  };
  std::array<lab::RunningPod, 2> pods;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto pod = node().run_pod(lab::best_effort_pod("short-" + std::to_string(i), {}));
    ASSERT_TRUE(ok(pod));
    pods[i] = *pod;
    ASSERT_TRUE(ok(live(*pod, 0, 2)));
  }
  const auto settled = [&] {
    Series last;
    EXPECT_TRUE(lab::eventually(kSoon, [&, first = -1.0]() mutable {
      const auto series = now();
      if (!series || series->at("pinion_containers{kind=\"shared\"}") != 1) return false;
      if (first < 0) first = series->at(kPasses);
      last = *series;
      return last.at(kPasses) >= first + 11;  // all of it was read once more
    }));
    return last;
  };
  const Series before = settled();
  const std::size_t files = open_files(agent().pid());

  std::array<Status, 2> done;
  {
    std::array<std::jthread, 2> workers;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i] = std::jthread([&, i] { done[i] = live(pods[i], 2, kLives); });
    }
  }
  for (const Status& one : done) EXPECT_TRUE(ok(one));
  const Series after = settled();
  std::printf("%u lives: %.0f of them ended while they were measured\n", 2 * (kLives - 2),
              after.at(kVanished));
  EXPECT_EQ(after.at(kErrors), 0);
  EXPECT_EQ(lasting(after), lasting(before));
  EXPECT_EQ(shown_short(after), pods.size()) << "one life of each pod is enough to remember";
  // A pass and a scrape have some open for a moment.
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return open_files(agent().pid()) <= files + 2; }))
      << open_files(agent().pid()) << ", were " << files;
  for (const auto& pod : pods) EXPECT_TRUE(ok(node().remove_pod(pod)));
}

// Nobody tells the agent of this end: it still looks for the group when that is gone.
TEST_P(Root_Containerd_Hostile, AGroupThatIsGoneIsNoError) {
  ASSERT_TRUE(ok(start()));
  const auto gone = run(lab::best_effort_pod("gone", {}));
  ASSERT_TRUE(ok(gone));
  ASSERT_TRUE(ok(run_burstable("noise")));
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto series = now();
    return series && of_pod(*series, kThreads, "gone") == 1 && of_pod(*series, kThreads, "noise");
  }));
  node().kill_containerd();
  const auto processes = node().cgroups().processes_anywhere(gone->cgroup);
  ASSERT_EQ(processes.size(), 1U);
  ASSERT_EQ(::kill(processes.front(), SIGKILL), 0);
  ASSERT_TRUE(lab::eventually(
      kSoon, [&] { return static_cast<bool>(node().cgroups().remove(gone->cgroup)); }));
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto series = now();
    return series && series->at(kVanished) >= 1;
  }));
  const auto series = now();
  ASSERT_TRUE(ok(series));
  EXPECT_EQ(series->at(kErrors), 0);
  EXPECT_TRUE(of_pod(*series, kThreads, "noise").has_value());
  ASSERT_TRUE(ok(node().start_containerd()));
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto later = now();
    return later && later->at("pinion_containers{kind=\"shared\"}") == 1;
  })) << "it is remembered for ever";
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Hostile, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
