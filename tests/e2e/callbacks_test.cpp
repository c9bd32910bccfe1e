// Callbacks that are slow, fail or get lost between the scheduler and the extender, while pods and
// gangs come and go: at any time somebody may believe that nothing has happened where something
// has.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/crowd.h"
#include "tests/e2e/proxy.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using namespace std::chrono_literals;

// The scheduler tries again after kBackoff. A bind is held for longer than that, so that those who
// have failed find the others of their gang there, and for less than the scheduler waits.
constexpr std::chrono::seconds kBackoff{1};
constexpr const char* kHold = "2s";
constexpr std::chrono::seconds kTimeout{3};

struct Fault {
  const char* name;
  int per_mille;  // of all calls
  Fate fate;
};
using Reply = Fate::Reply;
const std::array kFaults{
    Fault{"slow", 100, {.before = 20ms, .after = 50ms}},
    Fault{"cut before the extender hears of it", 40, {.heard = false, .reply = Reply::kCut}},
    Fault{"cut after the extender has answered", 40, {.reply = Reply::kCut}},
    Fault{"error before the extender hears of it", 40, {.heard = false, .reply = Reply::kError}},
    Fault{"error after the extender has answered", 40, {.reply = Reply::kError}},
    Fault{"the answer comes after the time-out", 10, {.after = kTimeout + 200ms}},
    Fault{"the extender hears of it after the time-out", 10, {.before = kTimeout + 200ms}},
    Fault{"the extender hears of it long after the time-out", 10, {.before = 2 * kTimeout}}};

class Callbacks : public Crowd {
 protected:
  void TearDown() override {
    Crowd::TearDown();
    if (!HasFailure()) return;
    for (std::size_t i = 0; i < kFaults.size(); ++i) {
      std::cerr << met_[i] << " times: " << kFaults[i].name << '\n';
    }
  }

  void start_behind_proxy(int nodes) {
    auto proxy = Proxy::start([this] { return extender().address(); });
    ASSERT_TRUE(ok(proxy));
    proxy_ = *std::move(proxy);
    start(nodes,
          {.extender = ExtenderCall{.url = proxy_->url(), .timeout = kTimeout},
           .max_backoff = kBackoff},
          {"--hold-time", kHold});
  }

  Fate some_fate() {
    int rest = 0;
    {
      const std::lock_guard lock(mutex_);
      rest = static_cast<int>(random_() % 1000);
    }
    for (std::size_t i = 0; i < kFaults.size(); ++i) {
      rest -= kFaults[i].per_mille;
      if (rest >= 0) continue;
      ++met_[i];
      return kFaults[i].fate;
    }
    return {};
  }

  // That the extender knows: gangs, and pods that wait.
  testing::AssertionResult nothing_is_left() {
    nlohmann::json jobs;
    const bool none = lab::eventually(kPatience, [&] {
      const auto page = extender().page("/v1/jobs");
      jobs = page ? kube::json_at(*page, "jobs") : nlohmann::json();
      return page && jobs.empty();
    });
    if (none) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "left are " << jobs;
  }

  Proxy& proxy() { return *proxy_; }

 private:
  std::mutex mutex_;
  std::mt19937 random_{static_cast<unsigned>(seed())};
  std::array<std::atomic<int>, kFaults.size()> met_{};
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(Callbacks, ThatAreSlowOrFailLeaveNothingBehind) {
  start_behind_proxy(6);
  proxy().obey([this](const std::string&) { return some_fate(); });
  come_and_go(number_from("PINION_E2E_PODS", 300), number_from("PINION_E2E_CROWD", 20),
              [this] { return 1 + roll(roll(3) == 0 ? 14 : 6); });
  if (HasFatalFailure()) return;
  proxy().obey({});
  finish();
  if (HasFatalFailure()) return;
  // There is room for all of these at once, if no promise has been left.
  const Gang all{.job = "all", .size = 12, .cpus = 15};
  add(all);
  ASSERT_TRUE(run(names(all)));
  EXPECT_TRUE(agents_and_extender_agree());
  remove(names(all));
  EXPECT_TRUE(nothing_is_left());
}

// As when a machine between the two hangs: what the scheduler asked about a gang's member arrives
// when that member, and its whole gang, are no more. Another gang of that name must not suffer.
TEST_F(Callbacks, AQuestionThatComesAfterItsPodsEndLeavesNothing) {
  start_behind_proxy(2);
  const Gang gang{.job = "gang", .size = 4, .cpus = 15};
  std::promise<void> asked;
  std::promise<void> gone;
  std::atomic<bool> first = true;
  proxy().obey([&](const std::string& verb) {
    if (verb != "filter" || !first.exchange(false)) return Fate();
    asked.set_value();
    gone.get_future().wait();
    return Fate();
  });
  add(member(gang, 0));
  asked.get_future().wait();
  remove({"gang-0"});
  ASSERT_TRUE(nothing_is_left());
  proxy().obey({});
  gone.set_value();
  add(gang);
  EXPECT_TRUE(run(names(gang)));
  remove(names(gang));
  EXPECT_TRUE(nothing_is_left());
}

}  // namespace
}  // namespace pinion::e2e
