// What must hold before the agent starts, and log lines that nobody can forge.
#include "agent/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent/serving.h"
#include "base/log/log.h"
#include "base/open_files.h"
#include "base/state_lock.h"
#include "metrics/perf/limits.h"
#include "tests/support/machine.h"
#include "tests/support/own_process.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

using test_support::cpus;
using test_support::TempDir;
using testing::HasSubstr;

TEST(Preflight, KubeletPolicy) {
  struct Case {
    const char* name;
    const char* text;
    const char* policy;  // nullptr: an error
  };
  const Case cases[] = {
      {"none", R"({"policyName":"none","defaultCpuSet":"","checksum":1})", "none"},
      {"static", R"({"policyName":"static","entries":{}})", "static"},
      {"empty", "", nullptr},
      {"cut off", R"({"policyName":"sta)", nullptr},
      {"a list", "[]", nullptr},
      {"no policy", "{}", nullptr},
      {"a number", R"({"policyName":1})", nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto policy = kubelet_policy(c.text);
    ASSERT_EQ(policy.has_value(), c.policy != nullptr);
    if (!policy) continue;
    EXPECT_EQ(*policy, c.policy);
  }
}

TEST(Preflight, SetsDescriptorsAsideBeforeAnythingListens) {
  const auto with_limit = [](rlim_t soft, rlim_t hard, const std::string& wanted) {
    return test_support::in_own_process([&]() -> std::string {
      const rlimit limit{soft, hard};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "setrlimit";
      const Status done = reserve_descriptors();
      const std::string text = done ? "raised" : done.error().text;
      if (done && open_files()->soft != hard) return "not raised";
      return text.find(wanted) == std::string::npos ? text : "";
    });
  };
  EXPECT_EQ(with_limit(64, 2048, "raised"), "");
  EXPECT_EQ(with_limit(1024, 4096, "raised"), "") << "what most services begin with";
  EXPECT_EQ(with_limit(64, 256, "RLIMIT_NOFILE) is 256, at least 1024"), "");
}

// Half of them for listeners at most: the rest is for the runtime's connection and cgroup files.
TEST(Preflight, ListenersFitIntoWhatIsSetAside) {
  EXPECT_LE(Serving::descriptors(), metrics::perf::kReservedDescriptors / 2);
}

TEST(Preflight, RefusesBesideAStaticKubeletAndSaysWhatToChange) {
  const TempDir dir;
  Config config;
  config.host_root = dir.path().string();
  EXPECT_TRUE(check_kubelet(config)) << "no kubelet";
  std::filesystem::create_directories(dir.path() / "var/lib/kubelet");
  std::ofstream(dir.path() / "var/lib/kubelet/cpu_manager_state") << R"({"policyName":"static"})";
  const auto refused = check_kubelet(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_THAT(refused.error().text, HasSubstr("cpuManagerPolicy: none"));
  EXPECT_THAT(refused.error().text, HasSubstr("cpu_manager_state"));
  config.kubelet_dir = "/elsewhere";
  EXPECT_TRUE(check_kubelet(config));
}

// Whoever puts a pipe there would keep the agent from starting for ever.
TEST(Preflight, WaitsForNoPipeInThePlaceOfTheKubeletsFile) {
  const TempDir dir;
  Config config;
  config.kubelet_dir = dir.path().string();
  const std::string file = dir.path() / "cpu_manager_state";
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const auto refused = check_kubelet(config);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr(file + " is no plain file"));
}

TEST(Preflight, RefusesAMachineLargerThanThisOne) {
  const TempDir dir;
  ASSERT_TRUE(test_support::write_tree(R"(
sys/devices/system/cpu/online = 0-3
sys/devices/system/cpu/possible = 0-3
sys/devices/system/cpu/present = 0-3
sys/devices/system/cpu/cpu[0-3]/topology/core_cpus = {mask n}
sys/devices/system/cpu/cpu[0-3]/topology/package_cpus = 0000000f
sys/devices/system/cpu/cpu[0-3]/topology/core_id = {n}
sys/devices/system/cpu/cpu[0-3]/topology/physical_package_id = 0
)",
                                       dir.path() / "host"));
  struct Case {
    const char* name;
    const char* topology;
    const char* host;
    const char* lacks;  // empty: fine
  };
  const Case cases[] = {
      {"as large", "synthetic:package:1 core:4 pu:1", "host", ""},
      {"smaller", "synthetic:package:1 core:2 pu:1", "host", ""},
      {"more CPUs", "synthetic:package:1 core:4 pu:2", "host", "it has CPUs 4-7, which"},
      {"more nodes", "synthetic:numa:2 core:2 pu:1", "host", "it has NUMA nodes 1, which"},
      {"both", "synthetic:numa:2 core:4 pu:1", "host", "it has CPUs 4-7 and NUMA nodes 1, which"},
      {"no machine to compare with", "synthetic:numa:2 core:4 pu:1", "nowhere", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Config config;
    config.topology = c.topology;
    config.host_root = dir.path() / c.host;
    const auto described = topology::discover(*config.source());
    ASSERT_TRUE(described) << described.error().text;
    const Status done = check_described(config, *described);
    EXPECT_EQ(done.has_value(), *c.lacks == '\0');
    if (!done) {
      EXPECT_THAT(done.error().text, HasSubstr(c.lacks));
    }
  }
}

TEST(Preflight, OnlyOneAgentHoldsTheLock) {
  const TempDir dir;
  const std::string state = (dir.path() / "a/b").string();
  auto first = lock_state_dir(state);
  ASSERT_TRUE(first);
  const auto second = lock_state_dir(state);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExhausted);
  first->reset();
  EXPECT_TRUE(lock_state_dir(state));
}

TEST(Preflight, TheLockIsTakenAgainWhereItsDirectoryWasRemoved) {
  const TempDir dir;
  const std::string state = (dir.path() / "a/b").string();
  StateLock lock(state);
  EXPECT_TRUE(lock.hold().value());
  EXPECT_FALSE(lock.hold().value());
  std::filesystem::remove_all(state);
  EXPECT_TRUE(lock.hold().value());
  EXPECT_EQ(lock_state_dir(state).error().code, Errc::kExhausted);
  std::filesystem::remove_all(state);
  auto other = lock_state_dir(state);
  ASSERT_TRUE(other);
  EXPECT_EQ(lock.hold().error().code, Errc::kExhausted);
  other->reset();
  EXPECT_TRUE(lock.hold().value());
}

TEST(Preflight, OnlyOneAgentServesARuntime) {
  const TempDir dir;
  const auto run = dir.path() / "nri";
  const std::string socket = (run / "nri.sock").string();
  std::optional<RuntimeLock> first(socket);
  RuntimeLock second(socket);
  // Neither finds the directory at its start; the one that connects first has the runtime.
  EXPECT_TRUE(first->hold());
  EXPECT_TRUE(second.hold());
  std::filesystem::create_directory(run);
  EXPECT_TRUE(first->hold());
  EXPECT_TRUE(first->hold()) << "it holds it already";
  // Nor by another name of the socket.
  std::ofstream(socket) << "";
  std::filesystem::create_directory(dir.path() / "beside");
  std::filesystem::create_symlink(socket, dir.path() / "beside/nri.sock");
  EXPECT_FALSE(RuntimeLock((dir.path() / "beside/nri.sock").string()).hold());
  const auto refused = second.hold();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExhausted);
  // The runtime makes its directory anew.
  std::filesystem::rename(run, dir.path() / "old");
  std::filesystem::create_directory(run);
  EXPECT_TRUE(first->hold());
  EXPECT_FALSE(second.hold());
  first.reset();
  EXPECT_TRUE(second.hold());
}

TEST(Log, NoValueForgesALine) {
  const std::string values[] = {"plain",
                                "",
                                "with blank",
                                "a\nERROR forged",
                                "a\r\nb",
                                "\x1b[31m",
                                "quote\" cpus=\"0",
                                "back\\slash",
                                "\xff\xfe",
                                "tab\t",
                                std::string("nul\0x", 5),
                                "\xe2\x80\xa8line"};
  for (const std::string& value : values) {
    SCOPED_TRACE(testing::PrintToString(value));
    const Note note{.level = Note::Level::kInfo,
                    .text = "exclusive",
                    .fields = {{"pod", value}, {"cpus", "1-2"}}};
    const std::string line = text_line(note);
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < 0x7f);
    EXPECT_TRUE(line.ends_with(" cpus=1-2"));
    const auto json = nlohmann::json::parse("{" + json_members(note) + "}", nullptr, false);
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json.size(), 3U);
    EXPECT_EQ(json["msg"], "exclusive");
    EXPECT_EQ(json["cpus"], "1-2");
  }
}

// Standard error is a pipe that nobody reads at first; then the line after those lost tells them.
TEST(Log, SaysHowManyLinesWereDropped) {
  const auto said = test_support::in_own_process([]() -> std::string {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return "no pipe";
    std::string text;
    constexpr int kLines = 40'000;
    int read_lines = 0;
    std::thread reader;
    {
      Log log("info", LogFormat::kText);
      for (int i = 0; i < kLines; ++i) log.info("line");
      reader = std::thread([&] {
        char some[4096];
        while (const ssize_t n = read(ends[0], some, sizeof(some))) {
          if (n < 0) break;
          text.append(some, static_cast<std::size_t>(n));
        }
      });
      log.info("last");
    }
    close(ends[1]);
    close(STDERR_FILENO);
    reader.join();
    for (std::size_t at = 0; (at = text.find(" line\n", at)) != std::string::npos; ++at) {
      ++read_lines;
    }
    const auto from = text.find("dropped=");
    if (from == std::string::npos) return "it says nothing of lines that were dropped";
    int dropped = 0;
    for (std::size_t at = 0; (at = text.find("dropped=", at)) != std::string::npos; ++at) {
      dropped += std::atoi(text.c_str() + at + 8);
    }
    if (read_lines == kLines || dropped == 0) return "none were dropped";
    const int accounted = read_lines + dropped;
    return accounted == kLines ? "all told" : std::to_string(accounted) + " lines accounted for";
  });
  EXPECT_EQ(said, "all told");
}

TEST(Log, NoTextForgesALine) {
  const Note note{.level = Note::Level::kWarn,
                  .text = "annotation pinion.dev/a\nERROR forged is not known",
                  .fields = {}};
  EXPECT_EQ(text_line(note), "\"annotation pinion.dev/a\\nERROR forged is not known\"");
}

TEST(Log, LongTextsAreCut) {
  const std::string huge(4'000'000, 'x');
  const Note note{
      .level = Note::Level::kWarn, .text = huge, .fields = {{"why", huge}, {"cpus", "1-2"}}};
  for (const std::string& line : {text_line(note), json_members(note)}) {
    EXPECT_LT(line.size(), 9000U);
    EXPECT_THAT(line, HasSubstr("xxx... (cut)\""));
    EXPECT_THAT(line, HasSubstr("1-2"));
  }
}

TEST(Log, TextLine) {
  const Note note{.level = Note::Level::kInfo,
                  .text = "exclusive",
                  .fields = {{"pod", "ns/p"}, {"why", "best of 3"}, {"none", ""}}};
  EXPECT_EQ(text_line(note), "exclusive pod=ns/p why=\"best of 3\" none=\"\"");
}

}  // namespace
}  // namespace pinion::agent
