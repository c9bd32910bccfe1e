// Partitions against the real kernel, in groups as the kubelet and the runtime make them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>

#include "agent/cgroup/cpuset_files.h"
#include "agent/cgroup/partitions.h"
#include "base/cgroup/group_files.h"
#include "base/cgroup/hierarchy.h"
#include "tests/guest/root_groups.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;
using engine::Enforce;
using engine::Partition;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// NOLINTNEXTLINE(readability-identifier-naming): the name says what it needs
class Root_Partitions : public RootGroups {
 protected:
  void SetUp() override {
    RootGroups::SetUp();
    if (IsSkipped()) return;
    partitions_.emplace(mount());
    if (const auto works = partitions_->probe(online()); !works) {
      GTEST_SKIP() << works.error().text;
    }
  }

  [[nodiscard]] Partition at(const std::string& path) const {
    const Fd group = open_directory(AT_FDCWD, (mount() + path).c_str());
    return Partitions::read(group.get());
  }
  static bool set_online(const std::string& control, const char* value) {
    std::ofstream file(control);
    file << value << std::flush;
    return file.good();
  }
  // The kernel tells the cpusets a moment later.
  static bool soon(const std::function<bool()>& holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < limit) sched_yield();
    return holds();
  }
  // Where a process of the machine that nobody has pinned may run.
  static CpuSet allowed_elsewhere() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(getppid(), sizeof(mask), &mask);
    CpuSet cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) cpus.add(cpu);
    }
    return cpus;
  }
  [[nodiscard]] const Partitions& partitions() const { return *partitions_; }

  static Partition root(const char* cpus) {
    return {.kind = Partition::Kind::kRoot, .cpus = *CpuSet::parse(cpus)};
  }
  static Partition isolated(const char* cpus) {
    return {.kind = Partition::Kind::kIsolated, .cpus = *CpuSet::parse(cpus)};
  }

 private:
  std::optional<Partitions> partitions_;
};

TEST_F(Root_Partitions, TakeTheCpusFromEverybodyAndGiveThemBack) {
  const std::string rank = container(pod_a() + "/rank", "2");
  const std::string other = container(pod_b() + "/other", "0-3");
  populate(rank);
  ASSERT_TRUE(partitions().make(rank, root("2")));
  EXPECT_EQ(at(rank), root("2"));
  EXPECT_EQ(read(rank, "cpuset.cpus.effective"), "2");
  EXPECT_EQ(read(other, "cpuset.cpus.effective"), "0-1,3");
  EXPECT_FALSE(allowed_elsewhere().contains(2));
  EXPECT_TRUE(partitions().make(rank, root("2"))) << "what is there already";

  ASSERT_TRUE(partitions().make(rank, isolated("2")));
  EXPECT_EQ(read(rank, "cpuset.cpus.partition"), "isolated");

  ASSERT_TRUE(partitions().remove(rank, *CpuSet::parse("2")));
  EXPECT_EQ(at(rank), Partition());
  EXPECT_EQ(read(rank, "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(top(), "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(other, "cpuset.cpus.effective"), "0-3");
  EXPECT_TRUE(allowed_elsewhere().contains(2));
}

TEST_F(Root_Partitions, GrowMoveAndShrinkInPlace) {
  const std::string rank = container(pod_a() + "/rank", "2");
  populate(rank);
  for (const char* cpus : {"2", "2-3", "1-2", "1", "3"}) {
    ASSERT_TRUE(partitions().make(rank, root(cpus))) << cpus;
    EXPECT_EQ(at(rank), root(cpus));
    EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), cpus) << "nothing stays behind";
    EXPECT_EQ(allowed_elsewhere(), online() - root(cpus).cpus);
  }
}

TEST_F(Root_Partitions, TwoOfOnePodAndOneOfAnotherLiveSideBySide) {
  const std::string one = container(pod_a() + "/one", "1");
  const std::string two = container(pod_a() + "/two", "2");
  const std::string three = container(pod_b() + "/three", "3");
  ASSERT_TRUE(partitions().make(one, root("1")));
  ASSERT_TRUE(partitions().make(two, isolated("2")));
  ASSERT_TRUE(partitions().make(three, root("3")));
  ASSERT_TRUE(partitions().remove(one, root("1").cpus));
  EXPECT_EQ(at(two), isolated("2"));
  EXPECT_EQ(at(three), root("3"));
  EXPECT_EQ(read(top(), "cpuset.cpus.exclusive"), "2-3");
}

TEST_F(Root_Partitions, WhatAFinishedPodHasLeftIsTakenAway) {
  const std::string first = container(pod_a() + "/first", "2");
  ASSERT_TRUE(partitions().make(first, root("2")));
  ASSERT_EQ(rmdir((mount() + first).c_str()), 0);
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "2") << "the kernel leaves it there";

  const std::string second = container(pod_b() + "/second", "2");
  populate(second);
  const auto made = partitions().make(second, root("2"));
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(at(second), root("2"));
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "");
}

TEST_F(Root_Partitions, OfAContainerThatIsGoneTheRestIsRemoved) {
  const std::string rank = container(pod_a() + "/rank", "2");
  ASSERT_TRUE(partitions().make(rank, root("2")));
  ASSERT_EQ(rmdir((mount() + rank).c_str()), 0);
  ASSERT_TRUE(partitions().remove(rank, root("2").cpus));
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(top(), "cpuset.cpus.exclusive"), "");
}

TEST_F(Root_Partitions, ANeighbourInsideTheSetIsAnErrorAndNothingIsLeft) {
  const std::string rank = container(pod_a() + "/rank", "2-3");
  container(pod_a() + "/neighbour", "2");
  const auto made = partitions().make(rank, root("2-3"));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text, HasSubstr("Invalid argument"));
  EXPECT_EQ(at(rank), Partition());
  EXPECT_EQ(read(rank, "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "");
  EXPECT_EQ(read(rank, "cpuset.cpus.effective"), "2-3") << "its file still pins it";
}

TEST_F(Root_Partitions, TheLastCpuOfTheMachineIsNotTaken) {
  const std::string rank = container(pod_a() + "/rank", online().to_string());
  populate(rank);
  const auto made = partitions().make(rank, root(online().to_string().c_str()));
  ASSERT_FALSE(made);
  EXPECT_EQ(at(rank), Partition());
  EXPECT_EQ(allowed_elsewhere(), online());
}

TEST_F(Root_Partitions, OnlyOurOwnEmptyOnesAreSwept) {
  const std::string empty = container(pod_a() + "/empty", "1");
  const std::string live = container(pod_a() + "/live", "2");
  const std::string foreign = container(pod_b() + "/foreign", "3");
  populate(live);
  ASSERT_TRUE(partitions().make(empty, root("1")));
  ASSERT_TRUE(partitions().make(live, root("2")));
  write(top(), "cpuset.cpus.exclusive", "1-3");  // somebody else's, made by hand
  write(pod_b(), "cpuset.cpus.exclusive", "3");
  write(foreign, "cpuset.cpus.exclusive", "3");
  write(foreign, "cpuset.cpus.partition", "root");

  auto swept = partitions().sweep(false);
  ASSERT_TRUE(swept) << swept.error().text;
  EXPECT_THAT(swept->taken_away, ElementsAre(empty));
  EXPECT_EQ(swept->left, 1);
  EXPECT_EQ(at(live), root("2"));
  EXPECT_EQ(at(foreign), root("3"));

  swept = partitions().sweep(true);
  ASSERT_TRUE(swept) << swept.error().text;
  EXPECT_THAT(swept->taken_away, ElementsAre(live));
  EXPECT_EQ(at(live), Partition());
  EXPECT_EQ(at(foreign), root("3"));
}

TEST_F(Root_Partitions, WhatIsNotMarkedIsNotTouched) {
  const std::string foreign = container(pod_b() + "/foreign", "3");
  write(top(), "cpuset.cpus.exclusive", "3");
  write(pod_b(), "cpuset.cpus.exclusive", "3");
  write(foreign, "cpuset.cpus.exclusive", "3");
  write(foreign, "cpuset.cpus.partition", "root");
  const auto swept = partitions().sweep(true);
  ASSERT_TRUE(swept);
  EXPECT_THAT(swept->taken_away, IsEmpty());
  EXPECT_EQ(at(foreign), root("3"));
}

TEST_F(Root_Partitions, ATrialLeavesNothingAndRemovesWhatAKilledOneLeft) {
  make_group("/pinion-probe");
  write("/pinion-probe", "cgroup.subtree_control", "+cpuset");
  make_group("/pinion-probe/inner");
  for (const char* group : {"/pinion-probe", "/pinion-probe/inner"}) {
    write(group, "cpuset.cpus.exclusive", "3");
  }
  write("/pinion-probe/inner", "cpuset.cpus.partition", "root");
  ASSERT_FALSE(allowed_elsewhere().contains(3));
  const auto works = partitions().probe(online());
  EXPECT_TRUE(works) << works.error().text;
  EXPECT_NE(access((mount() + "/pinion-probe").c_str(), F_OK), 0);
  EXPECT_EQ(allowed_elsewhere(), online());
}

TEST_F(Root_Partitions, ACpuThatGoesOfflineBreaksOneAndMakeMendsIt) {
  const std::string control = "/sys/devices/system/cpu/cpu3/online";
  if (access(control.c_str(), W_OK) != 0) GTEST_SKIP() << "CPU 3 cannot be taken offline";
  const std::string rank = container(pod_a() + "/rank", "3");
  populate(rank);
  ASSERT_TRUE(partitions().make(rank, root("3")));
  EXPECT_FALSE(set_online(control, "0")) << "a root partition's last CPU cannot go (EBUSY)";

  ASSERT_TRUE(partitions().make(rank, isolated("3")));
  ASSERT_TRUE(set_online(control, "0"));
  EXPECT_TRUE(soon([&] { return at(rank) == Partition(); }));
  EXPECT_THAT(read(rank, "cpuset.cpus.partition"), HasSubstr("invalid"));
  EXPECT_FALSE(partitions().make(rank, isolated("3"))) << "there is no such CPU now";
  ASSERT_TRUE(set_online(control, "1"));
  const auto made = partitions().make(rank, isolated("3"));
  EXPECT_TRUE(made) << made.error().text;
  EXPECT_EQ(at(rank), isolated("3"));
}

// With `root` the kernel refuses, but no more once any CPU has gone or come since the partition was
// made: it promises that to nobody. Then the partition is as broken as an isolated one, and is made
// on another CPU.
TEST_F(Root_Partitions, AfterAnyCpuWasAwayARootOnesOnlyCpuGoesAndItIsMadeElsewhere) {
  const std::string another = "/sys/devices/system/cpu/cpu2/online";
  const std::string control = "/sys/devices/system/cpu/cpu3/online";
  if (access(control.c_str(), W_OK) != 0) GTEST_SKIP() << "CPU 3 cannot be taken offline";
  const std::string rank = container(pod_a() + "/rank", "3");
  populate(rank);
  ASSERT_TRUE(partitions().make(rank, root("3")));
  ASSERT_TRUE(set_online(another, "0"));
  ASSERT_TRUE(set_online(another, "1"));
  write(rank, "cpuset.cpus.partition", "member");
  write(rank, "cpuset.cpus.partition", "root");
  EXPECT_FALSE(set_online(control, "0")) << "made anew it is refused again";
  ASSERT_TRUE(set_online(another, "0"));
  ASSERT_TRUE(set_online(another, "1"));
  EXPECT_TRUE(set_online(control, "0")) << "docs/node.md says that it goes";
  EXPECT_TRUE(soon([&] { return at(rank) == Partition(); }));
  EXPECT_THAT(read(rank, "cpuset.cpus.partition"), HasSubstr("root invalid"));
  EXPECT_EQ(read(rank, "cpuset.cpus.effective"), online().to_string()) << "with everybody else";

  const auto made = partitions().make(rank, root("2"));
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(at(rank), root("2"));
  EXPECT_FALSE(allowed_elsewhere().contains(2));
  ASSERT_TRUE(set_online(control, "1"));
  EXPECT_TRUE(soon([&] { return allowed_elsewhere().contains(3); }));
  EXPECT_EQ(at(rank), root("2"));
}

// As systemd or Docker makes them inside a container. Nothing is written there: the kernel clips
// their CPUs to those of the container, and remembers what their files say.
TEST_F(Root_Partitions, GroupsInsideAContainerFollowItAndGrowBack) {
  const std::string shared = container(pod_a() + "/shared", "0-3");
  write(shared, "cgroup.subtree_control", "+cpuset");
  const std::string inherits = make_group(shared + "/inherits");
  const std::string own = container(shared + "/own", "1-2");
  populate(own);
  CpusetFiles files(hierarchy(), "/proc");
  const struct {
    const char* name;
    const char* container;
    const char* inherits;
    const char* own;
  } steps[] = {
      {"narrowed", "0-1", "0-1", "1"},
      {"grown back", "0-3", "0-3", "1-2"},
      {"nothing in common", "0,3", "0,3", "0,3"},
      {"grown back from there", "0-3", "0-3", "1-2"},
  };
  for (const auto& step : steps) {
    SCOPED_TRACE(step.name);
    Enforce wanted;
    wanted.id = "shared";
    wanted.cgroups_path = shared;
    wanted.cpuset.cpus = *CpuSet::parse(step.container);
    const auto done = files.enforce(wanted);
    EXPECT_TRUE(done.written) << done.error;
    EXPECT_EQ(read(inherits, "cpuset.cpus.effective"), step.inherits);
    EXPECT_EQ(read(own, "cpuset.cpus.effective"), step.own);
    EXPECT_EQ(read(own, "cpuset.cpus"), "1-2");
  }
  const std::string rank = container(pod_b() + "/rank", "2");
  ASSERT_TRUE(partitions().make(rank, root("2")));
  EXPECT_EQ(read(inherits, "cpuset.cpus.effective"), "0-1,3");
  EXPECT_EQ(read(own, "cpuset.cpus.effective"), "1");
  ASSERT_TRUE(partitions().remove(rank, root("2").cpus));
  EXPECT_EQ(read(own, "cpuset.cpus.effective"), "1-2");
}

// What the function answers in a process without CAP_SYS_ADMIN.
std::string without_the_capability(const std::function<std::string()>& function) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[2] = {};
    syscall(SYS_capget, &header, data);
    for (auto* word : {&data[0].effective, &data[0].permitted}) *word &= ~(1U << CAP_SYS_ADMIN);
    syscall(SYS_capset, &header, data);
    const std::string text = function();
    _exit(::write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  close(ends[1]);
  char text[256] = {};
  EXPECT_GT(::read(ends[0], text, sizeof(text) - 1), 0);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST_F(Root_Partitions, WithoutTheCapabilityTheErrorSaysSo) {
  const std::string rank = container(pod_a() + "/rank", "2");
  EXPECT_THAT(without_the_capability([&] {
                const auto made = partitions().make(rank, root("2"));
                return made ? "made" : made.error().text;
              }),
              HasSubstr("partitions need CAP_SYS_ADMIN"));
  EXPECT_EQ(at(rank), Partition());
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.exclusive"), "") << "nothing stays behind";
  EXPECT_THAT(without_the_capability([&] {
                const auto works = partitions().probe(online());
                return works ? "works" : works.error().text;
              }),
              HasSubstr("partitions need CAP_SYS_ADMIN"));
}

// As of an agent whose rights are fewer than those of the one before it.
TEST_F(Root_Partitions, WithoutTheCapabilityThoseThatAreThereAreTakenAway) {
  const std::string rank = container(pod_a() + "/rank", "2");
  populate(rank);
  ASSERT_TRUE(partitions().make(rank, root("2")));
  EXPECT_EQ(without_the_capability([&] {
              const auto swept = partitions().sweep(true);
              return swept ? std::to_string(swept->taken_away.size()) : swept.error().text;
            }),
            "1");
  EXPECT_EQ(at(rank), Partition());
  EXPECT_TRUE(allowed_elsewhere().contains(2));
}

}  // namespace
}  // namespace pinion::cgroup
