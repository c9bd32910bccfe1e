// What is learnt of jobs' runs, and the ConfigMap that keeps it.
#include "cluster/extender/program/learnt_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test_support::eventually;
using testing::HasSubstr;

const std::string kProfileMaps = "/api/v1/namespaces/ns/configmaps";
const std::string kProfileMap = kProfileMaps + "/pinion-profiles";
constexpr std::int64_t kToday = 1'795'132'800;  // 2026-11-20

json profile_map(const std::string& text, const std::string& version = "7") {
  return {{"metadata", {{"resourceVersion", version}}}, {"data", {{"profiles.json", text}}}};
}

class LearntProfilesTest : public testing::Test {
 protected:
  std::unique_ptr<LearntProfiles> start(std::chrono::milliseconds every = 1ms) {
    return std::make_unique<LearntProfiles>(
        *api_, log_, [this] { return leads_.load(); },
        LearntProfiles::Options{.name_space = "ns",
                                .every = every,
                                .soon = 1ms,
                                .steady_s = [this] { return static_cast<double>(now_.load()); },
                                .unix_s = [this] { return kToday + now_.load(); }});
  }
  // Ten minutes of a job that has so many L3 misses a second on its one CPU.
  void run(LearntProfiles& profiles, const std::string& job, double misses_per_second) {
    ContainerUse use{.job = "hpc/" + job, .id = "1", .cpus = 1};
    use.used_s = use.misses = use.instructions = 0;
    profiles.used("node", {use});
    for (int i = 1; i <= 10; ++i) {
      now_ += 60;
      use.used_s = 60 * i;
      use.misses = 60 * i * misses_per_second;
      use.instructions = 60 * i * 2e9;
      profiles.used("node", {use});
    }
    profiles.used("node", {});
  }
  static LearntProfile of(const LearntProfiles& profiles, const std::string& job) {
    return profiles.of("hpc", job);
  }
  kube::FakeApiServer::Seen wait_for(const std::string& method) {
    for (std::size_t i = 1;; ++i) {
      const auto seen = server_.wait_for(i);
      if (testing::Test::HasFailure()) return {};
      if (seen[i - 1].method == method) return seen[i - 1];
    }
  }
  // So many more rounds have read the map.
  void wait_for_rounds(std::size_t count) { server_.wait_for(server_.seen().size() + count + 1); }
  std::size_t writes() {
    const auto seen = server_.seen();
    return static_cast<std::size_t>(std::count_if(
        seen.begin(), seen.end(), [](const auto& one) { return one.method != "GET"; }));
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
  std::atomic<std::int64_t> now_ = 0;
};

TEST_F(LearntProfilesTest, ARunIsLearntAtItsEndAndTheMapMade) {
  server_.on("POST " + kProfileMaps, [this](const auto& request, auto& response) {
    json map = json::parse(request.body);
    map["metadata"]["resourceVersion"] = "1";
    server_.on("GET " + kProfileMap, 200, map);
    response.set_content(map.dump(), "application/json");
  });
  const auto profiles = start();
  wait_for_rounds(1);
  EXPECT_EQ(of(*profiles, "wind").why, "no earlier run was observed");
  run(*profiles, "wind", 5e7);
  EXPECT_EQ(of(*profiles, "wind").profile, Profile::kMemory) << "at once";
  const json made = wait_for("POST").json();
  EXPECT_EQ(made.at("metadata").at("name"), "pinion-profiles");
  EXPECT_THAT(made.at("data").at("profiles.json").get<std::string>(),
              HasSubstr(R"("hpc/wind": {"runs":1,"lastUnix":1795133400)"));
  wait_for_rounds(3);
  EXPECT_EQ(writes(), 1U) << "it is written once";
  EXPECT_EQ(of(*profiles, "wind").why,
            "3.2 GB/s from memory for each CPU in 1 run, last 2026-11-20");
  const auto rows = profiles->rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "hpc/wind");
  EXPECT_EQ(rows[0].profile, "memory");
  EXPECT_EQ(rows[0].last, "2026-11-20");
}

TEST_F(LearntProfilesTest, ANewLeaderGoesOnFromWhatIsStored) {
  server_.on("GET " + kProfileMap, 200, profile_map(R"({"hpc/wind":{"runs":4,"lastUnix":1795000000,
                        "used":{"value":0.5,"seconds":1200}}})"));
  server_.on("PATCH " + kProfileMap, 200, profile_map("{}", "8"));
  const auto profiles = start(1h);
  EXPECT_TRUE(eventually([&] { return of(*profiles, "wind").profile == Profile::kNetwork; }));
  run(*profiles, "wind", 0);
  EXPECT_EQ(of(*profiles, "wind").profile, Profile::kNetwork)
      << "a third of the mean is the last run's";
  EXPECT_THAT(of(*profiles, "wind").why, HasSubstr("in 5 runs"));
}

TEST_F(LearntProfilesTest, OnlyTheLeaderWritesAndOnlyTheVersionItRead) {
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  server_.on("PATCH " + kProfileMap, 200, profile_map("{}", "8"));
  leads_ = false;
  const auto profiles = start();
  run(*profiles, "wind", 5e7);
  wait_for_rounds(3);
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(of(*profiles, "wind").profile, Profile::kMemory) << "it answers webhooks as well";
  leads_ = true;
  const auto patch = wait_for("PATCH");
  EXPECT_EQ(patch.content_type, "application/merge-patch+json");
  EXPECT_EQ(patch.json().at("metadata").at("resourceVersion"), "7");
}

TEST_F(LearntProfilesTest, WhatTheLeaderHasStoredAFollowerLeaves) {
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  leads_ = false;
  const auto profiles = start();
  wait_for_rounds(1);
  run(*profiles, "wind", 5e7);
  server_.on("GET " + kProfileMap, 200, profile_map(R"({"hpc/wind":{"runs":1,"lastUnix":1795133398,
                        "used":{"value":1,"seconds":600}}})"));
  while (of(*profiles, "wind").profile != Profile::kCpu) wait_for_rounds(1);
  leads_ = true;
  wait_for_rounds(3);
  EXPECT_EQ(writes(), 0U);
}

TEST_F(LearntProfilesTest, WhoWasSecondReadsAndWritesAgain) {
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  server_.on("GET " + kProfileMap, 200,
             profile_map(R"({"hpc/wave":{"runs":2,"lastUnix":1795000000}})", "9"));
  server_.on("PATCH " + kProfileMap, 409, kube::status_object(409, "Conflict", "changed"));
  server_.on("PATCH " + kProfileMap, 200, profile_map("{}", "10"));
  leads_ = false;
  const auto profiles = start(20ms);
  run(*profiles, "wind", 5e7);
  leads_ = true;
  while (writes() < 2) wait_for_rounds(1);
  json last;
  for (const auto& seen : server_.seen()) {
    if (seen.method == "PATCH") last = seen.json();
  }
  EXPECT_EQ(last.at("metadata").at("resourceVersion"), "9");
  const std::string text = last.at("data").at("profiles.json");
  EXPECT_THAT(text, HasSubstr("hpc/wave"));
  EXPECT_THAT(text, HasSubstr("hpc/wind"));
}

TEST_F(LearntProfilesTest, WhatIsChangedByHandCounts) {
  server_.on(
      "GET " + kProfileMap, 200,
      profile_map(R"({"hpc/wind":{"runs":1,"lastUnix":5,"used":{"value":0.1,"seconds":600}}})"));
  const auto profiles = start();
  while (of(*profiles, "wind").profile != Profile::kNetwork) wait_for_rounds(1);
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  while (of(*profiles, "wind").profile != Profile::kNone) wait_for_rounds(1);
}

TEST_F(LearntProfilesTest, AMapThatMakesNoSenseChangesNothing) {
  server_.on(
      "GET " + kProfileMap, 200,
      profile_map(R"({"hpc/wind":{"runs":1,"lastUnix":5,"used":{"value":0.1,"seconds":600}}})"));
  server_.on("PATCH " + kProfileMap, 200, profile_map("{}", "8"));
  const auto profiles = start();
  while (of(*profiles, "wind").profile != Profile::kNetwork) wait_for_rounds(1);
  server_.on("GET " + kProfileMap, 200, profile_map("no JSON"));
  wait_for_rounds(3);
  EXPECT_EQ(of(*profiles, "wind").profile, Profile::kNetwork);
  run(*profiles, "wave", 0);
  const std::string text = wait_for("PATCH").json().at("data").at("profiles.json");
  EXPECT_THAT(text, HasSubstr("hpc/wind")) << "written anew, from what was read before";
  EXPECT_THAT(text, HasSubstr("hpc/wave"));
}

TEST_F(LearntProfilesTest, ThatItIsNotReadYetIsSaid) {
  server_.on("GET " + kProfileMap, 403, kube::status_object(403, "Forbidden", "no"));
  const auto profiles = start();
  wait_for_rounds(1);
  EXPECT_EQ(of(*profiles, "wind").why, "what was learnt could not be read yet");
  run(*profiles, "wind", 5e7);
  EXPECT_EQ(of(*profiles, "wind").profile, Profile::kMemory);
  wait_for_rounds(2);
  EXPECT_EQ(writes(), 0U) << "what is there is not known";
}

TEST_F(LearntProfilesTest, TheEndWritesWhatIsNotWritten) {
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  server_.on("PATCH " + kProfileMap, 200, profile_map("{}", "8"));
  auto profiles = start(1h);
  server_.wait_for(1);
  EXPECT_TRUE(eventually([&] { return of(*profiles, "wind").why.starts_with("no earlier"); }));
  run(*profiles, "wind", 5e7);
  profiles.reset();
  EXPECT_EQ(writes(), 1U);
}

TEST_F(LearntProfilesTest, AFollowerEndsWithoutAWord) {
  server_.on("GET " + kProfileMap, 200, profile_map("{}"));
  leads_ = false;
  auto profiles = start(1h);
  server_.wait_for(1);
  run(*profiles, "wind", 5e7);
  profiles.reset();
  EXPECT_EQ(writes(), 0U);
}

}  // namespace
}  // namespace pinion::cluster
