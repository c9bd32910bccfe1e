#include "cluster/extender/agents/agents.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "agent/api/channel.h"
#include "agent/api/mirror.h"
#include "base/backoff.h"
#include "cluster/extender/agents/machines.h"
#include "cluster/extender/agents/node_report.h"
#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::cluster {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLook{500};  // for streams that are silent

}  // namespace

class Agents::Loop {
 public:
  Loop(AgentSink& sink, AgentOptions options)
      : sink_(sink),
        options_(std::move(options)),
        random_(options_.seed != 0 ? options_.seed : std::random_device()()),
        thread_([this] { run(); }) {}

  Status follow(const std::vector<AgentAddress>& agents);
  std::size_t connected() const;
  void stop();

 private:
  // One try: gRPC calls it, for one event after another.
  class Stream : public grpc::ClientReadReactor<v1::WatchNodeResponse> {
   public:
    Stream(Loop& loop, std::string node) : loop_(loop), node_(std::move(node)) {
      request_.set_figures(true);
      request_.set_figures_interval_ms(static_cast<std::uint32_t>(loop.options_.rates.count()));
    }

    void start(v1::Node::Stub& stub, std::shared_ptr<Stream> self) {
      self_ = std::move(self);
      heard_ = std::chrono::steady_clock::now();
      stub.async()->WatchNode(&context_, &request_, this);
      StartRead(&message_);
      StartCall();
    }
    void cancel() { context_.TryCancel(); }
    [[nodiscard]] bool silent_since(SteadyTime time) const { return heard_.load() < time; }
    [[nodiscard]] bool has_spoken() const { return spoken_; }

    void OnReadDone(bool good) override {
      if (!good) return;  // OnDone comes
      heard_ = std::chrono::steady_clock::now();
      const Status taken = take();
      message_.Clear();
      if (!taken) {
        error_ = taken.error();
        context_.TryCancel();
      }
      StartRead(&message_);
    }
    void OnDone(const grpc::Status& status) override {
      if (error_.text.empty()) {
        error_ = {.code = Errc::kUnavailable, .sys_errno = 0, .text = status.error_message()};
      }
      if (error_.text.empty()) error_.text = "the agent has ended the stream";
      const auto self = std::move(self_);
      loop_.ended(node_, *this, error_);
    }

   private:
    Status take() {
      if (!error_.text.empty()) return {};  // it is being cancelled
      const std::uint64_t before = mirror_.node().generation();
      if (Status applied = mirror_.apply(message_); !applied) return applied;
      if (message_.has_snapshot() || message_.change().node().has_machine()) {
        auto topology = loop_.machines_.of(mirror_.node().machine());
        if (!topology) return failure(topology.error());
        machine_ = *std::move(topology);
        mirror_.forget_machine();
      }
      // An agent that the runtime has not told its containers shows none, and can start none.
      if (!mirror_.node().synchronized()) return {};
      if (message_.has_heartbeat() && loop_.sink_.heard(node_)) return {};
      // Cores change hands with the generation.
      const bool only_rates = message_.has_change() && !message_.change().has_node() &&
                              message_.change().generation() == before;
      if (only_rates && loop_.sink_.measured(node_, rates_of(mirror_))) return {};
      auto report = report_of(mirror_, machine_);
      if (!report) return failure(report.error());
      report->name = node_;
      spoken_ = true;
      loop_.sink_.reported(node_, *std::move(report));
      return {};
    }

    Loop& loop_;
    const std::string node_;
    grpc::ClientContext context_;
    v1::WatchNodeRequest request_;
    v1::WatchNodeResponse message_;
    agent::api::Mirror mirror_;
    std::shared_ptr<const topology::Topology> machine_;
    Error error_;
    std::atomic<SteadyTime> heard_{SteadyTime()};
    std::atomic<bool> spoken_ = false;
    std::shared_ptr<Stream> self_;  // until OnDone
  };

  struct Followed {
    AgentAddress agent;
    std::unique_ptr<v1::Node::Stub> stub;
    std::shared_ptr<Stream> stream;  // null: waits for `next`
    SteadyTime next;
    Backoff backoff;
  };

  Result<Followed> prepare(const AgentAddress& agent) const;
  Milliseconds next_pause(Followed& followed, bool had_spoken);
  void ended(const std::string& node, const Stream& stream, const Error& error);
  // Begins what is due; returns when to look again.
  SteadyTime look();
  void run();

  AgentSink& sink_;
  const AgentOptions options_;
  Machines machines_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Followed> followed_;  // by node
  std::mt19937_64 random_;
  std::size_t live_ = 0;  // streams that gRPC may still call
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all above
};

Result<Agents::Loop::Followed> Agents::Loop::prepare(const AgentAddress& agent) const {
  const std::string whose = "the agent of node " + agent.node;
  const auto endpoint = agent::api::Endpoint::parse(agent.address);
  if (!endpoint) return failure(endpoint.error().within(whose));
  const auto channel = agent::api::open_channel(
      *endpoint,
      {.tls = options_.tls, .server_name = options_.server_name, .limit = Milliseconds(0)});
  if (!channel) return failure(channel.error().within(whose));
  return Followed{.agent = agent,
                  .stub = v1::Node::NewStub(*channel),
                  .stream = {},
                  .next = {},
                  .backoff = Backoff(options_.first_pause, options_.longest_pause)};
}

Status Agents::Loop::follow(const std::vector<AgentAddress>& agents) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Followed> next;
  for (const AgentAddress& agent : agents) {
    const auto known = followed_.find(agent.node);
    if (known != followed_.end() && known->second.agent == agent) continue;
    auto followed = prepare(agent);
    if (!followed) return failure(followed.error());
    next.insert_or_assign(agent.node, *std::move(followed));
  }
  for (const AgentAddress& agent : agents) {
    const auto known = followed_.find(agent.node);
    if (known == followed_.end() || next.contains(agent.node)) continue;
    next.insert_or_assign(agent.node, std::move(known->second));
    followed_.erase(known);
  }
  for (auto& [node, gone] : followed_) {
    if (gone.stream) gone.stream->cancel();
  }
  followed_ = std::move(next);
  changed_.notify_all();
  return {};
}

std::size_t Agents::Loop::connected() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      followed_.begin(), followed_.end(),
      [](const auto& each) { return each.second.stream && each.second.stream->has_spoken(); }));
}

Milliseconds Agents::Loop::next_pause(Followed& followed, bool had_spoken) {
  if (had_spoken) followed.backoff.reset();
  return jittered(followed.backoff.next(), std::uniform_real_distribution<double>(0, 1)(random_));
}

void Agents::Loop::ended(const std::string& node, const Stream& stream, const Error& error) {
  std::unique_lock lock(mutex_);
  const auto found = followed_.find(node);
  const bool ours = found != followed_.end() && found->second.stream.get() == &stream;
  if (ours && !stopping_) {
    Followed& followed = found->second;
    const Milliseconds pause = next_pause(followed, stream.has_spoken());
    followed.next = std::chrono::steady_clock::now() + pause;
    followed.stream.reset();
    lock.unlock();
    sink_.trouble(node, error, pause);
    lock.lock();
  }
  --live_;
  changed_.notify_all();
}

SteadyTime Agents::Loop::look() {
  const SteadyTime now = std::chrono::steady_clock::now();
  SteadyTime next = now + kLook;
  for (auto& [node, followed] : followed_) {
    if (followed.stream) {
      if (followed.stream->silent_since(now - options_.silence)) followed.stream->cancel();
    } else if (followed.next <= now) {
      followed.stream = std::make_shared<Stream>(*this, node);
      ++live_;
      followed.stream->start(*followed.stub, followed.stream);
    } else {
      next = std::min(next, followed.next);
    }
  }
  return next;
}

void Agents::Loop::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const SteadyTime next = look();
    changed_.wait_until(lock, next);
  }
}

void Agents::Loop::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (auto& [node, followed] : followed_) {
      if (followed.stream) followed.stream->cancel();
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return live_ == 0; });
    followed_.clear();
  }
  if (thread_.joinable()) thread_.join();
}

Agents::Agents(AgentSink& sink, AgentOptions options)
    : loop_(std::make_unique<Loop>(sink, std::move(options))) {}

Agents::~Agents() {
  stop();
}

Status Agents::follow(const std::vector<AgentAddress>& agents) {
  return loop_->follow(agents);
}

std::size_t Agents::connected() const {
  return loop_->connected();
}

void Agents::stop() {
  loop_->stop();
}

}  // namespace pinion::cluster
