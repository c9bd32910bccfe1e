#include "tests/e2e/scene.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "tests/e2e/pod_as_run.h"
#include "tests/e2e/webhook.h"
#include "tests/lab/files.h"
#include "tests/support/machine.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

// Of each log, shown with a failure.
int log_lines() {
  const char* lines = std::getenv("PINION_E2E_LOG_LINES");
  return lines != nullptr ? std::atoi(lines) : 60;
}

}  // namespace

void Scene::SetUp() {
  auto cluster = Cluster::start(cluster_options());
  if (!cluster && cluster.error().code == Errc::kNotFound) GTEST_SKIP() << cluster.error().text;
  ASSERT_TRUE(ok(cluster));
  if (const Status built = NodeRuntime::built(); !built) GTEST_SKIP() << built.error().text;
  cluster_ = *std::move(cluster);
  admin_ = std::make_unique<Admin>(cluster_->access());
  pods_ = std::make_unique<Collection>(admin_->api(), "/api/v1/namespaces/default/pods");
}

void Scene::TearDown() {
  if (const auto* agents = dynamic_cast<const AgentNodes*>(nodes_.get())) {
    EXPECT_THAT(agents->wrong(), testing::IsEmpty());
    EXPECT_EQ(agents->difference(), "");
  }
  if (nodes_ && nodes_->bounced().empty()) {
    EXPECT_TRUE(agents_and_api_server_agree());
    EXPECT_TRUE(agents_and_extender_agree());
  }
  if (nodes_) {
    for (const Bounced& bounced : nodes_->bounced()) {
      ADD_FAILURE() << bounced.pod << " bounced off " << bounced.node << ": " << bounced.text;
    }
  }
  if (cluster_) {
    EXPECT_EQ(cluster_->denied(), std::set<std::string>()) << "to the extender";
  }
  if (HasFailure() && cluster_) std::cerr << state() << cluster_->logs(log_lines()) << '\n';
}

void Scene::start(int count, SchedulerOptions scheduler, std::vector<std::string> flags) {
  start_nodes(count);
  if (!HasFatalFailure()) start_extender(std::move(flags));
  if (!HasFatalFailure()) start_scheduler(std::move(scheduler));
}

void Scene::start_with_webhook(int count, const std::vector<std::string>& flags) {
  auto tls = make_extender_tls(cluster().folder());
  if (!tls && tls.error().code == Errc::kNotFound) GTEST_SKIP() << tls.error().text;
  ASSERT_TRUE(ok(tls));
  start_nodes(count);
  tls->flags.insert(tls->flags.end(), flags.begin(), flags.end());
  if (!HasFatalFailure()) start_extender(std::move(tls->flags));
  if (HasFatalFailure()) return;
  extender().speak_tls(tls->client);
  start_scheduler({.extender = ExtenderCall{.url = extender().url(), .tls = tls->client}});
  if (HasFatalFailure()) return;
  ASSERT_TRUE(ok(register_webhook(admin().api(), extender().web_url(), tls->client.ca)));
}

void Scene::start_nodes(int count) {
  auto nodes = AgentNodes::start(*cluster_, node_names(count));
  ASSERT_TRUE(ok(nodes));
  nodes_ = *std::move(nodes);
}

std::vector<std::string> Scene::node_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

void Scene::start_fakes(int count, const FakeNodes::PlaceOf& place_of) {
  auto nodes = FakeNodes::start(cluster_->access(), place_of, node_names(count),
                                test_support::machine({.packages = 2, .cores_per_l3 = 16}));
  ASSERT_TRUE(ok(nodes));
  nodes_ = *std::move(nodes);
}

void Scene::start_extender(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--log-level", "debug"});
  auto extender = ExtenderProcess::start(*cluster_, agents_file(), flags);
  ASSERT_TRUE(ok(extender));
  extender_ = *std::move(extender);
}

void Scene::start_scheduler(SchedulerOptions scheduler) {
  if (!scheduler.extender) scheduler.extender.emplace();
  if (scheduler.extender->url.empty()) scheduler.extender->url = extender_.url();
  ASSERT_TRUE(ok(cluster_->start_scheduler(scheduler)));
}

void Scene::add(const PodShape& pod) {
  ASSERT_TRUE(ok(admin_->add_pod(pod))) << pod.name;
}

PodShape Scene::member(const Gang& gang, int index) {
  return {.name = gang.job + "-" + std::to_string(index),
          .milli_cpus = gang.cpus * 1000,
          .annotations = {{"pinion.dev/job", gang.job},
                          {"pinion.dev/gang-size", std::to_string(gang.size)},
                          {"pinion.dev/task-group", std::to_string(index % gang.groups)}},
          .gang_gate = gang.gates};
}

void Scene::add(const Gang& gang) {
  for (int i = 0; i < gang.size; ++i) add(member(gang, i));
}

testing::AssertionResult Scene::begin(const Gang& gang) {
  for (int i = 0; i < gang.size; ++i) {
    PodShape pod = member(gang, i);
    pod.gated = i + 1 == gang.size;
    add(pod);
  }
  if (lab::eventually(kPatience, [&] { return held(gang) == gang.size - 1; })) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << held(gang) << " binds of " << gang.job << " are held";
}

void Scene::finish(const Gang& gang) {
  ASSERT_TRUE(ok(admin_->open_pod(names(gang).back())));
}

std::vector<std::string> Scene::names(const Gang& gang) {
  std::vector<std::string> names;
  for (int i = 0; i < gang.size; ++i) names.push_back(member(gang, i).name);
  return names;
}

void Scene::remove(const std::vector<std::string>& names) {
  for (const std::string& name : names) ASSERT_TRUE(ok(admin_->remove_pod(name))) << name;
}

std::vector<std::string> Scene::fill_cores(const std::vector<int>& cores) {
  std::vector<std::string> names;
  for (const int count : cores) {
    names.push_back("filler-" + std::to_string(names.size()));
    add(PodShape{.name = names.back(), .milli_cpus = count * 1000});
  }
  return names;
}

std::vector<std::string> Scene::fill_nodes(int count) {
  auto names = fill_cores(std::vector<int>(static_cast<std::size_t>(2 * count), 12));
  EXPECT_TRUE(run(names));
  std::set<std::string> nodes;
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return nodes.insert(node_of_pod(name)).second;
  });
  return names;
}

testing::AssertionResult Scene::run(const std::vector<std::string>& names) {
  const bool bound = pods_->wait([&](const Collection::Objects& pods) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto pod = pods.find(name);
      return pod != pods.end() && !node_of(pod->second).empty();
    });
  });
  if (!bound) return testing::AssertionFailure() << "not all are bound";
  const bool hold = nodes_->wait([&] {
    const auto held = nodes_->held();
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return held.contains(name); });
  });
  if (!hold) return testing::AssertionFailure() << "not all run";
  return testing::AssertionSuccess();
}

testing::AssertionResult Scene::wait_in_vain(const std::vector<std::string>& names) {
  const bool refused = pods_->wait([&](const Collection::Objects& pods) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto pod = pods.find(name);
      return pod != pods.end() && !why_unscheduled(pod->second).empty();
    });
  });
  if (!refused) return testing::AssertionFailure() << "the scheduler has not refused all";
  if (const int some = bound(names); some != 0) {
    return testing::AssertionFailure() << some << " are bound";
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult Scene::scheduler_has_heard() {
  const std::string name = "witness-" + std::to_string(witnesses_++);
  add(PodShape{.name = name, .milli_cpus = 10, .burstable = true});
  if (pods_->wait_for(name, [](const json& pod) { return !node_of(pod).empty(); })) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << name << " is not bound";
}

std::vector<std::string> Scene::pods_called(const std::string& beginning, int count) {
  std::vector<std::string> found;
  const bool all = pods().wait([&](const Collection::Objects& now) {
    found.clear();
    for (const auto& [name, pod] : now) {
      if (name.starts_with(beginning)) found.push_back(name);
    }
    return static_cast<int>(found.size()) == count;
  });
  EXPECT_TRUE(all) << testing::PrintToString(found) << ": not " << count << " of " << beginning;
  return found;
}

testing::AssertionResult Scene::last_is_replaced(const std::string& job,
                                                 const std::vector<std::string>& names) {
  const std::vector<std::string> succeed(names.begin(), names.end() - 1);
  for (const std::string& name : succeed) {
    const auto ended =
        admin().api().patch(kube::pod_path("default", name, "status"), kube::PatchKind::kMerge,
                            {{"status", {{"phase", "Succeeded"}}}});
    if (!ended) return testing::AssertionFailure() << ended.error().text;
  }
  remove({names.back()});
  const bool bound = pods().wait([&](const Collection::Objects& all) {
    return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
      return entry.first.starts_with(job + "-") && !node_of(entry.second).empty() &&
             std::count(names.begin(), names.end(), entry.first) == 0;
    });
  });
  remove(succeed);
  if (bound) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "nobody is bound in the place of " << names.back();
}

testing::AssertionResult Scene::told(const std::vector<std::string>& names,
                                     const std::string& why) {
  Collection events(admin_->api(), "/apis/events.k8s.io/v1/namespaces/default/events");
  const bool told = events.wait([&](const Collection::Objects& all) {
    return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
      const json& event = entry.second;
      return kube::json_text(event, "reason") == "GangWaits" &&
             kube::json_text(event, "note").find(why) != std::string::npos &&
             std::count(names.begin(), names.end(), kube::json_text(event, "regarding", "name")) >
                 0;
    });
  });
  if (told) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no event says: " << why;
}

std::int64_t Scene::held(const Gang& gang) {
  const auto page = deciding().page("/v1/jobs");
  if (!page) return -1;
  for (const json& job : kube::json_at(*page, "jobs")) {
    if (kube::json_text(job, "name") == "default/" + gang.job) {
      return kube::json_integer(job, "held");
    }
  }
  return 0;
}

int Scene::bound(const std::vector<std::string>& names) const {
  return static_cast<int>(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return !node_of_pod(name).empty();
  }));
}

std::string Scene::node_of_pod(const std::string& name) const {
  const auto pods = pods_->now();
  const auto pod = pods.find(name);
  return pod == pods.end() ? "" : node_of(pod->second);
}

testing::AssertionResult Scene::agents_and_api_server_agree() {
  // By uid: node. Of pods that get cores of their own.
  std::map<std::string, std::string> bound;
  std::map<std::string, std::string> held;
  const auto look = [&] {
    bound.clear();
    held.clear();
    const auto list = admin_->api().list("/api/v1/namespaces/default/pods");
    if (!list) return false;
    for (const json& pod : kube::json_at(*list, "items")) {
      if (!node_of(pod).empty() && gets_cores(pod))
        bound[kube::json_text(pod, "metadata", "uid")] = node_of(pod);
    }
    for (const auto& [name, pod] : nodes_->held()) held[pod.uid] = pod.node;
    return bound == held;
  };
  if (nodes_->wait(look)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "bound are " << testing::PrintToString(bound)
                                     << ", cores hold " << testing::PrintToString(held);
}

testing::AssertionResult Scene::agents_and_extender_agree() {
  json fleet;
  const bool agree = lab::eventually(kPatience, [&] {
    const auto page = deciding().page("/v1/fleet");
    if (!page) return false;
    fleet = *page;
    std::map<std::string, Nodes::Room> rooms;
    for (const json& node : kube::json_at(fleet, "nodes")) {
      Nodes::Room& room = rooms[kube::json_text(node, "name")];
      room.containers = static_cast<int>(kube::json_integer(node, "containers"));
      for (const json& numa : kube::json_at(node, "numa")) {
        room.free_cpus.push_back(static_cast<int>(kube::json_integer(numa, "freeCpus")));
      }
    }
    return rooms == nodes_->rooms();
  });
  if (agree) return testing::AssertionSuccess();
  auto failed = testing::AssertionFailure() << "the extender says " << fleet << ", the agents";
  for (const auto& [node, room] : nodes_->rooms()) {
    failed << ' ' << node << ": " << room.containers << " containers, free "
           << testing::PrintToString(room.free_cpus);
  }
  return failed;
}

std::string Scene::state() const {
  std::string text;
  for (const auto& [name, pod] : pods_->now()) {
    if (node_of(pod).empty()) text += name + " is not bound: " + why_unscheduled(pod) + "\n";
  }
  return text;
}

}  // namespace pinion::e2e
