// A session between a handler that remembers what it was told and a fake runtime.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytes.h"
#include "nri-plugin/session.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::nri {

// One call that came through, by the name of its method; only Synchronize has several pods.
struct Told {
  std::string method;  // "": one of the events without a method of its own in Handler
  wire::Event event = wire::UNKNOWN;
  std::vector<wire::PodSandbox> pods;
  std::vector<wire::Container> containers;
  wire::LinuxResources wanted;
};

// What is to be answered.
struct Reply {
  Outcome::Kind kind = Outcome::Kind::kAnswered;
  std::string text = {};
  std::string cpus = {};  // CreateContainer: of the container itself
  std::string mems = {};
  int updates = 0;  // that many containers get CPU 0
};

class RecordingHandler : public Handler {
 public:
  std::int32_t events() const override { return 0x7ff; }
  std::size_t list_pod(const wire::PodSandbox& pod) override {
    listed_.pods.push_back(pod);
    return pod.ByteSizeLong();
  }
  std::size_t list_container(const wire::Container& container) override {
    listed_.containers.push_back(container);
    return container.ByteSizeLong();
  }
  void forget_listed() override { listed_ = {}; }
  Outcome synchronize(wire::SynchronizeResponse& response) override {
    listed_.method = "Synchronize";
    told.push_back(std::exchange(listed_, {}));
    return answered(response);
  }
  Outcome create_container(const wire::CreateContainerRequest& request,
                           wire::CreateContainerResponse& response) override {
    told.push_back({.method = "CreateContainer",
                    .event = {},
                    .pods = {request.pod()},
                    .containers = {request.container()},
                    .wanted = {}});
    if (!reply.cpus.empty()) {
      auto* cpu = response.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu();
      cpu->set_cpus(reply.cpus);
      cpu->set_mems(reply.mems);
    }
    return answered(response);
  }
  Outcome update_container(const wire::UpdateContainerRequest& request,
                           wire::UpdateContainerResponse& response) override {
    told.push_back({.method = "UpdateContainer",
                    .event = {},
                    .pods = {request.pod()},
                    .containers = {request.container()},
                    .wanted = request.linux_resources()});
    return answered(response);
  }
  Outcome stop_container(const wire::StopContainerRequest& request,
                         wire::StopContainerResponse& response) override {
    told.push_back({.method = "StopContainer",
                    .event = {},
                    .pods = {request.pod()},
                    .containers = {request.container()},
                    .wanted = {}});
    if (within_call) within_call();
    return answered(response);
  }
  Outcome tell(wire::Event event, const wire::PodSandbox& pod,
               const wire::Container& container) override {
    told.push_back(
        {.method = {}, .event = event, .pods = {pod}, .containers = {container}, .wanted = {}});
    return outcome(0);
  }
  void runtime_connected(const RuntimeInfo& info) override { runtimes.push_back(info); }
  void runtime_disconnected(const Error& why, bool again) override {
    losses.push_back(why.text);
    tries_again = again;
  }
  void warn(const std::string& text) override { warnings.push_back(text); }

  Reply reply;
  std::function<void()> within_call;  // StopContainer
  std::vector<Told> told;
  std::vector<RuntimeInfo> runtimes;
  std::vector<std::string> losses;
  bool tries_again = false;  // after the last loss
  std::vector<std::string> warnings;

 private:
  [[nodiscard]] Outcome outcome(int sent) const {
    return {.kind = reply.kind,
            .text = reply.text,
            .updates = {.sent = static_cast<std::size_t>(sent),
                        .dropped = static_cast<std::size_t>(reply.updates - sent)}};
  }
  template <class Response>
  Outcome answered(Response& response) {
    if (reply.kind != Outcome::Kind::kAnswered) return outcome(0);
    for (int i = 0; i < reply.updates; ++i) {
      std::string id = std::to_string(i);
      id.insert(0, 64 - id.size(), '0');
      auto* update = response.add_update();
      update->set_container_id(id);
      update->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("0");
    }
    return outcome(reply.updates);
  }

  Told listed_;
};

struct Rig {
  explicit Rig(SessionOptions options = {}) : session(options, handler, counters) {}

  // Gives the runtime's bytes to the session in pieces, and its answers to the runtime.
  Status feed(std::string_view bytes, std::size_t step = 1 << 20) {
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      const Status status = session.receive(as_bytes(bytes.substr(at, step)), now);
      drain();
      if (!status) return status;
    }
    return {};
  }
  void drain() {
    runtime.receive(session.output());
    session.consume_output(session.output().size());
  }
  // As far as the configured phase.
  Status begin() {
    session.start(now);
    drain();
    if (auto status = feed(runtime.register_answer()); !status) return status;
    return feed(runtime.configure());
  }
  Status handshake() {
    if (auto status = begin(); !status) return status;
    if (auto status = feed(runtime.synchronize({})); !status) return status;
    return session.tick(now);
  }
  void pass(std::chrono::milliseconds time) { now += time; }

  TimePoint now{std::chrono::hours(1)};
  RecordingHandler handler;
  Counters counters;
  Session session;
  test_support::FakeRuntime runtime;
};

}  // namespace pinion::nri
