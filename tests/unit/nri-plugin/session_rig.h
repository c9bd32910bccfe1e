// A session between a handler that remembers what it was told and a fake runtime.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "nri-plugin/session.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::nri {

class RecordingHandler : public Handler {
 public:
  engine::Reply handle(engine::Event event) override {
    events.push_back(std::move(event));
    return reply ? reply(events.back()) : engine::Reply{};
  }
  void runtime_connected(const RuntimeInfo& info) override { runtimes.push_back(info); }
  void runtime_disconnected(const Error& why) override { losses.push_back(why.text); }
  void warn(const std::string& text) override { warnings.push_back(text); }

  std::function<engine::Reply(const engine::Event&)> reply;
  std::vector<engine::Event> events;
  std::vector<RuntimeInfo> runtimes;
  std::vector<std::string> losses;
  std::vector<std::string> warnings;
};

inline engine::Reply refusal(const std::string& text) {
  return engine::Reply{.refusal = text, .own = {}, .updates = {}};
}

inline engine::Reply own_cpus(const topology::CpuSet& cpus, const topology::NodeSet& mems) {
  return engine::Reply{
      .refusal = {}, .own = engine::Cpuset{.cpus = cpus, .mems = mems}, .updates = {}};
}

// That many containers get CPU 0.
inline engine::Reply many_updates(int count) {
  engine::Reply reply;
  for (int i = 0; i < count; ++i) {
    std::string id = std::to_string(i);
    id.insert(0, 64 - id.size(), '0');
    reply.updates.push_back({.id = id, .cpuset = {.cpus = {0}, .mems = {}}});
  }
  return reply;
}

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
