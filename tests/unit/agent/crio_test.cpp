// The agent beside a runtime that behaves as CRI-O does where it differs from containerd: it names
// itself cri-o, its scopes begin with crio-, the runtime's create runs within CreateContainer (so a
// container has its process and its cgroup at PostCreateContainer), what CRI does not state comes
// as 0, a creation or a start that fails is told as StopContainer and RemoveContainer, and removing
// one that runs is told as both too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/node.h"
#include "tests/support/fake_runtime/runtime_socket.h"
#include "tests/support/fake_runtime/turn.h"
#include "tests/support/machine.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

namespace wire = test_support::wire;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;

constexpr const char* kPodSlice = "kubepods-pod1.slice";
constexpr const char* kScopes = "cg/kubepods.slice/kubepods-pod1.slice/";

class Crio : public testing::Test {
 protected:
  void SetUp() override {
    auto listening = test_support::RuntimeSocket::listen(socket_);
    ASSERT_TRUE(listening);
    runtime_.emplace(std::move(*listening));
    ASSERT_TRUE(test_support::write_tree("cg/cpuset.cpus.effective = 0-3", directory_.path()));
  }

  void turn(int patience_ms) { test_support::turn(connection_, patience_ms); }

  // Ours and the runtime's side in one thread: the agent takes its turns until it has answered.
  test_support::CallResult answer() {
    for (int i = 0; i < 100 && connection_.wants_write(); ++i) turn(0);
    EXPECT_TRUE(runtime_->wait_for([&] { return runtime_->runtime().result() != nullptr; }));
    const auto* result = runtime_->runtime().result();
    return result == nullptr ? test_support::CallResult{.code = -1, .text = {}, .payload = {}}
                             : *result;
  }
  test_support::CallResult call(const char* method, const google::protobuf::MessageLite& request) {
    EXPECT_TRUE(runtime_->send(runtime_->runtime().call(method, request)));
    turn(5000);
    auto result = answer();
    EXPECT_EQ(result.code, 0) << method << ": " << result.text;
    return result;
  }
  void connect(const wire::SynchronizeRequest& all = {}) {
    turn(0);
    ASSERT_TRUE(runtime_->accept());
    turn(0);
    ASSERT_TRUE(runtime_->wait_for([&] { return runtime_->runtime().registration().has_value(); }));
    ASSERT_TRUE(runtime_->send(runtime_->runtime().register_answer()));
    turn(5000);
    wire::ConfigureRequest configure;
    configure.set_runtime_name("cri-o");
    configure.set_runtime_version("1.37.0");
    configure.set_config("");
    configure.set_registration_timeout(5000);
    configure.set_request_timeout(2000);
    call("Configure", configure);
    call("Synchronize", all);
    ASSERT_EQ(connection_.phase(), nri::Phase::kSynchronized);
  }

  static wire::PodSandbox pod() {
    wire::PodSandbox pod;
    pod.set_id("sandbox");
    pod.set_name("p");
    pod.set_uid("1");
    pod.set_namespace_("default");
    pod.mutable_linux()->set_cgroup_parent(kPodSlice);
    // As CRI states it: what is not known is 0.
    wire::LinuxCPU& cpu = *pod.mutable_linux()->mutable_pod_resources()->mutable_cpu();
    cpu.mutable_shares()->set_value(0);
    cpu.mutable_quota()->set_value(0);
    cpu.mutable_period()->set_value(0);
    pod.mutable_linux()->mutable_pod_resources()->mutable_memory()->mutable_limit();
    return pod;
  }
  static wire::Container container(const std::string& id, int count, std::uint32_t pid = 0) {
    wire::Container container;
    container.set_id(id);
    container.set_pod_sandbox_id("sandbox");
    container.set_name("main");
    container.set_state(pid == 0 ? wire::CONTAINER_UNKNOWN : wire::CONTAINER_CREATED);
    container.set_pid(pid);
    container.mutable_linux()->set_cgroups_path(std::string(kPodSlice) + ":crio:" + id);
    wire::LinuxCPU& cpu = *container.mutable_linux()->mutable_resources()->mutable_cpu();
    cpu.mutable_shares()->set_value(1024 * static_cast<std::uint64_t>(count));
    cpu.mutable_quota()->set_value(std::int64_t{100'000} * count);
    cpu.mutable_period()->set_value(100'000);
    return container;
  }
  template <class Request>
  static Request request_of(const wire::Container& container) {
    Request request;
    *request.mutable_pod() = pod();
    *request.mutable_container() = container;
    return request;
  }
  // Its CPUs, as the adjustment says.
  std::string create(const wire::Container& container) {
    wire::CreateContainerResponse response;
    EXPECT_TRUE(response.ParseFromString(
        call("CreateContainer", request_of<wire::CreateContainerRequest>(container)).payload));
    return response.adjust().linux().resources().cpu().cpus();
  }
  void tell(const char* method, const wire::Container& container) {
    call(method, request_of<wire::EventRequest>(container));
  }
  void stop(const wire::Container& container) {
    call("StopContainer", request_of<wire::StopContainerRequest>(container));
  }
  // What the runtime's create leaves: a process in a scope, and with crun in a group below it.
  void make_process(const std::string& id, std::uint32_t pid, const std::string& has,
                    const char* below = "") {
    const std::string scope = std::string(kScopes) + "crio-" + id + ".scope" + below;
    ASSERT_TRUE(test_support::write_tree(scope + "/cpuset.cpus = " + has + "\n" + scope +
                                             "/cpuset.mems = 0\nproc/" + std::to_string(pid) +
                                             "/cgroup = 0::/" + scope.substr(3) + "\n",
                                         directory_.path()));
  }
  [[nodiscard]] std::string file(const std::string& id, const char* below = "") const {
    std::ifstream stream(directory_.path() /
                         (std::string(kScopes) + "crio-" + id + ".scope" + below + "/cpuset.cpus"));
    std::string line;
    std::getline(stream, line);
    return line;
  }
  [[nodiscard]] std::string taken() const {
    return node_.engine().state().ledger.exclusive().to_string();
  }

  test_support::TempDir directory_;
  std::string socket_ = directory_.path() / "nri.sock";
  std::optional<test_support::RuntimeSocket> runtime_;
  Log log_{"error", LogFormat::kText};
  Node node_{engine::Engine(test_support::machine(test_support::MachineSpec{.cores_per_l3 = 4}), {},
                            engine::FenceKind::kLeaf),
             cgroup::CpusetFiles(
                 {.mount = (directory_.path() / "cg").string(), .version = 2, .writable = true},
                 (directory_.path() / "proc").string()),
             std::nullopt, log_, std::chrono::seconds(10)};
  nri::Connection connection_{{.socket = socket_, .session = {}}, node_};
};

TEST_F(Crio, AContainersLife) {
  ASSERT_NO_FATAL_FAILURE(connect());
  wire::EventRequest run;
  *run.mutable_pod() = pod();
  call("RunPodSandbox", run);
  EXPECT_EQ(create(container("a", 2)), "0-1");

  const wire::Container created = container("a", 2, 42);
  make_process("a", 42, "0-3");  // an update that got lost
  tell("PostCreateContainer", created);
  tell("StartContainer", created);
  EXPECT_EQ(file("a"), "0-1") << "before its first instruction";
  tell("PostStartContainer", created);

  auto update = request_of<wire::UpdateContainerRequest>(created);
  wire::LinuxCPU& wanted = *update.mutable_linux_resources()->mutable_cpu();
  wanted.mutable_shares()->set_value(0);
  wanted.mutable_quota()->set_value(0);
  wanted.mutable_period()->set_value(0);
  update.mutable_linux_resources()->mutable_memory()->mutable_limit()->set_value(1 << 30);
  wire::UpdateContainerResponse answer;
  ASSERT_TRUE(answer.ParseFromString(call("UpdateContainer", update).payload));
  ASSERT_GE(answer.update_size(), 1);
  EXPECT_EQ(answer.update(0).container_id(), "a");
  EXPECT_EQ(answer.update(0).linux().resources().cpu().cpus(), "0-1") << "zeros ask for nothing";
  EXPECT_EQ(taken(), "0-1");

  stop(created);  // when it has exited, and once more when it is removed
  stop(created);
  tell("RemoveContainer", created);
  call("StopPodSandbox", run);
  EXPECT_EQ(taken(), "");
  call("RemovePodSandbox", run);
  EXPECT_TRUE(node_.engine().state().pods.empty());
}

TEST_F(Crio, ACreationThatFailsGivesItsCoresBack) {
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(create(container("a", 3)), "0-2");
  stop(container("a", 3));
  tell("RemoveContainer", container("a", 3));
  EXPECT_EQ(taken(), "") << "though its sandbox is still there";
  EXPECT_EQ(create(container("b", 3)), "0-2");
}

TEST_F(Crio, AStartThatFailsGivesItsCoresBack) {
  ASSERT_NO_FATAL_FAILURE(connect());
  create(container("a", 3));
  make_process("a", 42, "0-2");
  tell("PostCreateContainer", container("a", 3, 42));
  tell("StartContainer", container("a", 3, 42));
  stop(container("a", 3, 42));
  tell("RemoveContainer", container("a", 3, 42));
  EXPECT_EQ(taken(), "");
}

// crun, CRI-O's usual runtime, puts the process into a group below the scope on cgroup v2.
TEST_F(Crio, OfAGroupBelowTheScopeTheScopeIsWritten) {
  ASSERT_NO_FATAL_FAILURE(connect());
  create(container("a", 2));
  make_process("a", 42, "0-3");
  make_process("a", 43, "0-3", "/container");
  tell("StartContainer", container("a", 2, 43));
  EXPECT_EQ(file("a"), "0-1") << "and the kernel leaves those below no more";
  EXPECT_EQ(file("a", "/container"), "0-3");
}

TEST_F(Crio, WhatRunsKeepsItsCoresWhenTheAgentComesBack) {
  make_process("a", 42, "2-3");
  make_process("b", 43, "0-1");
  wire::SynchronizeRequest all;
  *all.add_pods() = pod();
  wire::Container running = container("a", 2, 42);
  running.set_state(wire::CONTAINER_RUNNING);
  *all.add_containers() = running;
  wire::Container shared = container("b", 0, 43);
  shared.set_name("other");
  shared.set_state(wire::CONTAINER_PAUSED);
  shared.mutable_linux()->mutable_resources()->mutable_cpu()->mutable_shares()->set_value(2);
  shared.mutable_linux()->mutable_resources()->mutable_cpu()->mutable_quota()->set_value(0);
  *all.add_containers() = shared;
  ASSERT_NO_FATAL_FAILURE(connect(all));
  EXPECT_EQ(taken(), "2-3");
  EXPECT_EQ(file("a"), "2-3");
}

TEST_F(Crio, ARefusalFailsTheCreation) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto request = request_of<wire::CreateContainerRequest>(container("a", 2));
  (*request.mutable_pod()->mutable_annotations())["pinion.dev/align"] = "nowhere";
  EXPECT_TRUE(runtime_->send(runtime_->runtime().call("CreateContainer", request)));
  turn(5000);
  const auto result = answer();
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("pinion refuses container main of pod default/p"));
}

}  // namespace
}  // namespace pinion::agent
