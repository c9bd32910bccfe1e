// Groups of cgroup v2 as the kubelet and the runtime make them, on the real kernel, with one
// sleeping process to put into them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "agent/engine/events.h"
#include "base/cgroup/group_files.h"
#include "base/cgroup/hierarchy.h"
#include "base/whole_file.h"

namespace pinion::cgroup {

class RootGroups : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto found = find_hierarchy("/", "cpuset");
    if (!found || found->version != 2 || !found->writable) {
      GTEST_SKIP() << "needs a writable cgroup v2 with cpusets: run it by scripts/guest.sh";
    }
    hierarchy_ = *found;
    if (!online().contains(3)) GTEST_SKIP() << "needs four CPUs";
    top_ = "/pinion-test-" + std::to_string(getpid());
    write("", "cgroup.subtree_control", "+cpuset");
    for (const auto& path : {top_, pod_a(), pod_b()}) {
      make_group(path);
      write(path, "cgroup.subtree_control", "+cpuset");
    }
    sleeper_ = fork();
    if (sleeper_ == 0) {
      while (true) pause();
    }
  }

  void TearDown() override {
    if (sleeper_ > 0) {
      kill(sleeper_, SIGKILL);
      waitpid(sleeper_, nullptr, 0);
    }
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      rmdir((mount() + *group).c_str());
    }
    if (IsSkipped()) return;
    EXPECT_EQ(read("", "cpuset.cpus.effective"), online().to_string()) << "all CPUs are back";
  }

  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }
  [[nodiscard]] const std::string& mount() const { return hierarchy_.mount; }
  [[nodiscard]] const std::string& top() const { return top_; }
  [[nodiscard]] std::string pod_a() const { return top_ + "/pod-a"; }
  [[nodiscard]] std::string pod_b() const { return top_ + "/pod-b"; }

  std::string make_group(const std::string& path) {
    EXPECT_EQ(mkdir((mount() + path).c_str(), 0755), 0) << path;
    groups_.push_back(path);
    return path;
  }
  // A container's group; `cpus` as the runtime writes it.
  std::string container(const std::string& path, const std::string& cpus) {
    make_group(path);
    write(path, "cpuset.cpus", cpus);
    return path;
  }
  void populate(const std::string& path) const {
    write(path, "cgroup.procs", std::to_string(sleeper_));
  }
  void write(const std::string& path, const char* file, const std::string& value) const {
    const Fd group = open_directory(AT_FDCWD, (mount() + path).c_str());
    const auto done = write_file(group.get(), file, value);
    EXPECT_TRUE(done) << path << ": " << done.error().text;
  }
  [[nodiscard]] std::string read(const std::string& path, const char* file) const {
    const Fd group = open_directory(AT_FDCWD, (mount() + path).c_str());
    auto text = read_file(group.get(), file).value_or("unreadable");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  static engine::CpuSet online() {
    std::ifstream file("/sys/devices/system/cpu/online");
    std::string text;
    std::getline(file, text);
    return engine::CpuSet::parse(text).value_or(engine::CpuSet());
  }

 private:
  Hierarchy hierarchy_;
  std::string top_;
  std::vector<std::string> groups_;
  pid_t sleeper_ = -1;
};

}  // namespace pinion::cgroup
