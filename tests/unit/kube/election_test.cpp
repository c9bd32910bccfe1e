#include "cluster/extender/kube/election.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/lease_object.h"

namespace pinion::kube {
namespace {

using Action = Election::Action;
using std::chrono::seconds;

constexpr Election::TimePoint kStart{seconds(1000)};
constexpr LeaseTiming kTiming{.duration = seconds(15),
                              .renew_deadline = std::chrono::milliseconds(10'000),
                              .retry = std::chrono::milliseconds(2000)};

LeaseRecord record(const std::string& holder, int duration, const std::string& version,
                   int transitions = 3) {
  return {.holder = holder,
          .duration = seconds(duration),
          .acquired = "A",
          .renewed = "R",
          .transitions = transitions,
          .version = version};
}

struct Decision {
  const char* name;
  std::optional<LeaseRecord> seen;
  int seconds_later;
  Action action;
};

class Decisions : public testing::TestWithParam<Decision> {};

TEST_P(Decisions, FollowFromTheRecordAndTheLocalTimeSinceItsChange) {
  Election election("me", kTiming);
  election.observe(GetParam().seen, kStart);
  EXPECT_EQ(election.decide(kStart + seconds(GetParam().seconds_later)), GetParam().action);
  EXPECT_FALSE(election.leading(kStart)) << "seeing is not leading";
}

INSTANTIATE_TEST_SUITE_P(
    All, Decisions,
    testing::Values(
        Decision{"none", std::nullopt, 0, Action::kCreate},
        Decision{"free", record("", 15, "1"), 0, Action::kTake},
        Decision{"mine", record("me", 15, "1"), 100, Action::kRenew},
        Decision{"of_another", record("you", 15, "1"), 0, Action::kWait},
        Decision{"of_another_almost_silent", record("you", 15, "1"), 14, Action::kWait},
        Decision{"of_another_silent", record("you", 15, "1"), 15, Action::kTake},
        Decision{"of_another_with_longer_time", record("you", 60, "1"), 59, Action::kWait},
        Decision{"of_another_without_time", record("you", 0, "1"), 14, Action::kWait},
        Decision{"of_another_without_time_silent", record("you", 0, "1"), 15, Action::kTake}),
    [](const auto& tested) { return tested.param.name; });

TEST(Election, CountsFromTheLastChange) {
  Election election("me", kTiming);
  election.observe(record("you", 15, "1"), kStart);
  election.observe(record("you", 15, "1"), kStart + seconds(10));  // the same
  EXPECT_EQ(election.decide(kStart + seconds(15)), Action::kTake);
  election.observe(record("you", 15, "2"), kStart + seconds(15));
  EXPECT_EQ(election.decide(kStart + seconds(29)), Action::kWait);
  EXPECT_EQ(election.decide(kStart + seconds(30)), Action::kTake);
}

TEST(Election, SaysFromWhenItMayTakeWhatIsAnothers) {
  Election election("me", kTiming);
  const auto free_from = [&](const std::optional<LeaseRecord>& seen) {
    election.observe(seen, kStart);
    return election.free_from();
  };
  EXPECT_EQ(free_from(record("you", 60, "1")), kStart + seconds(60));
  EXPECT_EQ(free_from(record("you", 0, "2")), kStart + seconds(15));
  for (const auto& other : {std::optional<LeaseRecord>(), std::optional(record("", 60, "3")),
                            std::optional(record("me", 60, "4"))}) {
    EXPECT_LT(free_from(other), kStart) << "nothing is waited for";
  }
}

TEST(Election, ProposesWhatClientGoWouldWrite) {
  Election election("me", kTiming);
  election.observe(std::nullopt, kStart);
  LeaseRecord wanted = record("me", 15, "", 0);
  wanted.acquired = wanted.renewed = "T";
  EXPECT_EQ(election.proposal(Action::kCreate, "T"), wanted);

  election.observe(record("you", 60, "7"), kStart);
  wanted.transitions = 4;
  wanted.version = "7";
  EXPECT_EQ(election.proposal(Action::kTake, "T"), wanted);

  election.observe(record("me", 15, "8", 4), kStart);
  wanted.acquired = "A";
  wanted.version = "8";
  EXPECT_EQ(election.proposal(Action::kRenew, "T"), wanted);
}

TEST(Election, LeadsForTheDeadlineFromWhenItAsked) {
  Election election("me", kTiming);
  const auto answered = kStart + seconds(4);
  election.confirmed(record("me", 15, "1"), kStart, answered);
  EXPECT_TRUE(election.leading(kStart + seconds(9)));
  EXPECT_FALSE(election.leading(kStart + seconds(10)));
  election.confirmed(record("me", 15, "2"), kStart, kStart + seconds(11));
  EXPECT_FALSE(election.leading(kStart + seconds(11))) << "an answer that came too late";
}

TEST(Election, LeadsNoMoreWhenAnotherHoldsIt) {
  Election election("me", kTiming);
  election.confirmed(record("me", 15, "1"), kStart, kStart);
  election.observe(record("me", 15, "2"), kStart);
  EXPECT_TRUE(election.leading(kStart));
  election.observe(record("you", 15, "3"), kStart);
  EXPECT_FALSE(election.leading(kStart));
}

TEST(Election, GivesBackOnlyWhatItHolds) {
  Election election("me", kTiming);
  EXPECT_FALSE(election.resignation("T"));
  election.observe(record("you", 15, "1"), kStart);
  EXPECT_FALSE(election.resignation("T"));
  election.confirmed(record("me", 15, "2"), kStart, kStart);
  const auto given_back = election.resignation("T");
  ASSERT_TRUE(given_back);
  EXPECT_EQ(given_back->holder, "");
  EXPECT_EQ(given_back->duration, seconds(1));
  EXPECT_EQ(given_back->version, "2");
  EXPECT_FALSE(election.leading(kStart));
}

TEST(LeaseObjects, AreWrittenAndReadBack) {
  const LeaseRecord written = record("me", 15, "9");
  const nlohmann::json object = lease_object({.name_space = "n", .name = "l"}, written);
  EXPECT_EQ(
      object,
      nlohmann::json({{"apiVersion", "coordination.k8s.io/v1"},
                      {"kind", "Lease"},
                      {"metadata", {{"namespace", "n"}, {"name", "l"}, {"resourceVersion", "9"}}},
                      {"spec",
                       {{"holderIdentity", "me"},
                        {"leaseDurationSeconds", 15},
                        {"acquireTime", "A"},
                        {"renewTime", "R"},
                        {"leaseTransitions", 3}}}}));
  EXPECT_EQ(lease_record(object), written);
}

TEST(LeaseObjects, MayHoldAnything) {
  EXPECT_EQ(lease_record(nullptr), LeaseRecord{});
  const nlohmann::json odd = {
      {"metadata", 1},
      {"spec",
       {{"holderIdentity", 5}, {"leaseDurationSeconds", -9}, {"leaseTransitions", "many"}}}};
  EXPECT_EQ(lease_record(odd), LeaseRecord{});
}

}  // namespace
}  // namespace pinion::kube
