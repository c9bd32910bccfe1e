#include "cluster/extender/program/rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

#include "tests/support/eventually.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using test_support::eventually;

TEST(Rounds, WhoeverHurriesThemGetsThemNoFasterThanTheirLeastPause) {
  constexpr std::size_t wanted = 4;
  std::vector<Clock::time_point> begins;
  std::promise<void> enough;
  Rounds rounds(
      [&] {
        if (begins.size() == wanted) return std::chrono::milliseconds(1h);
        begins.push_back(Clock::now());
        if (begins.size() == wanted) enough.set_value();
        return std::chrono::milliseconds(1h);
      },
      20ms);
  const auto done = enough.get_future();
  while (done.wait_for(1ms) != std::future_status::ready) rounds.hurry();
  for (std::size_t i = 1; i < wanted; ++i) EXPECT_GE(begins[i] - begins[i - 1], 20ms);
}

TEST(Rounds, WhatComesDuringARoundIsLookedAtAfterIt) {
  std::atomic<Rounds*> rounds = nullptr;
  std::promise<void> second;
  int count = 0;
  Rounds own([&] {
    EXPECT_TRUE(eventually([&] { return rounds != nullptr; }));
    if (++count == 1) rounds.load()->hurry();
    if (count == 2) second.set_value();
    return std::chrono::milliseconds(1h);
  });
  rounds = &own;
  second.get_future().wait();
}

}  // namespace
}  // namespace pinion::cluster
