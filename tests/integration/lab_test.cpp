// The lab itself: that what it reports can be believed, and that nothing of it is left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/integration/node.h"
#include "tests/lab/pod.h"
#include "tests/lab/sampler.h"
#include "tests/lab/usage.h"

namespace pinion::integration {
namespace {

namespace fs = std::filesystem;

// What a lab could leave behind, as the machine shows it.
std::vector<std::string> leftovers() {
  std::vector<std::string> found;
  std::error_code error;
  for (const char* dir : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/memory",
                          "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/tmp"}) {
    for (const auto& entry : fs::directory_iterator(dir, error)) {
      const std::string name = entry.path().filename();
      const std::string own = "pinion-lab-" + std::to_string(::getpid()) + "-";
      if (name.rfind(own, 0) == 0) found.push_back(entry.path());
    }
  }
  const auto mounts = lab::read_file("/proc/self/mounts");
  if (mounts && mounts->find("/pinion-lab-" + std::to_string(::getpid())) != std::string::npos) {
    found.emplace_back("mounts");
  }
  return found;
}

TEST(Lab, QosIsAsKubernetesSays) {
  EXPECT_EQ(lab::qos_of(lab::guaranteed_pod("a", 2, {})), lab::Qos::kGuaranteed);
  EXPECT_EQ(lab::qos_of(lab::burstable_pod("a", 100, {})), lab::Qos::kBurstable);
  EXPECT_EQ(lab::qos_of(lab::best_effort_pod("a", {})), lab::Qos::kBestEffort);
  auto mixed = lab::guaranteed_pod("a", 2, {});
  mixed.containers.push_back({.name = "sidecar"});
  EXPECT_EQ(lab::qos_of(mixed), lab::Qos::kBurstable);
  const auto pod = lab::guaranteed_pod("a", 2, {});
  const auto resources = lab::resources_of(pod, pod.containers[0]);
  EXPECT_EQ(resources.cpu_shares, 2048);
  EXPECT_EQ(resources.cpu_quota, 200000);
  EXPECT_EQ(lab::cgroup_parent("/r", pod), "/r/kubepods/poduid-a");
  EXPECT_EQ(lab::cgroup_parent("/r", lab::best_effort_pod("b", {})),
            "/r/kubepods/besteffort/poduid-b");
}

TEST(Lab, TailOfGivesTheLastLines) {
  const std::string path = testing::TempDir() + "tail-" + std::to_string(::getpid());
  ASSERT_TRUE(ok(lab::write_file(path, "1\n2\n3\n")));
  EXPECT_EQ(lab::tail_of(path, 2), "2\n3\n");
  EXPECT_EQ(lab::tail_of(path, 9), "1\n2\n3\n");
  EXPECT_EQ(lab::tail_of(path + "-none", 2), "");
  fs::remove(path);
}

// Without an agent everything shares: the sampler must say so, or its silence is worth nothing.
class Root_Containerd_Lab : public NodeTest {};

TEST_P(Root_Containerd_Lab, TheSamplerSeesIntruders) {
  lab::Sampler sampler(node().cgroups(), Milliseconds(2));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const std::string all = machine().topology.online.to_string();
  const CpuSet core = machine().topology.cores.back().cpus;
  // Its file names its core, but nobody has been kept off it.
  const std::string path = node().cgroups().cpuset_dir(rank->cgroup) + "/cpuset.cpus";
  ASSERT_TRUE(ok(lab::write_existing(path, core.to_string())));
  sampler.add({.id = rank->id, .cgroup = rank->cgroup, .exclusive = core.count()});
  sampler.add({.id = noise->id, .cgroup = noise->cgroup, .exclusive = 0});
  EXPECT_EQ(sampler.report().violations(), 0U) << "nobody owns anything yet";
  sampler.started(rank->id);
  // On whichever CPU it runs, it may run on the rank's: running there, or exposed.
  EXPECT_TRUE(lab::eventually(Milliseconds(10000), [&] {
    const auto report = sampler.report();
    return report.exposed + report.running > 0;
  })) << lab::to_text(sampler.report());
  // With nowhere else to go it is seen running there.
  ASSERT_TRUE(ok(lab::write_existing(node().cgroups().cpuset_dir(noise->cgroup) + "/cpuset.cpus",
                                     core.to_string())));
  EXPECT_TRUE(lab::eventually(Milliseconds(10000), [&] { return sampler.report().running > 0; }))
      << lab::to_text(sampler.report());
  EXPECT_EQ(sampler.report().unpinned, 0U);
  ASSERT_TRUE(ok(lab::write_existing(path, all)));
  EXPECT_TRUE(lab::eventually(Milliseconds(30'000), [&] { return sampler.report().unpinned > 0; }));
}

TEST_P(Root_Containerd_Lab, TheSamplerIsSilentWhereAllIsWell) {
  lab::Sampler sampler(node().cgroups(), Milliseconds(2));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet core = machine().topology.cores.back().cpus;
  const CpuSet rest = machine().topology.online - core;
  const auto confine = [&](const Running& container, const CpuSet& cpus) {
    return lab::write_existing(node().cgroups().cpuset_dir(container.cgroup) + "/cpuset.cpus",
                               cpus.to_string());
  };
  ASSERT_TRUE(ok(confine(*rank, core)));
  ASSERT_TRUE(ok(confine(*noise, rest)));
  sampler.add({.id = rank->id, .cgroup = rank->cgroup, .exclusive = core.count()});
  sampler.add({.id = noise->id, .cgroup = noise->cgroup, .exclusive = 0});
  sampler.started(rank->id);
  ASSERT_TRUE(lab::eventually(Milliseconds(10000), [&] { return sampler.report().looks > 100; }));
  EXPECT_EQ(sampler.report().violations(), 0U) << lab::to_text(sampler.report());
  EXPECT_TRUE(ran_on(*noise, Milliseconds(200)).is_subset_of(rest));
  EXPECT_TRUE(ran_on(*rank, Milliseconds(200)).is_subset_of(core));
}

TEST_P(Root_Containerd_Lab, NothingIsLeftBehind) {
  {
    auto second = lab::ContainerdLab::start({.containerd = GetParam()});
    ASSERT_TRUE(ok(second));
    const auto pod = (*second)->run_pod(lab::best_effort_pod("left", lab::spin(1)));
    ASSERT_TRUE(ok(pod));
    ASSERT_TRUE(ok((*second)->start_container(*pod, pod->spec.containers[0])));
    (*second)->kill_containerd();
    ASSERT_TRUE(ok((*second)->close()));
  }
  // This test's own lab still stands; its folder and groups are the only ones.
  for (const auto& path : leftovers()) {
    EXPECT_NE(path.find(fs::path(node().cgroup_root()).filename()), std::string::npos) << path;
  }
  ASSERT_TRUE(ok(node().close()));
  EXPECT_TRUE(leftovers().empty()) << leftovers().front();
}

// A program that is killed without a chance to clean up: its guard does.
TEST_P(Root_Containerd_Lab, AKilledProgramLeavesNothing) {
  const std::string notes = testing::TempDir() + "killed-" + std::to_string(::getpid());
  lab::Command command{
      .argv = {fs::read_symlink("/proc/self/exe"), "--gtest_also_run_disabled_tests",
               "--gtest_filter=*DISABLED_HangWithALab*/" + version_word(GetParam())},
      .env = {{"PINION_LAB_NOTES", notes}},
      .log = notes + ".log"};
  auto program = lab::Process::start(command);
  ASSERT_TRUE(ok(program));
  std::string dir;
  ASSERT_TRUE(lab::eventually(Milliseconds(60'000), [&] {
    const auto text = lab::read_file(notes);
    dir = text ? *text : "";
    return !dir.empty();
  })) << lab::tail_of(notes + ".log", 20);
  ASSERT_TRUE(fs::exists(dir));
  program->kill();
  EXPECT_TRUE(lab::eventually(Milliseconds(60'000), [&] { return !fs::exists(dir); })) << dir;
  const auto groups = lab::CgroupTree::discover();
  ASSERT_TRUE(ok(groups));
  const std::string name = fs::path(dir).filename();
  const std::string group = "/" + name.substr(0, name.rfind('-'));
  EXPECT_TRUE(groups->processes_anywhere(group).empty());
  EXPECT_FALSE(fs::exists(groups->cpuset_dir(group)));
  fs::remove(notes);
  fs::remove(notes + ".log");
}

// Started by the case above only.
TEST_P(Root_Containerd_Lab, DISABLED_HangWithALab) {
  const char* notes = std::getenv("PINION_LAB_NOTES");
  ASSERT_NE(notes, nullptr);
  ASSERT_TRUE(ok(run_burstable("noise")));
  ASSERT_TRUE(ok(lab::write_file(notes, node().dir())));
  for (;;) ::pause();
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Lab, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
