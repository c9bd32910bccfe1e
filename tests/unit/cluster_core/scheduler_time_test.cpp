// When the core has something to do by time alone.
#include <gmock/gmock.h>

#include "tests/unit/cluster_core/scheduler_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Times = std::optional<std::int64_t>;

TEST(DueTimes, AreKeptInOrderWhateverIsSetAnew) {
  DueTimes<std::string> times;
  EXPECT_EQ(times.first_ms(), Times());
  times.set("b", 20);
  times.set("c", 10);
  times.set("a", 10);
  times.set("never", kNeverDue);
  EXPECT_EQ(times.first_ms(), Times(10));
  EXPECT_THAT(times.due(9), IsEmpty());
  EXPECT_THAT(times.due(20), ElementsAre("a", "c", "b"));
  times.set("c", 30);
  EXPECT_THAT(times.take(20), ElementsAre("a", "b"));
  EXPECT_EQ(times.first_ms(), Times(30));
  times.erase("c");
  EXPECT_EQ(times.first_ms(), Times());
  EXPECT_TRUE(times.contains("never"));
  EXPECT_THAT(times.take(kNeverDue), IsEmpty());
}

TEST(DueTimes, SumsEndAtNever) {
  EXPECT_EQ(after(5, 10), 15);
  EXPECT_EQ(after(-5, kNeverDue), kNeverDue - 5);
  EXPECT_EQ(after(5, kNeverDue), kNeverDue);
  EXPECT_EQ(earlier(Times(), Times(3)), Times(3));
  EXPECT_EQ(earlier(Times(2), Times(3)), Times(2));
  EXPECT_EQ(doubled(3, 0), 3);
  EXPECT_EQ(doubled(3, 4), 48);
  EXPECT_EQ(doubled(kNeverDue / 2, 1), kNeverDue - 1);
  EXPECT_EQ(doubled(kNeverDue / 2 + 1, 1), kNeverDue);
  EXPECT_EQ(doubled(kNeverDue, 6), kNeverDue);
}

// Two nodes as in the fixture, and the times that a test wants.
class TimeTest : public SchedulerTest {
 protected:
  using State = Member::State;

  std::unique_ptr<Scheduler> with(const SchedulerSettings& settings) {
    auto core = std::make_unique<Scheduler>(settings);
    for (const char* node : {"a", "b"}) {
      EXPECT_TRUE(core->report(report_of(node, machine_), 0));
    }
    return core;
  }
  static void add(Scheduler& core, const JobId& id, int cpus, std::int64_t now_ms) {
    core.submit(id, {}, now_ms);
    core.join(id, id, {request_of(id + "/main", cpus)}, now_ms);
    core.run(now_ms);
  }
  static State state(const Scheduler& core, const MemberId& id) {
    return core.book().member(id)->state;
  }
};

TEST_F(TimeTest, NothingIsDueWhereNothingEnds) {
  const auto core = with({.keep_ms = kNeverDue, .confirm_ms = kNeverDue});
  add(*core, "j", 7, 0);
  ASSERT_EQ(state(*core, "j"), State::kReserved);
  EXPECT_EQ(core->next_ms(), Times());
  core->start("j", 0);
  core->started("j", true, 0);
  EXPECT_EQ(core->next_ms(), Times());
}

TEST_F(TimeTest, AReservationIsKeptForAWhileAfterTheLastQuestion) {
  const auto core = with({.keep_ms = 5000});
  add(*core, "j", 1, 0);
  EXPECT_EQ(core->next_ms(), Times(5000));
  core->place("j", nullptr, 3000);
  EXPECT_EQ(core->next_ms(), Times(8000));
  core->tick(7999);
  EXPECT_EQ(state(*core, "j"), State::kReserved);
  core->tick(8000);
  EXPECT_EQ(state(*core, "j"), State::kWaiting);
  EXPECT_EQ(core->next_ms(), Times());
}

TEST_F(TimeTest, AStartIsAwaitedForAWhileAlsoOnANodeThatIsLost) {
  const auto core = with({.confirm_ms = 9000});
  for (const char* id : {"j", "k"}) {
    add(*core, id, 7, 0);
    core->start(id, 0);
    EXPECT_EQ(core->next_ms(), id == std::string("j") ? Times() : Times(9000))
        << "who is being started has all the time that takes";
    core->started(id, true, 0);
  }
  EXPECT_EQ(core->next_ms(), Times(9000));
  core->lost(core->book().member("k")->node, 10);
  ASSERT_TRUE(core->runs("j", core->book().member("j")->node, 20));
  EXPECT_EQ(core->next_ms(), Times(9000));
  core->tick(9000);
  EXPECT_EQ(state(*core, "j"), State::kRunning);
  EXPECT_EQ(state(*core, "k"), State::kWaiting);
  EXPECT_EQ(core->next_ms(), Times());
}

TEST_F(TimeTest, ASilentNodeIsNoticedWhenItsTimeIsUp) {
  const auto core = with({.silent_ms = 3000});
  core->exists("c", true, 500);
  EXPECT_EQ(core->next_ms(), Times(3000));
  core->heard("a", 1000);
  EXPECT_EQ(core->next_ms(), Times(3000));
  core->tick(3000);
  const Fleet& fleet = core->fleet();
  EXPECT_TRUE(fleet.node(fleet.find("b")).stale);
  EXPECT_TRUE(fleet.awaits());
  EXPECT_EQ(core->next_ms(), Times(3500));
  core->tick(3500);
  EXPECT_FALSE(fleet.awaits());
  EXPECT_EQ(core->next_ms(), Times(4000));
  core->unlinked("a", 3600);
  EXPECT_EQ(core->next_ms(), Times());
}

TEST_F(TimeTest, WhoWasRefusedHasItsTurnAgain) {
  const auto core = with({.retry_ms = 1000, .keep_ms = kNeverDue});
  add(*core, "runs", 7, 0);
  add(*core, "also-runs", 7, 0);
  add(*core, "first", 4, 100);
  add(*core, "second", 4, 200);
  EXPECT_EQ(core->next_ms(), Times()) << "room would help, and time does not";
  core->leave("runs", 300);
  add(*core, "third", 7, 400);
  // What is given back is looked at by all in order, when the second's turn has come.
  EXPECT_EQ(state(*core, "first"), State::kReserved);
  EXPECT_EQ(core->next_ms(), Times(1000));
  core->run(1000);
  EXPECT_EQ(core->next_ms(), Times());
}

// Also where somebody else chooses who is tried.
TEST_F(TimeTest, RoomIsHeldFromItsTimeOnAndUntilItIsOver) {
  for (const bool runs : {true, false}) {
    SCOPED_TRACE(runs);
    const auto core = with({.keep_ms = kNeverDue, .head_after_ms = 60'000, .head_ms = 600'000});
    const auto turn = [&](std::int64_t now_ms) {
      core->tick(now_ms);
      if (runs) {
        core->run(now_ms);
      } else if (core->take_changed()) {
        core->keep_room_for_first(now_ms);
      }
    };
    for (const char* id : {"runs", "also-runs"}) add(*core, id, 4, 0);
    add(*core, "large", 7, 5000);
    core->take_changed();
    EXPECT_EQ(core->next_ms(), Times(65'000));
    turn(64'999);
    EXPECT_FALSE(core->head_room());
    turn(65'000);
    ASSERT_TRUE(core->head_room());
    EXPECT_EQ(core->next_ms(), Times(665'000)) << "then others have their turn";
    turn(665'000);
    EXPECT_FALSE(core->head_room());
    EXPECT_EQ(core->next_ms(), Times(1'265'000)) << "and for as long";
  }
}

}  // namespace
}  // namespace pinion::cluster
