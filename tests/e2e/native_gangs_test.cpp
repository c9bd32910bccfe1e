// Kubernetes 1.37 with gangs of its own (PodGroups of scheduling.k8s.io): the real kube-scheduler
// asks the real extender about all members of a gang before it binds any.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/native_group.h"
#include "tests/e2e/scene.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

class NativeGangs : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = false, .native_gangs = true};
  }
  void add_group(const std::string& name, const json& policy) {
    ASSERT_TRUE(ok(admin().api().create(kNativeGroups, native_group(name, policy))));
  }
  static PodShape member_of(const Gang& gang, int index) {
    return {.name = gang.job + "-" + std::to_string(index),
            .milli_cpus = gang.cpus * 1000,
            .annotations = {{"pinion.dev/task-groups", std::to_string(gang.groups)}},
            .pod_group = gang.job};
  }
  void add_members(const Gang& gang, int first, int last) {
    for (int i = first; i <= last; ++i) Scene::add(member_of(gang, i));
  }
  void add_native(const Gang& gang) {
    add_group(gang.job, gang_of(gang.size));
    add_members(gang, 0, gang.size - 1);
  }
  // As kube-scheduler says of the whole group.
  testing::AssertionResult scheduled(const std::string& group) {
    const bool is = lab::eventually(kPatience, [&] {
      const auto now = admin().api().get(std::string(kNativeGroups) + "/" + group);
      return now && kube::has_condition(*now, "PodGroupInitiallyScheduled");
    });
    if (is) return testing::AssertionSuccess();
    return testing::AssertionFailure() << group << " is not scheduled";
  }
  double filters(const std::string& result) {
    return extender().figure("pinion_extender_filters_total{result=\"" + result + "\"}");
  }
};

TEST_F(NativeGangs, AreAskedAboutWhenAllExistAndStartWithoutGatesOrHeldBinds) {
  start(4);
  const Gang gang{.job = "gang", .size = 6, .cpus = 12, .groups = 3};
  add_group(gang.job, gang_of(gang.size));
  add_members(gang, 0, gang.size - 2);
  // What comes later and fits shows that the scheduler has been round.
  add(PodShape{.name = "small", .milli_cpus = 4000});
  ASSERT_TRUE(run({"small"}));
  EXPECT_EQ(bound(names(gang)), 0);
  EXPECT_EQ(filters("offered") + filters("refused"), 1) << "about a gang that is not all there";
  add_members(gang, gang.size - 1, gang.size - 1);
  ASSERT_TRUE(run(names(gang)));
  ASSERT_TRUE(scheduled(gang.job));
  EXPECT_EQ(held(gang), 0);
  std::cout << filters("offered") << " offered, " << filters("refused") << " refused\n";
  std::map<std::string, int> on;
  for (const std::string& name : names(gang)) ++on[node_of_pod(name)];
  EXPECT_EQ(on.size(), 3U) << "each of three task groups on a node of its own";
}

TEST_F(NativeGangs, ThatDoNotFitWaitAndStartWholeLater) {
  start(4);
  const auto fillers = fill_nodes(4);
  const Gang gang{.job = "large", .size = 8, .cpus = 8};
  add_native(gang);
  ASSERT_TRUE(wait_in_vain(names(gang)));
  EXPECT_TRUE(pods().wait([](const Collection::Objects& all) {
    return std::any_of(all.begin(), all.end(), [](const auto& entry) {
      return why_unscheduled(entry.second).find("needs 8 x 8 CPUs") != std::string::npos;
    });
  }));
  // Each filler's end makes room for two at most, so three are one too few.
  remove({fillers[0], fillers[1], fillers[2]});
  add(PodShape{.name = "small", .milli_cpus = 500});
  ASSERT_TRUE(pods().wait_for("small", [](const auto& pod) { return !node_of(pod).empty(); }));
  ASSERT_TRUE(wait_in_vain(names(gang)));
  remove({fillers.begin() + 3, fillers.end()});
  EXPECT_TRUE(run(names(gang)));
}

TEST_F(NativeGangs, ThatEachCouldTakeHalfDoNotBlockEachOther) {
  start(4);  // eight holes of 16
  const Gang a{.job = "a", .size = 6, .cpus = 12};
  const Gang b{.job = "b", .size = 6, .cpus = 12};
  add_group("a", gang_of(6));
  add_group("b", gang_of(6));
  for (int i = 0; i < a.size; ++i) {
    add_members(a, i, i);
    add_members(b, i, i);
  }
  ASSERT_TRUE(nodes().wait([&] { return nodes().held().size() >= 6; }));
  const bool a_runs = nodes().held().contains("a-0");
  const Gang& first = a_runs ? a : b;
  const Gang& second = a_runs ? b : a;
  ASSERT_TRUE(run(names(first)));
  ASSERT_TRUE(wait_in_vain(names(second)));
  remove(names(first));
  EXPECT_TRUE(run(names(second)));
}

// One member asks for a device that no node has, which the scheduler alone counts. It gives each
// cycle up, and tells the extender nothing.
TEST_F(NativeGangs, WhoseCycleIsGivenUpGiveTheirPlacesBack) {
  start(1);  // two holes of 16
  const Gang gang{.job = "gang", .size = 2, .cpus = 12};
  add_group(gang.job, gang_of(gang.size));
  json last = pod_object(member_of(gang, 1));
  for (const char* amounts : {"requests", "limits"}) {
    last["spec"]["containers"][0]["resources"][amounts]["example.com/device"] = "1";
  }
  ASSERT_TRUE(ok(admin().api().create("/api/v1/namespaces/default/pods", last)));
  add_members(gang, 0, 0);
  ASSERT_TRUE(wait_in_vain(names(gang)));
  const std::vector<std::string> others{"other-0", "other-1"};
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& name : others) add(PodShape{.name = name, .milli_cpus = 12'000});
  EXPECT_TRUE(run(others));
  std::cout << "others ran after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s\n";
  EXPECT_EQ(bound(names(gang)), 0);
}

TEST_F(NativeGangs, ThoseAboveItsSizeStartToo) {
  start(2);
  const Gang gang{.job = "gang", .size = 3, .cpus = 8};
  add_group(gang.job, gang_of(2));
  add_members(gang, 0, 2);
  EXPECT_TRUE(run(names(gang)));
}

TEST_F(NativeGangs, OfBasicGroupsAreNone) {
  start(1);  // two holes of 16
  const Gang gang{.job = "basic", .size = 3, .cpus = 12};
  add_group(gang.job, {{"basic", json::object()}});
  add_members(gang, 0, 2);
  EXPECT_TRUE(pods().wait([](const Collection::Objects& all) {
    return std::count_if(all.begin(), all.end(),
                         [](const auto& entry) { return !node_of(entry.second).empty(); }) == 2;
  }));
}

TEST_F(NativeGangs, GoOnWhenTheExtenderIsKilled) {
  start(2);
  const Gang gang{.job = "gang", .size = 4, .cpus = 12};
  add_group(gang.job, gang_of(gang.size));
  add_members(gang, 0, gang.size - 2);
  extender().kill();
  add_members(gang, gang.size - 1, gang.size - 1);
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(run(names(gang)));
}

// A job's gang is one of kube-scheduler's own: the webhook puts its pods into a PodGroup, and the
// extender makes that.
class NativeJobs : public NativeGangs {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true, .native_gangs = true};
  }
  void SetUp() override {
    Scene::SetUp();
    if (IsSkipped() || HasFailure()) return;
    ASSERT_TRUE(
        ok(admin().let_extender({"create", "get", "patch"}, "podgroups", "scheduling.k8s.io")));
    start_with_webhook(2, {"--pod-groups=true"});
  }
  // Of 48 tasks in four workers of 12 CPUs, and how many of them its user wants now.
  json add_job(const std::string& name) {
    json job = captured("job_create", name);
    job["metadata"]["annotations"] = {{"pinion.dev/tasks", "48"},
                                      {"pinion.dev/memory-per-task", "1Mi"}};
    job["spec"]["parallelism"] = job["spec"]["completions"] = 4;
    job["spec"]["template"]["spec"]["containers"][0].erase("resources");
    job["spec"]["template"]["spec"]["priorityClassName"] = "urgent";
    const auto made = admin().api().create(kJobs, job);
    EXPECT_TRUE(ok(made));
    return made ? *made : json::object();
  }
  // By the names of the job's pods that are bound; as soon as they are so many.
  std::vector<std::string> bound_of(const std::string& job, std::size_t count) {
    std::vector<std::string> names;
    EXPECT_TRUE(pods().wait([&](const Collection::Objects& all) {
      names.clear();
      for (const auto& [name, pod] : all) {
        if (name.starts_with(job + "-") && !node_of(pod).empty()) names.push_back(name);
      }
      return names.size() == count;
    })) << testing::PrintToString(names);
    return names;
  }
};

TEST_F(NativeJobs, AreInAPodGroupThatFollowsTheirSize) {
  ASSERT_TRUE(ok(admin().add_priority_class("urgent", 1000)));
  const auto fillers = fill_nodes(2);  // of four holes there is none for 12 CPUs
  const json job = add_job("wind");
  const std::string group = "pinion-" + kube::json_text(job, "metadata", "uid");
  Collection groups(admin().api(), kNativeGroups);
  const auto of_size = [](int size) {
    return [size](const json& one) {
      const json& gang = kube::json_at(one, "spec", "schedulingPolicy", "gang");
      return kube::json_integer(gang, "minCount") == size;
    };
  };
  ASSERT_TRUE(groups.wait_for(group, of_size(4)));
  ASSERT_TRUE(pods().wait([&](const Collection::Objects& all) {
    return std::count_if(all.begin(), all.end(), [&](const auto& entry) {
             const json& pod = entry.second;
             return kube::json_text(pod, "spec", "schedulingGroup", "podGroupName") == group &&
                    !kube::json_at(pod, "spec").contains("schedulingGates");
           }) == 4;
  }));
  remove({fillers.front()});  // one more would find its place now, and three do not
  add(PodShape{.name = "small", .milli_cpus = 2000});
  ASSERT_TRUE(run({"small"}));
  bound_of("wind", 0);
  ASSERT_TRUE(ok(admin().api().patch(std::string(kJobs) + "/wind", kube::PatchKind::kMerge,
                                     {{"spec", {{"parallelism", 2}, {"completions", 2}}}})));
  ASSERT_TRUE(groups.wait_for(group, of_size(2)));
  remove({fillers.at(1)});
  const auto running = bound_of("wind", 2);
  ASSERT_EQ(running.size(), 2U);
  EXPECT_TRUE(run(running));
  EXPECT_TRUE(scheduled(group));
  // One ends, and another one is made in the place of the other: kube-scheduler knows of one pod.
  EXPECT_TRUE(last_is_replaced("wind", running));
}

// More than 100 nodes: the scheduler looks at some of them for each member.
TEST_F(NativeGangs, StartWholeWhereTheSchedulerLooksAtSomeNodes) {
  start_fakes(120);
  start_extender({});
  start_scheduler({.extender = {}, .percentage_of_nodes = 5});
  for (const int size : {2, 8, 32}) {
    const Gang gang{.job = "of-" + std::to_string(size), .size = size, .cpus = 12};
    const double before = extender().figure("pinion_extender_nominated_total");
    const auto begun = std::chrono::steady_clock::now();
    add_native(gang);
    ASSERT_TRUE(run(names(gang))) << size;
    std::cout << size << " members: "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
              << " s, " << extender().figure("pinion_extender_nominated_total") - before
              << " nominated\n";
    remove(names(gang));
    ASSERT_TRUE(agents_and_extender_agree()) << gang.job;
  }
}

}  // namespace
}  // namespace pinion::e2e
