#include "agent/api/watch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/client/mirror.h"
#include "tests/unit/api/samples.h"

namespace pinion::agent::api {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using TimePoint = WatchState::TimePoint;

constexpr WatchTimes kTimes{};  // 50 ms, 5 s, 30 s

// A node that changes, a reader that watches, and a clock.
class Watch : public testing::Test {
 protected:
  void publish() {
    ++view_.generation;
    picture_ = picture_of({"host", "1", "i"}, view_, now_.get(), picture_.get());
  }

  // What is sent now, and taken by the transport at once; nullopt: nothing.
  std::optional<v1::WatchNodeResponse> next() {
    v1::WatchNodeResponse message;
    if (!state_.next(picture_, time_, message)) return std::nullopt;
    state_.written();
    EXPECT_TRUE(mirror_.apply(message));
    return message;
  }

  void pass(milliseconds time) { time_ += time; }

  void expect_mirrored() {
    v1::Snapshot whole;
    *whole.mutable_node() = picture_->node;
    for (const auto& record : picture_->containers) {
      *whole.add_containers() = message_of(*record);
    }
    whole.set_pass(picture_->pass);
    EXPECT_EQ(mirror_.snapshot().DebugString(), whole.DebugString());
  }

  NodeView view_ = empty_view();
  std::shared_ptr<metrics::Sample> now_;
  std::shared_ptr<const Picture> picture_;
  WatchState state_{{.figures = true}, kTimes};
  Mirror mirror_;
  TimePoint time_{std::chrono::hours(1)};
};

TEST_F(Watch, BeginsWithTheWhole) {
  EXPECT_FALSE(next()) << "nothing is published yet";
  add(view_, shared_container("a"));
  publish();
  const auto message = next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->snapshot().containers_size(), 1);
  EXPECT_EQ(message->snapshot().node().machine().cpus_size(), 8);
  expect_mirrored();
  pass(milliseconds(100));
  EXPECT_FALSE(next()) << "nothing has changed";
}

TEST_F(Watch, ThenSendsWhatChanged) {
  for (const char* id : {"a", "b", "c"}) add(view_, shared_container(id));
  publish();
  ASSERT_TRUE(next());

  view_.containers[1].trouble = "drift";             // b
  view_.containers.erase(view_.containers.begin());  // a
  add(view_, shared_container("d"));
  publish();
  pass(milliseconds(50));
  auto message = next();
  ASSERT_TRUE(message && message->has_change());
  const v1::Change& change = message->change();
  EXPECT_EQ(change.generation(), view_.generation);
  EXPECT_FALSE(change.has_node()) << "nothing in it changed but the generation";
  ASSERT_EQ(change.containers_size(), 2);
  EXPECT_EQ(change.containers(0).id(), "b");
  EXPECT_EQ(change.containers(1).id(), "d");
  EXPECT_THAT(change.removed(), ElementsAre("a"));
  expect_mirrored();

  view_.containers.pop_back();  // d, the last
  publish();
  pass(milliseconds(50));
  message = next();
  ASSERT_TRUE(message);
  EXPECT_THAT(message->change().removed(), ElementsAre("d"));
  expect_mirrored();
}

TEST_F(Watch, SendsTheNodeWithoutItsMachineWhenItChanged) {
  publish();
  ASSERT_TRUE(next());
  ASSERT_TRUE(place(view_, request("a", 1)));
  publish();
  pass(milliseconds(50));
  auto message = next();
  ASSERT_TRUE(message && message->has_change());
  EXPECT_TRUE(message->change().has_node());
  EXPECT_FALSE(message->change().node().has_machine());
  expect_mirrored();

  view_.topology = std::make_shared<const topology::Topology>(
      test_support::machine({.cores_per_l3 = 6, .threads_per_core = 2}));
  publish();
  pass(milliseconds(50));
  message = next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->change().node().machine().cpus_size(), 12);
  expect_mirrored();
}

TEST_F(Watch, SendsAGenerationThatChangedNothing) {
  publish();
  ASSERT_TRUE(next());
  publish();
  pass(milliseconds(50));
  const auto message = next();
  ASSERT_TRUE(message && message->has_change());
  EXPECT_EQ(message->change().generation(), view_.generation);
  EXPECT_EQ(message->change().containers_size(), 0);
}

TEST_F(Watch, SlowReaderGetsOneChangeForMany) {
  publish();
  v1::WatchNodeResponse message;
  ASSERT_TRUE(state_.next(picture_, time_, message));
  EXPECT_TRUE(mirror_.apply(message));
  // The snapshot is not taken by the transport for a while.
  for (int i = 0; i < 100; ++i) {
    if (i % 2 == 0) add(view_, shared_container("c" + std::to_string(i)));
    if (i % 4 == 3) view_.containers.erase(view_.containers.begin());
    publish();
    pass(milliseconds(60));
    v1::WatchNodeResponse none;
    EXPECT_FALSE(state_.next(picture_, time_, none));
  }
  state_.written();
  const auto change = next();
  ASSERT_TRUE(change && change->has_change());
  EXPECT_EQ(change->change().containers_size(), 25);
  EXPECT_EQ(change->change().removed_size(), 0) << "those it never heard of are not removed";
  expect_mirrored();
  pass(milliseconds(50));
  EXPECT_FALSE(next());
}

TEST_F(Watch, WaitsBetweenTwoMessages) {
  state_ = WatchState({.figures = true, .interval = milliseconds(200)}, kTimes);
  publish();
  ASSERT_TRUE(next());
  const TimePoint sent = time_;
  EXPECT_EQ(state_.wake(picture_.get()), sent + milliseconds(5000)) << "the heartbeat";
  publish();
  EXPECT_EQ(state_.wake(picture_.get()), sent + milliseconds(200));
  pass(milliseconds(199));
  EXPECT_FALSE(next());
  pass(milliseconds(1));
  EXPECT_TRUE(next());
}

TEST_F(Watch, IsNeverFasterThanTheAgentWants) {
  publish();
  ASSERT_TRUE(next());
  publish();
  pass(milliseconds(49));
  EXPECT_FALSE(next());
  pass(milliseconds(1));
  EXPECT_TRUE(next());
}

TEST_F(Watch, HearsAHeartbeatWhenNothingElseIsSent) {
  publish();
  ASSERT_TRUE(next());
  pass(milliseconds(4999));
  EXPECT_FALSE(next());
  pass(milliseconds(1));
  auto message = next();
  ASSERT_TRUE(message && message->has_heartbeat());
  EXPECT_EQ(message->heartbeat().generation(), view_.generation);
  EXPECT_FALSE(next());
  pass(milliseconds(5000));
  message = next();
  EXPECT_TRUE(message && message->has_heartbeat());
}

TEST_F(Watch, HeartbeatKeepsTheReadersInterval) {
  state_ = WatchState({.figures = true, .interval = milliseconds(20000)}, kTimes);
  publish();
  ASSERT_TRUE(next());
  pass(milliseconds(19999));
  EXPECT_FALSE(next());
  pass(milliseconds(1));
  EXPECT_TRUE(next()->has_heartbeat());
}

TEST_F(Watch, FiguresGoOnlyToThoseWhoWantThem) {
  WatchState plain({}, kTimes);
  add(view_, shared_container("a"));
  metrics::ContainerFigures measured = figures("a");
  measured.threads = 1;
  now_ = std::make_shared<metrics::Sample>(sample(1, {measured}));
  publish();
  ASSERT_TRUE(next());
  v1::WatchNodeResponse message;
  ASSERT_TRUE(plain.next(picture_, time_, message));
  plain.written();
  EXPECT_FALSE(message.snapshot().containers(0).has_figures());
  EXPECT_EQ(message.snapshot().pass(), 0U);

  measured.threads = 2;
  measured.rates.cpus = 0.5;
  now_ = std::make_shared<metrics::Sample>(sample(2, {measured}));
  picture_ = picture_of({"host", "1", "i"}, view_, now_.get(), picture_.get());
  pass(milliseconds(1000));
  const auto change = next();
  ASSERT_TRUE(change && change->has_change());
  EXPECT_EQ(change->change().containers(0).figures().threads(), 2U);
  EXPECT_EQ(change->change().containers(0).rates().cpus(), 0.5);
  EXPECT_EQ(change->change().pass(), 2U);
  expect_mirrored();
  EXPECT_FALSE(plain.next(picture_, time_, message)) << "only figures changed";
}

// What `threads` of "a" and "b" are, as if measured now; the placement stays.
class SlowFigures : public Watch {
 protected:
  void SetUp() override {
    state_ = WatchState({.figures = true, .figures_interval = milliseconds(10'000)}, kTimes);
    for (const char* id : {"a", "b"}) add(view_, shared_container(id));
    measure(1, 1);
    publish();
    ASSERT_TRUE(next());
    expect_mirrored();
  }
  void measure(std::uint64_t a, std::uint64_t b) {
    auto of_a = figures("a");
    auto of_b = figures("b");
    of_a.threads = a;
    of_b.threads = b;
    now_ = std::make_shared<metrics::Sample>(sample(++passes_, {of_a, of_b}));
    picture_ = picture_of({"host", "1", "i"}, view_, now_.get(), picture_.get());
  }
  std::uint64_t threads_of(const std::string& id) {
    return mirror_.containers().at(id).figures().threads();
  }
  std::uint64_t passes_ = 0;
};

TEST_F(SlowFigures, AloneTheyGoOnlyAsOftenAsAsked) {
  const TimePoint begun = time_;
  for (std::uint64_t second = 1; second < 10; ++second) {
    pass(milliseconds(1000));
    measure(second + 1, 1);
    const auto message = next();
    EXPECT_EQ(message.has_value(), second == 5) << second;
    EXPECT_TRUE(!message || message->has_heartbeat());
    EXPECT_EQ(state_.wake(picture_.get()),
              begun + (second < 5 ? milliseconds(5000) : milliseconds(10'000)));
  }
  EXPECT_EQ(threads_of("a"), 1U);
  pass(milliseconds(1000));
  const auto message = next();
  ASSERT_TRUE(message && message->has_change());
  EXPECT_EQ(message->change().containers_size(), 1) << "b is as it was";
  expect_mirrored();
}

TEST_F(SlowFigures, WhatChangedAWhileAgoIsNotForgotten) {
  pass(milliseconds(1000));
  measure(2, 1);
  EXPECT_FALSE(next());
  pass(milliseconds(1000));
  measure(2, 1);  // and from now on it sleeps
  EXPECT_FALSE(next());
  pass(milliseconds(8000));
  EXPECT_TRUE(next());
  EXPECT_EQ(threads_of("a"), 2U);
}

TEST_F(SlowFigures, ComeAlongWithAnotherChangeOfTheirContainer) {
  pass(milliseconds(1000));
  measure(2, 2);
  view_.containers[0].trouble = "drift";  // a
  publish();
  auto message = next();
  ASSERT_TRUE(message && message->has_change());
  EXPECT_EQ(message->change().pass(), 0U) << "not all of a pass";
  EXPECT_EQ(threads_of("a"), 2U);
  EXPECT_EQ(threads_of("b"), 1U) << "nothing else of it has changed";
  pass(milliseconds(9000));
  message = next();
  ASSERT_TRUE(message && message->has_change());
  EXPECT_EQ(threads_of("b"), 2U);
  expect_mirrored();
}

TEST_F(SlowFigures, OfAContainerThatHasGoneAreNotMissed) {
  pass(milliseconds(1000));
  view_.containers.erase(view_.containers.begin());  // a
  publish();
  ASSERT_TRUE(next());
  pass(milliseconds(9000));
  measure(1, 2);
  ASSERT_TRUE(next());
  EXPECT_EQ(threads_of("b"), 2U);
  expect_mirrored();
}

TEST_F(Watch, ReaderThatReadsNothingIsOverdue) {
  publish();
  v1::WatchNodeResponse message;
  EXPECT_FALSE(state_.overdue(time_));
  ASSERT_TRUE(state_.next(picture_, time_, message));
  EXPECT_EQ(state_.wake(picture_.get()), time_ + milliseconds(30000));
  pass(milliseconds(29999));
  EXPECT_FALSE(state_.overdue(time_));
  pass(milliseconds(1));
  EXPECT_TRUE(state_.overdue(time_));
  state_.written();
  EXPECT_FALSE(state_.overdue(time_));
}

TEST_F(Watch, PicturesShareWhatDidNotChange) {
  add(view_, shared_container("a"));
  add(view_, shared_container("c"));
  publish();
  const auto first = picture_;
  add(view_, shared_container("b"));
  publish();
  ASSERT_EQ(picture_->containers.size(), 3U);
  EXPECT_EQ(picture_->containers[0], first->containers[0]);
  EXPECT_EQ(picture_->containers[2], first->containers[1]);
}

TEST(MirrorOfAWatch, RefusesAChangeWithoutASnapshotAndOneThatGoesBack) {
  Mirror mirror;
  v1::WatchNodeResponse message;
  message.mutable_change()->set_generation(3);
  EXPECT_FALSE(mirror.apply(message));
  EXPECT_FALSE(mirror.complete());
  v1::WatchNodeResponse first;
  first.mutable_snapshot()->mutable_node()->set_generation(4);
  EXPECT_TRUE(mirror.apply(first));
  EXPECT_FALSE(mirror.apply(message));
  EXPECT_EQ(mirror.node().generation(), 4U);
  EXPECT_TRUE(mirror.apply(v1::WatchNodeResponse())) << "an event of a later version";
}

}  // namespace
}  // namespace pinion::agent::api
