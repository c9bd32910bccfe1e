#include "cluster/extender/agents/agent_stream.h"

#include <utility>

#include "cluster/extender/agents/node_report.h"

namespace pinion::cluster {

AgentStream::AgentStream(AgentSink& sink, Machines& machines, std::string node)
    : sink_(sink), machines_(machines), node_(std::move(node)) {}

void AgentStream::start(const std::shared_ptr<grpc::Channel>& channel,
                        std::chrono::milliseconds rates, grpc::CompletionQueue& queue) {
  const std::lock_guard lock(mutex_);
  heard_ = std::chrono::steady_clock::now();
  v1::WatchNodeRequest request;
  request.set_figures(true);
  request.set_figures_interval_ms(static_cast<std::uint32_t>(rates.count()));
  reader_ = v1::Node::NewStub(channel)->PrepareAsyncWatchNode(&context_, request, &queue);
  reader_->StartCall(this);
}

AgentStream::Taken AgentStream::take(bool good) {
  const std::lock_guard lock(mutex_);
  good_ = good;
  if (asked_ == Asked::kFinish) {
    if (error_.text.empty()) {
      error_ = {.code = Errc::kUnavailable, .sys_errno = 0, .text = status_.error_message()};
    }
    if (error_.text.empty()) error_.text = "the agent has ended the stream";
    return Taken::kEnded;
  }
  if (asked_ == Asked::kStart || !good || cancelled_) return Taken::kMore;
  heard_ = std::chrono::steady_clock::now();
  const bool before = spoken_;
  if (const Status taken = take_message(); !taken) end(taken.error());
  return spoken_ && !before ? Taken::kFirstReport : Taken::kMore;
}

void AgentStream::go_on() {
  const std::lock_guard lock(mutex_);
  if (good_) {
    asked_ = Asked::kRead;
    message_.Clear();
    reader_->Read(&message_, this);
  } else {
    asked_ = Asked::kFinish;
    reader_->Finish(&status_, this);
  }
}

void AgentStream::cancel(const std::string& why) {
  const std::lock_guard lock(mutex_);
  end({.code = Errc::kUnavailable, .sys_errno = 0, .text = why});
}

void AgentStream::end(Error why) {
  cancelled_ = true;
  if (error_.text.empty()) error_ = std::move(why);
  context_.TryCancel();
}

Status AgentStream::take_message() {
  const std::uint64_t before = mirror_.node().generation();
  if (Status applied = mirror_.apply(message_); !applied) return applied;
  if (message_.has_snapshot() || message_.change().node().has_machine()) {
    auto topology = machines_.of(mirror_.node().machine());
    if (!topology) return failure(topology.error());
    machine_ = *std::move(topology);
    mirror_.forget_machine();
  }
  // An agent that the runtime has not told its containers shows none, and can start none. That
  // passes in a moment, where there is a connection.
  if (!mirror_.node().synchronized()) {
    const bool unlinked = mirror_.node().runtime().phase() == "disconnected";
    if (unlinked && !unlinked_) sink_.unlinked(node_);
    unlinked_ = unlinked;
    return {};
  }
  unlinked_ = false;
  if (message_.has_heartbeat() && sink_.heard(node_)) return {};
  if (!message_.has_heartbeat() && sink_.wants_uses()) sink_.used(node_, uses_of(mirror_));
  // Cores change hands with the generation.
  const bool only_rates = message_.has_change() && !message_.change().has_node() &&
                          message_.change().generation() == before;
  if (only_rates && sink_.measured(node_, rates_of(mirror_))) return {};
  auto report = report_of(mirror_, machine_);
  if (!report) return failure(report.error());
  report->name = node_;
  spoken_ = true;
  sink_.reported(node_, *std::move(report));
  return {};
}

}  // namespace pinion::cluster
