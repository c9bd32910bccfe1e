// QoS groups that are slices, in a tree of plain files, with a fake systemd on a bus of its own.
#include "agent/cgroup/qos_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <fstream>

#include "agent/cgroup/cpuset_files.h"
#include "agent/cgroup/slice_record.h"
#include "agent/release/cgroups.h"
#include "base/cgroup/group_files.h"
#include "tests/support/fake_systemd/fake_systemd.h"
#include "tests/support/fake_systemd/private_bus.h"
#include "tests/support/fake_systemd/settled.h"
#include "tests/support/machine.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::cgroup {
namespace {

using engine::Cause;
using engine::CpuSet;
using engine::Enforce;
using engine::Enforced;
using std::chrono::milliseconds;
using test_support::cpus;
using test_support::FakeSystemd;
using test_support::PrivateBus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSlice = "kubepods-burstable.slice";
constexpr const char* kPath = "/kubepods.slice/kubepods-burstable.slice";
constexpr systemd::Timing kPatient{.limit = milliseconds(30'000), .pause = milliseconds(0)};
constexpr systemd::Timing kHasty{.limit = milliseconds(50), .pause = milliseconds(3'600'000)};

class QosWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!bus_.start()) GTEST_SKIP() << "no dbus-daemon: run scripts/deps.sh test";
    ASSERT_TRUE(test_support::write_tree(R"(
cpuset.cpus.effective = 0-7
kubepods.slice/cpuset.cpus.effective = 0-7
kubepods.slice/kubepods-burstable.slice/cpuset.cpus = 0-7
kubepods.slice/kubepods-burstable.slice/cpuset.mems = 0
kubepods/burstable/cpuset.cpus = 0-7
kubepods/burstable/cpuset.mems = 0
)",
                                         dir_.path()));
    const Fd group = open_group();
    if (fsetxattr(group.get(), "user.pinion.test", "1", 1, 0) != 0) {
      GTEST_SKIP() << "the file system of " << dir_.path() << " has no extended attributes";
    }
    fake_.emplace(bus_.address());
  }

  [[nodiscard]] Fd open_group() const {
    return open_directory(AT_FDCWD, (dir_.path().string() + kPath).c_str());
  }
  void property(const std::string& list) {
    fake_->set(kSlice, cpus(list), dir_.path() / (kPath + 1));
  }
  [[nodiscard]] std::string property() { return fake_->allowed(kSlice).to_string(); }
  // As an agent that has just started: it knows nothing but what is on disk.
  [[nodiscard]] CpusetFiles agent(systemd::Timing timing = kPatient) const {
    return {hierarchy(), "/proc", QosWriter(bus_.addresses(), timing)};
  }
  [[nodiscard]] Hierarchy hierarchy() const {
    return {.mount = dir_.path().string(), .version = 2, .writable = true};
  }
  static Enforce want(const std::string& list, Cause cause = Cause::kFence,
                      const std::string& group = kSlice) {
    return {.id = group,
            .cgroups_path = group,
            .cpuset = {.cpus = cpus(list), .mems = {}},
            .cause = cause,
            .qos_group = true};
  }
  static Enforced bring(CpusetFiles& files, const Enforce& wanted) {
    return test_support::enforce_until_quiet(files, wanted);
  }
  static Enforced bring(CpusetFiles&& files, const Enforce& wanted) { return bring(files, wanted); }
  static Widened widen(CpusetFiles files) {
    EXPECT_TRUE(files.widen_narrowed());
    EXPECT_TRUE(test_support::wait_for_news(files));
    return files.take_news().widened.value_or(Widened());
  }
  [[nodiscard]] std::string file() const {
    const auto read = read_set<CpuSet>(open_group().get(), "cpuset.cpus");
    return read ? read->to_string() : read.error().text;
  }
  [[nodiscard]] bool remembered() const {
    return read_slice_record(open_group().get()).has_value();
  }

  test_support::TempDir dir_;
  PrivateBus bus_{dir_.path()};
  std::optional<FakeSystemd> fake_;
};

TEST_F(QosWriterTest, WithoutThePropertyTheFileIsWritten) {
  property("");
  const Enforced done = bring(agent(), want("0-1,4-7"));
  EXPECT_TRUE(done.written);
  EXPECT_EQ(done.limit, std::nullopt) << "systemd has said that there is none";
  EXPECT_EQ(done.slice_error, "");
  EXPECT_EQ(file(), "0-1,4-7");
  EXPECT_EQ(fake_->sets(), 0);
  EXPECT_FALSE(remembered());
}

TEST_F(QosWriterTest, AGroupOfTheCgroupfsDriverIsNoneOfSystemds) {
  const Enforced done = bring(agent(), want("0-1,4-7", Cause::kAudit, "/kubepods/burstable"));
  EXPECT_TRUE(done.written);
  EXPECT_EQ(done.slice_error, "");
  EXPECT_EQ(fake_->calls(), 0);
}

TEST_F(QosWriterTest, WithThePropertySystemdIsToldAndWritesIt) {
  property("0-7");
  CpusetFiles files = agent();
  const Enforced done = bring(files, want("0-1,4-7"));
  EXPECT_TRUE(done.written);
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(done.slice_error, "");
  EXPECT_EQ(done.limit, cpus("0-7"));
  EXPECT_EQ(property(), "0-1,4-7");
  EXPECT_EQ(file(), "0-1,4-7");
  fake_->start_below(kSlice);
  const int calls = fake_->calls();
  const Enforced again = bring(files, want("0-1,4-7", Cause::kStart));
  EXPECT_FALSE(again.written);
  EXPECT_EQ(again.found->cpus, cpus("0-1,4-7"));
  EXPECT_EQ(fake_->calls(), calls) << "nobody is asked while nothing has changed";
}

struct Bound {
  const char* property;
  const char* wanted;
  const char* becomes;
};

TEST_F(QosWriterTest, WhatThePropertySaidIsALimitUnlessNothingWouldBeLeft) {
  for (const Bound& one : {Bound{"0-3", "0-1,4-7", "0-1"}, Bound{"0-3", "0-7", "0-3"},
                           Bound{"0-3", "4-7", "4-7"}, Bound{"0-7", "2-5", "2-5"}}) {
    SCOPED_TRACE(std::string(one.property) + ", wanted " + one.wanted);
    property(one.property);
    CpusetFiles files = agent();
    const Enforced done = bring(files, want(one.wanted));
    EXPECT_EQ(done.limit, cpus(one.property));
    EXPECT_EQ(property(), one.becomes);
    EXPECT_EQ(file(), one.becomes);
    (void)bring(files, want("0-7"));
    EXPECT_EQ(property(), one.property);
  }
}

TEST_F(QosWriterTest, ALimitThatFilesBelowHaveNothingOfIsNotKept) {
  property("0-3");
  CpusetFiles files = agent();
  Enforce wide = want("0-7");
  wide.below = {cpus("3-7"), cpus("0")};
  (void)bring(files, wide);
  EXPECT_EQ(property(), "0-3");
  wide.below = {cpus("4-7")};
  (void)bring(files, wide);
  EXPECT_EQ(property(), "0-7");
  EXPECT_TRUE(remembered());
}

TEST_F(QosWriterTest, WideAgainThePropertyIsAsItWasAndNothingIsLeft) {
  property("0-5");
  CpusetFiles files = agent();
  (void)bring(files, want("0-1"));
  EXPECT_TRUE(remembered());
  EXPECT_TRUE(bring(files, want("0-7")).written);
  EXPECT_EQ(property(), "0-5");
  EXPECT_EQ(file(), "0-5");
  EXPECT_FALSE(remembered());
}

TEST_F(QosWriterTest, TheNextAgentKnowsWhatThePropertyWas) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  CpusetFiles next = agent();
  const Enforced done = bring(next, want("2-7"));
  EXPECT_EQ(done.limit, cpus("0-5"));
  EXPECT_EQ(property(), "2-5");
}

TEST_F(QosWriterTest, AnAgentKilledBeforeItsChangeOrAfterItLeavesTheOriginalKnown) {
  for (const char* now : {"0-1", "2-3"}) {
    SCOPED_TRACE(now);
    property(now);
    ASSERT_TRUE(
        write_slice_record(open_group().get(),
                           {.original = cpus("0-5"), .before = cpus("0-1"), .after = cpus("2-3")}));
    EXPECT_EQ(bring(agent(), want("0-7")).limit, cpus("0-5"));
    EXPECT_EQ(property(), "0-5");
  }
}

TEST_F(QosWriterTest, WhatSomebodyElseSetsMeanwhileIsTheLimitFromThenOn) {
  property("0-7");
  CpusetFiles files = agent();
  (void)bring(files, want("0-3"));
  property("2-6");
  const Enforced done = bring(files, want("0-3", Cause::kStart));
  EXPECT_EQ(done.found->cpus, cpus("2-6"));
  EXPECT_EQ(done.limit, cpus("2-6"));
  EXPECT_EQ(file(), "2-3");
  (void)bring(files, want("0-7"));
  EXPECT_EQ(property(), "2-6");
}

TEST_F(QosWriterTest, APropertyThatAppearsLaterIsSeenByWhatItDoesToTheFile) {
  property("");
  CpusetFiles files = agent();
  (void)bring(files, want("0-3"));
  property("0-5");
  const Enforced done = bring(files, want("0-3", Cause::kStart));
  EXPECT_EQ(done.limit, cpus("0-5"));
  EXPECT_EQ(property(), "0-3");
}

TEST_F(QosWriterTest, APropertyThatIsTakenAwayIsSeenByTheAudit) {
  property("0-5");
  CpusetFiles files = agent();
  (void)bring(files, want("0-3"));
  property("");
  const Enforced done = bring(files, want("0-3", Cause::kAudit));
  EXPECT_EQ(done.limit, std::nullopt);
  EXPECT_EQ(done.slice_error, "");
  EXPECT_FALSE(remembered());
}

TEST_F(QosWriterTest, ARefusalIsSaidAndTheFileIsWritten) {
  property("0-7");
  CpusetFiles files = agent();
  (void)bring(files, want("0-7"));
  fake_->refuse("org.freedesktop.DBus.Error.AccessDenied");
  const Enforced done = bring(files, want("0-1,4-7"));
  EXPECT_TRUE(done.written);
  EXPECT_EQ(done.error, "");
  EXPECT_THAT(done.slice_error, HasSubstr("the test says no"));
  EXPECT_EQ(file(), "0-1,4-7");
  EXPECT_EQ(property(), "0-7");
  fake_->refuse("");
  const Enforced later = bring(files, want("0-1,4-7", Cause::kAudit));
  EXPECT_EQ(later.slice_error, "");
  EXPECT_EQ(property(), "0-1,4-7") << "told as soon as it is possible";
}

TEST_F(QosWriterTest, ASilentSystemdIsWaitedForByNobodyAndTheFileIsWritten) {
  property("0-7");
  fake_->fall_silent();
  CpusetFiles files = agent();
  EXPECT_TRUE(files.enforce(want("0-1,4-7")).written);
  EXPECT_EQ(file(), "0-1,4-7") << "while systemd has half a minute left to answer";
  EXPECT_TRUE(files.enforce(want("0-1,4-5")).written);
  EXPECT_EQ(file(), "0-1,4-5");
  EXPECT_FALSE(files.quiet());
  bus_.stop();  // so that the test ends
  EXPECT_THAT(bring(files, want("0-1")).slice_error, Not(IsEmpty()));
}

TEST_F(QosWriterTest, ASystemdThatNeverAnswersCostsOneLimitAndThatIsSaid) {
  property("0-7");
  fake_->fall_silent();
  CpusetFiles files = agent(kHasty);
  const Enforced done = bring(files, want("0-1,4-7"));
  EXPECT_TRUE(done.written);
  EXPECT_THAT(done.slice_error, HasSubstr("no answer within 50 ms"));
  EXPECT_EQ(bring(files, want("0-1,4-7")).slice_error, done.slice_error) << "to be said once";
  EXPECT_EQ(file(), "0-1,4-7");
}

TEST_F(QosWriterTest, BeforeSystemdHasSaidTheLimitAGroupIsOnlyNarrowed) {
  property("0-3");
  CpusetFiles files = agent();
  const Enforced first = files.enforce(want("0-1,4-7"));
  EXPECT_EQ(file(), "0-1");
  EXPECT_EQ(first.limit, cpus("0-3")) << "what it has, for now";
  EXPECT_EQ(bring(files, want("4-7")).limit, cpus("0-3"));
  EXPECT_EQ(file(), "4-7") << "nothing of the limit is left";
  EXPECT_EQ(property(), "4-7");
}

TEST_F(QosWriterTest, OfSeveralWishesTheLastIsBroughtAbout) {
  property("0-7");
  fake_->hold();
  CpusetFiles files = agent();
  for (const char* list : {"0-6", "0-5", "0-4", "0-3"}) (void)files.enforce(want(list));
  fake_->let_go();
  EXPECT_EQ(bring(files, want("0-3")).slice_error, "");
  EXPECT_EQ(property(), "0-3");
  EXPECT_EQ(file(), "0-3");
  EXPECT_LE(fake_->sets(), 2) << "the one under way, and the last";
}

TEST_F(QosWriterTest, WhatSystemdWritesLateIsNobodyElses) {
  property("0-7");
  CpusetFiles files = agent();
  (void)bring(files, want("0-5"));
  fake_->hold();
  (void)files.enforce(want("0-4"));
  const Enforced during = files.enforce(want("0-3"));
  EXPECT_TRUE(during.systemd_writes);
  EXPECT_EQ(file(), "0-3");
  fake_->let_go();
  (void)bring(files, want("0-3"));
  EXPECT_EQ(file(), "0-3");
  EXPECT_FALSE(bring(files, want("0-3")).systemd_writes);
}

// What Node does between an event and its answer.
void do_work(engine::Engine& engine, CpusetFiles& files) {
  while (const auto work = engine.next()) {
    (void)engine.report(files.enforce(std::get<Enforce>(*work)));
  }
}

TEST_F(QosWriterTest, ARanksStartDoesNotWaitForSystemdWhichIsToldAllTheSame) {
  property("0-7");
  fake_->hold();
  CpusetFiles files = agent();
  engine::Engine engine(test_support::machine({.cores_per_l3 = 8}), {}, engine::FenceKind::kTree);
  engine::Pod burstable = test_support::make_pod("b", engine::Qos::kBurstable);
  burstable.cgroup_parent = "kubepods-burstable-podb.slice";
  (void)engine.handle(engine::PodEvent{.kind = engine::PodEvent::Kind::kRun, .pod = burstable});
  do_work(engine, files);
  const test_support::Unit rank = test_support::rank("r", 2);
  (void)engine.handle(engine::CreateContainer{rank.pod, rank.container});
  do_work(engine, files);
  (void)engine.handle(engine::ContainerEvent{
      .kind = engine::ContainerEvent::Kind::kStart, .pod = rank.pod, .container = rank.container});
  do_work(engine, files);
  EXPECT_EQ(file(), "2-7") << "before its program starts, and systemd has answered nothing";
  EXPECT_EQ(property(), "0-7");
  fake_->let_go();
  while (test_support::wait_for_news(files)) {
    for (const std::string& group : files.take_news().groups) engine.look_again(group);
    do_work(engine, files);
  }
  EXPECT_EQ(property(), "2-7");
  EXPECT_EQ(file(), "2-7");
  EXPECT_EQ(engine.counters().drift, 0U);
  EXPECT_EQ(engine.counters().qos_groups_lost, 0U);
  EXPECT_EQ(engine.state().qos_groups.at(kSlice).limit, cpus("0-7"));
}

TEST_F(QosWriterTest, WithoutABusTheRecordStillLimits) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  fake_.reset();
  bus_.stop();
  const Enforced done = bring(agent(), want("2-7"));
  EXPECT_TRUE(done.written);
  EXPECT_THAT(done.slice_error, HasSubstr("connect to unix:path="));
  EXPECT_EQ(done.limit, cpus("0-5"));
  EXPECT_EQ(file(), "2-5");
}

TEST_F(QosWriterTest, AGroupThatSystemdDoesNotWriteIsWritten) {
  property("0-7");
  fake_->leave_groups_alone();
  EXPECT_TRUE(bring(agent(), want("0-1,4-7")).written);
  EXPECT_EQ(file(), "0-1,4-7");
}

TEST_F(QosWriterTest, AnAgentOfAnotherFencePutsThePropertyBack) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  const Widened widened = widen(agent());
  EXPECT_THAT(widened.groups, ElementsAre(kPath));
  EXPECT_THAT(widened.failed, IsEmpty());
  EXPECT_EQ(property(), "0-5");
  EXPECT_EQ(file(), "0-5");
  EXPECT_FALSE(remembered());
  EXPECT_THAT(widen(agent()).groups, IsEmpty());
}

TEST_F(QosWriterTest, WhatSomebodyElseHasSetSinceIsNotPutBack) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  property("3-4");
  EXPECT_THAT(widen(agent()).groups, ElementsAre(kPath));
  EXPECT_EQ(property(), "3-4");
}

TEST_F(QosWriterTest, AFileWrittenPastSystemdIsPutBackToo) {
  property("0-5");
  CpusetFiles files = agent();
  (void)bring(files, want("0-5"));
  fake_->refuse("org.freedesktop.DBus.Error.AccessDenied");
  (void)bring(files, want("0-1"));
  fake_->refuse("");
  EXPECT_EQ(file(), "0-1");
  EXPECT_THAT(widen(agent()).groups, ElementsAre(kPath));
  EXPECT_EQ(file(), "0-5");
}

TEST_F(QosWriterTest, WhatCannotBePutBackIsSaidAndKeptForTheNext) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  fake_->refuse("org.freedesktop.DBus.Error.AccessDenied");
  const Widened widened = widen(agent());
  EXPECT_THAT(widened.groups, IsEmpty());
  EXPECT_THAT(widened.failed, ElementsAre(HasSubstr("the test says no")));
  EXPECT_EQ(file(), "0-7");
  EXPECT_TRUE(remembered());
  fake_->refuse("");
  EXPECT_THAT(widen(agent()).groups, ElementsAre(kPath));
  EXPECT_EQ(property(), "0-5");
}

TEST_F(QosWriterTest, ReleasePutsItBack) {
  property("0-5");
  (void)bring(agent(), want("0-1"));
  SliceProperties slices(bus_.addresses(), kPatient);
  const auto released = release(hierarchy(), slices);
  ASSERT_TRUE(released) << released.error().text;
  EXPECT_THAT(released->widened, ElementsAre(kPath));
  EXPECT_THAT(released->failed, IsEmpty());
  EXPECT_EQ(property(), "0-5");
  EXPECT_EQ(file(), "0-5");
}

TEST(SliceRecord, IsThreeListsThatAreNotEmpty) {
  const SliceRecord record{.original = cpus("0-7"), .before = cpus("0-7"), .after = cpus("0-1,4")};
  EXPECT_EQ(to_text(record), "0-7 0-7 0-1,4");
  EXPECT_EQ(parse_slice_record("0-7 0-7 0-1,4"), record);
  for (const char* text : {"", "0-7", "0-7 0-7", "0-7  0-1", " 0-7 0-1", "0-7 0-1 ", "a b c",
                           "0-7 0-7 0-1 4", "0-7\n0-7\n0-1"}) {
    EXPECT_EQ(parse_slice_record(text), std::nullopt) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace pinion::cgroup
