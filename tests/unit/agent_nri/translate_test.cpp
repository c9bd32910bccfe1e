#include "agent/nri/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "tests/support/fake_runtime/samples.h"
#include "tests/support/places.h"

namespace pinion::agent {
namespace {

using engine::Cpuset;
using engine::Reply;
using test_support::make_container;
using test_support::make_pod;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using topology::CpuSet;
using topology::NodeSet;

Reply reply_with(std::vector<engine::CpusetUpdate> updates) {
  return Reply{.refusal = {}, .own = {}, .updates = std::move(updates)};
}

Reply reply_with_own(Cpuset own, std::vector<engine::CpusetUpdate> updates = {}) {
  return Reply{.refusal = {}, .own = own, .updates = std::move(updates)};
}

TEST(Translate, CreateContainerOfARealKubelet) {
  std::ifstream file(test_support::in_checkout("tests/unit/agent_nri/data/create_container.bin"),
                     std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  wire::CreateContainerRequest request;
  ASSERT_TRUE(request.ParseFromString(bytes));
  const auto event = to_event(request);
  ASSERT_TRUE(event) << event.error().text;
  const auto& create = std::get<engine::CreateContainer>(*event);

  EXPECT_EQ(create.pod.id, "7938114c687cfb248d707dd0bfab89269e657458d22e708963e27b92a7195955");
  EXPECT_EQ(create.pod.uid, "29a93b8d-f833-47e1-a7f5-289948890502");
  EXPECT_EQ(create.pod.name, "d-5ff4fd786d-g7vcn");
  EXPECT_EQ(create.pod.name_space, "default");
  EXPECT_EQ(create.pod.annotations.size(), 0U) << "its twelve are not ours";
  EXPECT_EQ(create.pod.cgroup_parent, "/kubepods/pod29a93b8d-f833-47e1-a7f5-289948890502");
  EXPECT_EQ(create.pod.pid, 10480U);

  const engine::Container& container = create.container;
  EXPECT_EQ(container.id, "a2e55dc62ae1872a36081c619aa707db1790e6e2946a1d167aa5aceeae91ca1c");
  EXPECT_EQ(container.pod_id, create.pod.id);
  EXPECT_EQ(container.name, "c");
  EXPECT_EQ(container.state, engine::ContainerState::kUnknown);
  EXPECT_EQ(container.pid, 0U);
  EXPECT_EQ(container.cgroups_path,
            "/kubepods/pod29a93b8d-f833-47e1-a7f5-289948890502/"
            "a2e55dc62ae1872a36081c619aa707db1790e6e2946a1d167aa5aceeae91ca1c");
  const engine::Resources want{
      .shares = 51, .quota = 5000, .period = 100000, .memory = 16777216, .cpus = "", .mems = ""};
  EXPECT_EQ(container.resources, want);
}

TEST(Translate, Devices) {
  struct Case {
    const char* name;
    const char* type;
    std::int64_t major;
    std::int64_t minor;
    std::vector<engine::DeviceNumber> devices;
  };
  using Kind = engine::DeviceNumber::Kind;
  const Case cases[] = {
      {"a character device", "c", 231, 192, {{Kind::kChar, 231, 192}}},
      {"by its other name", "u", 1, 0, {{Kind::kChar, 1, 0}}},
      {"a block device", "b", 259, 4294967295, {{Kind::kBlock, 259, 4294967295}}},
      {"a pipe", "p", 1, 1, {}},
      {"no type", "", 1, 1, {}},
      {"a long type", "char", 1, 1, {}},
      {"a number below 0", "c", -1, 0, {}},
      {"another", "c", 0, -1, {}},
      {"too large a number", "c", 4294967296, 0, {}},
      {"another", "b", 1, std::numeric_limits<std::int64_t>::max(), {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    wire::Container message = make_container({});
    wire::LinuxDevice* device = message.mutable_linux()->add_devices();
    device->set_type(c.type);
    device->set_major(c.major);
    device->set_minor(c.minor);
    EXPECT_EQ(to_container(message).devices, c.devices);
  }
}

TEST(Translate, WhoHasAllDevicesHasNone) {
  wire::Container message = make_container({});
  const auto add = [&] {
    wire::LinuxDevice* device = message.mutable_linux()->add_devices();
    device->set_type("c");
    device->set_major(1);
  };
  for (int i = 0; i < kMostDevices; ++i) add();
  EXPECT_EQ(to_container(message).devices.size(), static_cast<std::size_t>(kMostDevices));
  add();
  EXPECT_TRUE(to_container(message).devices.empty());
}

TEST(Translate, RuntimeHandler) {
  wire::PodSandbox message = make_pod({.bulk = false});
  EXPECT_EQ(to_pod(message).runtime_handler, "");
  message.set_runtime_handler("kata-qemu");
  EXPECT_EQ(to_pod(message).runtime_handler, "kata-qemu");
}

TEST(Translate, AbsentIsNotZero) {
  wire::LinuxResources resources;
  EXPECT_EQ(to_resources(resources), engine::Resources{});
  resources.mutable_cpu()->mutable_shares();
  resources.mutable_cpu()->mutable_quota()->set_value(-1);
  resources.mutable_memory()->mutable_limit();
  const engine::Resources got = to_resources(resources);
  EXPECT_EQ(got.shares, 0U);
  EXPECT_EQ(got.quota, -1);
  EXPECT_EQ(got.period, std::nullopt);
  EXPECT_EQ(got.memory, 0);
}

TEST(Translate, SampleContainerWithTheRuntimesRecord) {
  const wire::Container message = make_container({.pod = 3,
                                                  .number = 2,
                                                  .qos = "guaranteed",
                                                  .cpus = 4,
                                                  .memory = 1 << 20,
                                                  .cpuset_cpus = "4-7",
                                                  .cpuset_mems = "1",
                                                  .state = wire::CONTAINER_RUNNING,
                                                  .pid = 4711});
  const engine::Container got = to_container(message);
  EXPECT_EQ(got.state, engine::ContainerState::kRunning);
  EXPECT_EQ(got.pid, 4711U);
  EXPECT_EQ(got.resources.shares, 4096U);
  EXPECT_EQ(got.resources.quota, 400000);
  EXPECT_EQ(got.resources.cpus, "4-7");
  EXPECT_EQ(got.resources.mems, "1");
  EXPECT_EQ(got.pod_id, make_pod({.number = 3, .annotations = {}}).id());
}

TEST(Translate, ContainerStates) {
  const std::pair<int, engine::ContainerState> cases[] = {
      {0, engine::ContainerState::kUnknown}, {1, engine::ContainerState::kCreated},
      {2, engine::ContainerState::kPaused},  {3, engine::ContainerState::kRunning},
      {4, engine::ContainerState::kStopped}, {99, engine::ContainerState::kUnknown}};
  for (const auto& [number, want] : cases) {
    wire::Container container;
    container.set_state(static_cast<wire::ContainerState>(number));
    EXPECT_EQ(to_container(container).state, want) << number;
  }
}

TEST(Translate, RequestsWithoutAContainerAreErrors) {
  for (const auto& result :
       {to_event(wire::CreateContainerRequest()), to_event(wire::UpdateContainerRequest()),
        to_event(wire::StopContainerRequest())}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kInvalid);
    EXPECT_THAT(result.error().text, HasSubstr("names no container"));
  }
}

TEST(Translate, EventsByNumber) {
  const wire::PodSandbox pod = make_pod({.number = 1, .annotations = {}});
  const wire::Container container = make_container({});
  using engine::ContainerEvent;
  using engine::PodEvent;
  const std::pair<int, PodEvent::Kind> pods[] = {
      {1, PodEvent::Kind::kRun}, {2, PodEvent::Kind::kStop}, {3, PodEvent::Kind::kRemove}};
  for (const auto& [number, want] : pods) {
    SCOPED_TRACE(number);
    const auto event = to_event(static_cast<wire::Event>(number), pod, {});
    ASSERT_TRUE(event && *event);
    EXPECT_EQ(std::get<PodEvent>(**event).kind, want);
    EXPECT_EQ(std::get<PodEvent>(**event).pod, to_pod(pod));
    EXPECT_FALSE(to_event(static_cast<wire::Event>(number), {}, container));
  }
  const std::pair<int, ContainerEvent::Kind> containers[] = {{5, ContainerEvent::Kind::kPostCreate},
                                                             {6, ContainerEvent::Kind::kStart},
                                                             {7, ContainerEvent::Kind::kPostStart},
                                                             {9, ContainerEvent::Kind::kPostUpdate},
                                                             {11, ContainerEvent::Kind::kRemove}};
  for (const auto& [number, want] : containers) {
    SCOPED_TRACE(number);
    const auto event = to_event(static_cast<wire::Event>(number), pod, container);
    ASSERT_TRUE(event && *event);
    EXPECT_EQ(std::get<ContainerEvent>(**event).kind, want);
    EXPECT_EQ(std::get<ContainerEvent>(**event).container, to_container(container));
    EXPECT_EQ(std::get<ContainerEvent>(**event).pod, to_pod(pod));
    EXPECT_FALSE(to_event(static_cast<wire::Event>(number), pod, {}));
  }
  for (const int number : {-1, 0, 4, 8, 10, 12, 13, 14, 15, 1000}) {
    SCOPED_TRACE(number);
    const auto event = to_event(static_cast<wire::Event>(number), pod, container);
    ASSERT_TRUE(event);
    EXPECT_FALSE(*event);
  }
}

TEST(Translate, SubscribesToExactlyTheElevenHandledEvents) {
  EXPECT_EQ(subscribed_events(), 0b111'1111'1111);
}

TEST(Fill, OwnCpusetOfACreatedContainerIsAnAdjustment) {
  wire::CreateContainerResponse response;
  const auto count = fill(reply_with_own({.cpus = {2, 3, 4, 9}, .mems = {1}}), "id", response);
  EXPECT_EQ(count.sent, 0U);
  EXPECT_EQ(count.dropped, 0U);
  EXPECT_EQ(response.update_size(), 0);
  const auto& resources = response.adjust().linux().resources();
  EXPECT_EQ(resources.cpu().cpus(), "2-4,9");
  EXPECT_EQ(resources.cpu().mems(), "1");
  EXPECT_FALSE(resources.cpu().has_shares() || resources.cpu().has_quota() ||
               resources.cpu().has_period() || resources.has_memory());
}

TEST(Fill, TheQuotaOfTheContainerItself) {
  engine::Reply reply = reply_with_own({.cpus = {2}, .mems = {}});
  reply.own_quota = engine::CpuQuota::kNone;
  wire::CreateContainerResponse created;
  fill(reply, "id", created);
  EXPECT_EQ(created.adjust().linux().resources().cpu().quota().value(), -1);
  wire::UpdateContainerResponse updated;
  reply.own_quota = 150'000;
  fill(reply, "id", updated);
  EXPECT_EQ(updated.update(0).linux().resources().cpu().quota().value(), 150'000);
}

TEST(Fill, AnEmptySetNeverGoesOut) {
  struct Case {
    const char* name;
    Cpuset cpuset;
    const char* cpus;
    const char* mems;
  };
  const Case cases[] = {{"both", {.cpus = {1}, .mems = {0}}, "1", "0"},
                        {"cpus only", {.cpus = {1}, .mems = {}}, "1", ""},
                        {"mems only", {.cpus = {}, .mems = {0}}, "", "0"},
                        {"nothing", {.cpus = {}, .mems = {}}, "", ""}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const bool anything = *c.cpus != '\0' || *c.mems != '\0';
    wire::CreateContainerResponse create;
    fill(reply_with_own(c.cpuset), "id", create);
    EXPECT_EQ(create.has_adjust(), anything);
    EXPECT_EQ(create.adjust().linux().resources().cpu().cpus(), c.cpus);
    EXPECT_EQ(create.adjust().linux().resources().cpu().mems(), c.mems);

    wire::UpdateContainerResponse update;
    EXPECT_EQ(fill(reply_with_own(c.cpuset), "id", update).sent, anything ? 1U : 0U);
    EXPECT_EQ(update.update_size(), anything ? 1 : 0);

    wire::SynchronizeResponse synchronize;
    const auto count = fill(reply_with({{.id = "other", .cpuset = c.cpuset}}), synchronize);
    EXPECT_EQ(count.sent, anything ? 1U : 0U);
    EXPECT_EQ(count.dropped, anything ? 0U : 1U);
    EXPECT_EQ(synchronize.update_size(), anything ? 1 : 0);
  }
}

TEST(Fill, UpdatesOfOthers) {
  const Reply reply = reply_with({{.id = "a", .cpuset = {.cpus = {0, 1}, .mems = {0}}},
                                  {.id = "b", .cpuset = {.cpus = {0}, .mems = {}}}});
  wire::StopContainerResponse response;
  EXPECT_EQ(fill(reply, "stopped", response).sent, 2U);
  ASSERT_EQ(response.update_size(), 2);
  EXPECT_EQ(response.update(0).container_id(), "a");
  EXPECT_EQ(response.update(0).linux().resources().cpu().cpus(), "0-1");
  EXPECT_EQ(response.update(0).linux().resources().cpu().mems(), "0");
  EXPECT_EQ(response.update(1).container_id(), "b");
  EXPECT_EQ(response.update(1).linux().resources().cpu().mems(), "");
  EXPECT_FALSE(response.update(0).linux().resources().has_memory());
  EXPECT_FALSE(response.update(0).ignore_failure());
}

// The runtime fails a whole request in which one plugin names a container twice, or names the
// container that is being created.
TEST(Fill, WhatWouldFailTheRequestIsDropped) {
  const Reply reply = reply_with_own({.cpus = {5}, .mems = {}},
                                     {{.id = "a", .cpuset = {.cpus = {1}, .mems = {}}},
                                      {.id = "a", .cpuset = {.cpus = {2}, .mems = {}}},
                                      {.id = "self", .cpuset = {.cpus = {3}, .mems = {}}},
                                      {.id = "", .cpuset = {.cpus = {4}, .mems = {}}}});
  wire::CreateContainerResponse create;
  auto count = fill(reply, "self", create);
  EXPECT_EQ(count.sent, 1U);
  EXPECT_EQ(count.dropped, 3U);
  ASSERT_EQ(create.update_size(), 1);
  EXPECT_EQ(create.update(0).linux().resources().cpu().cpus(), "1");

  wire::UpdateContainerResponse update;
  count = fill(reply, "self", update);
  EXPECT_EQ(count.sent, 2U);
  EXPECT_EQ(count.dropped, 3U);
  ASSERT_EQ(update.update_size(), 2);
  EXPECT_EQ(update.update(0).container_id(), "self");
  EXPECT_EQ(update.update(0).linux().resources().cpu().cpus(), "5");
}

TEST(Fill, UpdateContainerWithoutOwnMayNameItselfAmongTheUpdates) {
  wire::UpdateContainerResponse response;
  const auto count =
      fill(reply_with({{.id = "self", .cpuset = {.cpus = {7}, .mems = {}}}}), "self", response);
  EXPECT_EQ(count.sent, 1U);
  EXPECT_EQ(response.update(0).linux().resources().cpu().cpus(), "7");
}

TEST(Translate, NamesAndAnnotationsAreCleaned) {
  const std::string bad = "\xEF\xBF\xBD";
  wire::PodSandbox pod;
  pod.set_name("a\nb");
  pod.set_namespace_("n\x1B[2J");
  (*pod.mutable_annotations())["pinion.dev/job\n"] = "gr\xC3";
  (*pod.mutable_annotations())["kubernetes.io/config.source"] = "api";
  const engine::Pod cleaned = to_pod(pod);
  EXPECT_EQ(cleaned.name, "a" + bad + "b");
  EXPECT_EQ(cleaned.name_space, "n" + bad + "[2J");
  EXPECT_EQ(cleaned.annotations,
            (std::map<std::string, std::string>{{"pinion.dev/job" + bad, "gr" + bad}}))
      << "and others' are left out";
  wire::Container container;
  container.set_name("main\x7F");
  EXPECT_EQ(to_container(container).name, "main" + bad);
}

}  // namespace
}  // namespace pinion::agent
