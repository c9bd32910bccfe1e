#include "agent/node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/kept_file.h"
#include "tests/support/machine.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"
#include "topology/discover/discover.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using engine::ContainerEvent;
using test_support::Unit;

// Where nothing but the runtime's answers changes a container.
class NodeWithoutFiles : public testing::Test {
 protected:
  void run(const Unit& unit) {
    node_.handle(engine::CreateContainer{unit.pod, unit.container});
    for (const auto kind : {ContainerEvent::Kind::kStart, ContainerEvent::Kind::kPostStart}) {
      node_.handle(ContainerEvent{.kind = kind, .pod = unit.pod, .container = unit.container});
    }
    check();
  }
  void end(const Unit& unit) {
    node_.handle(engine::StopContainer{unit.pod, unit.container});
    node_.handle(engine::PodEvent{.kind = engine::PodEvent::Kind::kStop, .pod = unit.pod});
    check();
  }
  // The state, so that no check is due any more.
  void check() { node_.finish(last_check_ += 100ms); }

  Log log_{"error", LogFormat::kText};
  Node node_{engine::Engine(test_support::laptop(), {}, engine::FenceKind::kRuntime), std::nullopt,
             std::nullopt, log_, 10s};
  Clock::time_point now_ = Clock::now();
  Clock::time_point last_check_ = now_;
};

TEST_F(NodeWithoutFiles, TheStateIsCheckedAtOnceAndThenEvery100MsWhileThereAreEvents) {
  const Unit rank = test_support::rank("r", 1);
  run(rank);
  EXPECT_FALSE(node_.take_resync_request(now_));
  EXPECT_FALSE(node_.next_work(true).has_value());
  node_.handle(engine::StopContainer{rank.pod, rank.container});
  node_.finish(last_check_ + 99ms);
  EXPECT_FALSE(node_.take_resync_request(now_ + 250ms));
  EXPECT_EQ(node_.next_work(true), last_check_ + 100ms);
  node_.finish(last_check_ + 100ms);
  EXPECT_FALSE(node_.next_work(true).has_value());
}

TEST_F(NodeWithoutFiles, WhereNoAnswerComesWhatIsFreeAgainIsToldByAResyncAfterAMinute) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  EXPECT_FALSE(node_.take_resync_request(now_));
  EXPECT_FALSE(node_.next_work(true).has_value());
  end(rank);
  EXPECT_FALSE(node_.take_resync_request(now_)) << "it has just looked";
  const auto next = node_.next_work(true);
  ASSERT_EQ(next, now_ + 250ms);
  EXPECT_FALSE(node_.take_resync_request(*next)) << "an answer may come that can tell it";
  EXPECT_EQ(node_.next_work(true), *next + 60s);
  EXPECT_FALSE(node_.take_resync_request(*next + 59s));
  EXPECT_TRUE(node_.take_resync_request(*next + 60s));
  EXPECT_FALSE(node_.take_resync_request(*next + 60s));
}

// Else the main loop would spin for as long as the runtime is away.
TEST_F(NodeWithoutFiles, NoResyncIsDueWhileNobodyListens) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  EXPECT_TRUE(node_.next_work(true).has_value());
  EXPECT_FALSE(node_.next_work(false).has_value());
  EXPECT_FALSE(node_.take_resync_request(now_));
  end(rank);
  EXPECT_FALSE(node_.take_resync_request(now_ + 250ms)) << "waits for an answer for a minute";
  EXPECT_TRUE(node_.next_work(true).has_value());
  EXPECT_FALSE(node_.next_work(false).has_value());
}

TEST_F(NodeWithoutFiles, AnAnswerThatTellsItComesBeforeAResync) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  end(rank);
  EXPECT_FALSE(node_.take_resync_request(now_));
  const Unit next = test_support::shared("t");
  const auto reply = node_.handle(engine::CreateContainer{next.pod, next.container});
  EXPECT_EQ(reply.updates.size(), 1U);
  check();
  EXPECT_FALSE(node_.take_resync_request(now_ + 60s));
  EXPECT_FALSE(node_.next_work(true).has_value());
}

TEST_F(NodeWithoutFiles, AnUpdateOfWhichTheRuntimeSaysNothingIsGivenUpAfter10Seconds) {
  const Unit rank = test_support::rank("r", 2);
  run(rank);
  const auto held = [&] { return node_.engine().state().ledger.exclusive().count(); };
  node_.handle(engine::UpdateContainer{rank.pod, rank.container, test_support::cpu(4000)});
  check();
  EXPECT_EQ(held(), 4);
  EXPECT_FALSE(node_.work(now_ + 9900ms));
  EXPECT_EQ(held(), 4);
  EXPECT_LE(node_.next_work(true), Clock::now() + 10s);
  EXPECT_TRUE(node_.work(Clock::now() + 10s));
  EXPECT_EQ(held(), 2);
  EXPECT_FALSE(node_.work(Clock::now() + 10s));
}

TEST_F(NodeWithoutFiles, ARefusedUpdateIsNotWaitedFor) {
  const Unit rank = test_support::rank("r", 2);
  run(rank);
  EXPECT_FALSE(node_.take_resync_request(now_));
  const auto ask = [&](std::int64_t milli) {
    const auto reply =
        node_.handle(engine::UpdateContainer{rank.pod, rank.container, test_support::cpu(milli)});
    check();
    return reply.refusal.has_value();
  };
  for (const std::int64_t before : {2000, 4000}) {
    SCOPED_TRACE(before);  // the second is given up by the refused one
    EXPECT_FALSE(ask(before));
    EXPECT_TRUE(ask(64'000));
    now_ += 250ms;
    EXPECT_FALSE(node_.take_resync_request(now_));
    EXPECT_FALSE(node_.next_work(true).has_value());
  }
}

class NodeWithAFile : public testing::Test {
 protected:
  void SetUp() override { mark(); }
  void mark() const { std::ofstream(path_) << kMark; }
  [[nodiscard]] bool is_marked() const {
    std::string text;
    std::getline(std::ifstream(path_), text);
    return text == kMark;
  }
  // Whether the file is written anew, or taken away, after this event: with what pods keep then.
  bool saves(const engine::Event& event) {
    mark();
    node_.handle(event);
    node_.finish(now_);
    return has_saved();
  }
  bool has_saved() const {
    if (is_marked()) return false;
    EXPECT_EQ(load_kept(path_).value(), node_.engine().kept());
    EXPECT_EQ(std::filesystem::exists(path_), !node_.engine().kept().empty());
    return true;
  }

  static constexpr const char* kMark = "of another agent";
  Clock::time_point now_ = Clock::now();
  test_support::TempDir dir_;
  std::string path_ = dir_.path() / kKeptFile;
  Log log_{"error", LogFormat::kText};
  Node node_{engine::Engine(test_support::laptop(), {}, engine::FenceKind::kRuntime),
             std::nullopt,
             std::nullopt,
             log_,
             10s,
             {},
             path_};
};

TEST_F(NodeWithAFile, WritesNothingUntilAllContainersAreKnown) {
  node_.finish(Clock::now());
  EXPECT_TRUE(is_marked());
  EXPECT_TRUE(saves(test_support::all_running({})));
}

TEST_F(NodeWithAFile, SavesWhatPodsKeepAfterEachEventThatChangesIt) {
  const Unit rank = test_support::rank("r", 1);
  Unit again = rank;
  again.container.id = "again";
  Unit resized = rank;
  resized.container.resources = test_support::cpu(2000);
  const Unit other = test_support::rank("other", 1);
  const Unit shared = test_support::shared("s");
  engine::Pod whole = test_support::make_pod("whole");
  whole.resources = test_support::cpu(2500);
  const auto part = [&](const char* name, int milli) {
    return engine::CreateContainer{
        whole, test_support::make_container(whole, name, test_support::cpu(milli))};
  };
  const auto told = [](const Unit& unit, ContainerEvent::Kind kind) {
    return ContainerEvent{.kind = kind, .pod = unit.pod, .container = unit.container};
  };
  const auto ends = [](const Unit& unit) {
    return engine::PodEvent{.kind = engine::PodEvent::Kind::kStop, .pod = unit.pod};
  };
  topology::Topology fewer = test_support::laptop();
  fewer.online -= test_support::cpus("0-1");
  const struct {
    const char* name;
    engine::Event event;
    bool saves;
  } steps[] = {
      {"all is known", test_support::all_running({}), true},
      {"a rank comes", engine::CreateContainer{rank.pod, rank.container}, false},
      {"it starts", told(rank, ContainerEvent::Kind::kStart), false},
      {"it is resized", engine::UpdateContainer{rank.pod, rank.container, test_support::cpu(2000)},
       false},
      {"that is done", told(resized, ContainerEvent::Kind::kPostUpdate), false},
      {"it ends", engine::StopContainer{rank.pod, rank.container}, true},
      {"another pod's rank comes", engine::CreateContainer{other.pod, other.container}, false},
      {"a shared one comes", engine::CreateContainer{shared.pod, shared.container}, false},
      {"a shared one ends", engine::StopContainer{shared.pod, shared.container}, false},
      {"a pod that keeps nothing ends", ends(shared), false},
      {"all is told again", test_support::all_running({rank, other}), true},
      {"it ends again", engine::StopContainer{rank.pod, rank.container}, true},
      {"it comes again", engine::CreateContainer{again.pod, again.container}, true},
      {"the first of a whole pod comes", part("first", 1000), true},
      {"one that is shared leaves enough", part("half", 500), false},
      {"one that is shared needs of it", part("another half", 500), true},
      {"it ends for the last time", engine::StopContainer{again.pod, again.container}, true},
      {"its pod ends", ends(again), true},
      {"the other one ends", engine::StopContainer{other.pod, other.container}, true},
      {"CPUs go offline", engine::MachineChanged{fewer}, true},
      {"that one's pod ends", ends(other), true},
  };
  for (const auto& step : steps) {
    EXPECT_EQ(saves(step.event), step.saves) << step.name;
  }
}

// Its start may have failed, which nobody tells.
TEST_F(NodeWithAFile, SavesWhatAContainerHasThatDoesNotStartAMomentLater) {
  EXPECT_TRUE(saves(test_support::all_running({})));
  const Unit fails = test_support::rank("f", 1);
  const Unit starts = test_support::rank("s", 1);
  const auto start = [&](const Unit& unit) {
    return ContainerEvent{
        .kind = ContainerEvent::Kind::kStart, .pod = unit.pod, .container = unit.container};
  };
  const auto a_moment_later = [&] {
    now_ += 500ms;
    EXPECT_LE(node_.next_work(true).value_or(Clock::time_point::max()), now_);
    node_.finish(now_);
    return has_saved();
  };
  EXPECT_FALSE(saves(engine::CreateContainer{fails.pod, fails.container}));
  EXPECT_TRUE(a_moment_later());
  mark();
  EXPECT_FALSE(saves(engine::CreateContainer{starts.pod, starts.container}));
  EXPECT_FALSE(saves(start(starts)));
  EXPECT_FALSE(a_moment_later()) << "the same is in the file";
  EXPECT_FALSE(saves(start(fails)));
  EXPECT_TRUE(a_moment_later());
}

TEST_F(NodeWithAFile, SavesAtAnOrderlyEndWhatHasNotStartedYet) {
  EXPECT_TRUE(saves(test_support::all_running({})));
  const Unit fails = test_support::rank("f", 1);
  EXPECT_FALSE(saves(engine::CreateContainer{fails.pod, fails.container}));
  node_.end(now_);
  EXPECT_TRUE(has_saved());
}

TEST_F(NodeWithAFile, SavesAllAgainWhereItIsGone) {
  const Unit rank = test_support::rank("r", 2);
  EXPECT_TRUE(saves(test_support::all_running({rank})));
  EXPECT_TRUE(saves(engine::StopContainer{rank.pod, rank.container}));
  mark();
  node_.save_again();
  node_.finish(now_);
  EXPECT_TRUE(has_saved());
}

TEST_F(NodeWithAFile, WritesNothingAtAnEndBeforeAllContainersAreKnown) {
  node_.end(now_);
  EXPECT_TRUE(is_marked());
}

TEST_F(NodeWithAFile, WhereTheFileCannotBeWrittenItTriesAgain) {
  const Unit rank = test_support::rank("r", 2);
  EXPECT_TRUE(saves(test_support::all_running({rank})));
  std::filesystem::create_directory(path_ + ".new");  // in the way
  node_.handle(engine::StopContainer{rank.pod, rank.container});
  node_.finish(Clock::now());
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::filesystem::remove(path_ + ".new");
  node_.finish(Clock::now());
  ASSERT_EQ(node_.engine().kept().size(), 1U);
  EXPECT_EQ(load_kept(path_).value(), node_.engine().kept());
}

// As an attacker makes them: nobody else waits for them.
TEST(NodeWithManyGroupsInside, FollowsAFewInATurnAndTheOthersBetweenEvents) {
  constexpr int kGroups = 600;
  const test_support::TempDir dir;
  const Unit many = test_support::shared("many");
  const std::string group = "cg" + many.container.cgroups_path;
  const Unit ranks[] = {test_support::rank("a", 2), test_support::rank("b", 2)};
  std::string tree = group + "/cpuset.cpus = 0-7\n" + group + "/cpuset.mems = 0\n" + group +
                     "/n[0-599]/cpuset.cpus = 0-7\n";
  for (const Unit& rank : ranks) {
    tree += "cg" + rank.container.cgroups_path + "/cpuset.cpus = 0-7\n";
    tree += "cg" + rank.container.cgroups_path + "/cpuset.mems = 0\n";
  }
  ASSERT_TRUE(test_support::write_tree(tree, dir.path()));
  const auto with = [&](const engine::CpuSet& cpus) {
    int count = 0;
    for (int i = 0; i < kGroups; ++i) {
      std::ifstream file(dir.path() / group / ("n" + std::to_string(i)) / "cpuset.cpus");
      std::string text;
      std::getline(file, text);
      if (text == cpus.to_string()) ++count;
    }
    return count;
  };
  Log log("error", LogFormat::kText);
  Node node{engine::Engine(test_support::laptop(), {}, engine::FenceKind::kLeaf),
            cgroup::CpusetFiles({.mount = dir.path() / "cg", .version = 1, .writable = true},
                                dir.path() / "proc"),
            std::nullopt, log, 1h};
  Clock::time_point now = Clock::now();
  node.handle(test_support::all_running({many}));
  const auto start = [&](const Unit& rank) {
    EXPECT_FALSE(node.handle(engine::CreateContainer{rank.pod, rank.container}).refusal);
    node.handle(ContainerEvent{
        .kind = ContainerEvent::Kind::kStart, .pod = rank.pod, .container = rank.container});
    node.finish(now);
    return with(node.engine().pool());
  };
  int done = start(ranks[0]);
  EXPECT_GT(done, 0);
  EXPECT_LE(done, 256);
  const auto quiet = [&] {
    EXPECT_FALSE(node.work(now)) << "it waits for events in between";
    node.finish(now);
    const int before = std::exchange(done, with(node.engine().pool()));
    EXPECT_LE(done - before, 64);
    const auto next = std::max(now, node.next_work(false).value_or(now));
    if (done < kGroups) {
      EXPECT_LE(next, now + 20ms);
    }
    now = next;
  };
  for (int i = 0; i < 2; ++i) quiet();
  EXPECT_LT(done, kGroups);
  EXPECT_EQ(start(ranks[1]), 0) << "they are many: the start waits for none of them";
  done = 0;
  for (int i = 0; i < 10 * kGroups && done < kGroups; ++i) quiet();
  EXPECT_EQ(done, kGroups);
}

// In a tree of plain files no partition can be made: what is said of it tells that one was tried.
TEST(NodeWithPartitions, AfterCpusCameBackItTriesOneOnFreeCpus) {
  const topology::Source whole{topology::Source::Kind::kSynthetic,
                               "package:1 [numa(memory=1GB)] l3:1 core:4 pu:2"};
  const topology::Source half{topology::Source::Kind::kSynthetic,
                              "package:1 [numa(memory=1GB)] l3:1 core:2 pu:2"};
  const struct {
    const char* name;
    engine::FenceKind fence;
    const char* rank;  // its CPUs
    const topology::Source& after;
    const char* said;  // "": nothing
  } cases[] = {
      {"CPU 2 was away", engine::FenceKind::kPartition, "2-3", whole,
       "why=\"open cgroup.subtree_control: No such file or directory\""},
      {"CPU 2 was away, and one CPU is free", engine::FenceKind::kPartition, "1-7", whole,
       "why=\"with one CPU there is nothing to keep others off\""},
      {"CPU 2 was away, and nobody has a partition", engine::FenceKind::kLeaf, "2-3", whole, ""},
      {"CPUs went away", engine::FenceKind::kPartition, "2-3", half, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const test_support::TempDir dir;
    const auto write = [&](const std::string& path, const std::string& text) {
      std::filesystem::create_directories((dir.path() / path).parent_path());
      std::ofstream(dir.path() / path) << text;
    };
    const Unit rank = test_support::rank("r", test_support::cpus(c.rank).count());
    const bool partition = c.fence == engine::FenceKind::kPartition;
    const std::string group = "cg" + rank.container.cgroups_path + "/";
    for (const char* file : {"cpuset.cpus", "cpuset.cpus.effective", "cpuset.cpus.exclusive",
                             "cpuset.cpus.exclusive.effective"}) {
      write(group + file, c.rank);
    }
    write(group + "cpuset.mems", "0");
    write(group + "cpuset.cpus.partition", partition ? "root" : "member");
    write("cpu/online", "0-7");
    std::filesystem::create_directories(dir.path() / "cpu/cpu2/topology");
    testing::internal::CaptureStderr();
    {
      Log log{"warn", LogFormat::kText};
      Node node{engine::Engine(topology::discover(whole).value(), {}, c.fence),
                cgroup::CpusetFiles({.mount = dir.path() / "cg", .version = 2, .writable = true},
                                    dir.path() / "proc"),
                MachineWatch(c.after, dir.path() / "cpu", {}), log, 1h};
      node.handle(test_support::all_running({rank}));
      EXPECT_EQ(node.engine().state().find(rank.id())->own.cpus, test_support::cpus(c.rank));
      EXPECT_EQ(node.engine().guarded().empty(), !partition);
      if (&c.after == &half) {
        write("cpu/online", "0-3");
      } else {
        std::filesystem::rename(dir.path() / "cpu/cpu2/topology", dir.path() / "cpu/old");
        std::filesystem::create_directories(dir.path() / "cpu/cpu2/topology");
      }
      Clock::time_point now = Clock::now();
      for (int i = 0; i < 30'000 && node.engine().counters().machine_changes == 0; ++i) {
        node.work(now += 1s);
        std::this_thread::sleep_for(1ms);  // the pace of the main loop
      }
      EXPECT_EQ(node.engine().counters().machine_changes, 1U);
      node.finish(now);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string begin = "threads of the kernel may run on ranks' CPUs that were offline ";
    const auto at = said.find(begin);
    const std::string line = at == std::string::npos ? "" : said.substr(at + begin.size());
    EXPECT_EQ(line.substr(0, line.find('\n')), c.said) << said;
  }
}

}  // namespace
}  // namespace pinion::agent
