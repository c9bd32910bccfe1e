// One stream from one agent, from connecting to its end.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "agent/client/mirror.h"
#include "base/error.h"
#include "cluster/extender/agents/agent_sink.h"
#include "cluster/extender/agents/machines.h"
#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::cluster {

// gRPC is asked for one thing at a time, and each answer is an event of the queue with the stream
// as its tag: take(), and unless it was the last, go_on().
class AgentStream {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  enum class Taken {
    kMore,
    kFirstReport,  // the sink has had one
    kEnded,        // gRPC has no more of it: it may be destroyed
  };

  // `sink` and `machines` must outlive it.
  AgentStream(AgentSink& sink, Machines& machines, std::string node);

  // `rates`: between two messages that bring only rates. Its events come until kEnded.
  void start(const std::shared_ptr<grpc::Channel>& channel, std::chrono::milliseconds rates,
             grpc::CompletionQueue& queue);
  Taken take(bool good);
  void go_on();

  // Nothing comes to the sink after this returns. `why`: what error() then says, unless it had a
  // reason already.
  void cancel(const std::string& why);

  [[nodiscard]] const std::string& node() const { return node_; }
  // Whether start() and all messages are older.
  [[nodiscard]] bool silent_since(SteadyTime time) const { return heard_.load() < time; }
  // After kEnded: whether the sink had a report, and why there is no more.
  [[nodiscard]] bool has_spoken() const { return spoken_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Status take_message();
  void end(Error why);

  AgentSink& sink_;
  Machines& machines_;
  const std::string node_;
  std::atomic<SteadyTime> heard_{SteadyTime()};

  std::mutex mutex_;  // events come on any thread
  // The reader is in the context's memory, and goes first.
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::WatchNodeResponse>> reader_;
  enum class Asked { kStart, kRead, kFinish } asked_ = Asked::kStart;
  bool good_ = false;       // of the last event
  bool cancelled_ = false;  // what still comes is not looked at
  bool spoken_ = false;
  bool unlinked_ = false;  // by the last message the agent has no connection to its runtime
  grpc::Status status_;
  Error error_;
  v1::WatchNodeResponse message_;
  agent::api::Mirror mirror_;
  std::shared_ptr<const topology::Topology> machine_;
};

}  // namespace pinion::cluster
