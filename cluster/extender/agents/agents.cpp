#include "cluster/extender/agents/agents.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "agent/client/channel.h"
#include "base/backoff.h"
#include "cluster/extender/agents/agent_stream.h"
#include "cluster/extender/agents/machines.h"

namespace pinion::cluster {
namespace {

using SteadyTime = AgentStream::SteadyTime;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLook{500};  // for streams that are silent

// At most so many tries are begun in each 10 ms. A try that fails at once takes 0.3 ms of CPU, with
// TLS 1.5 ms: so 200 a second again, a third of a core. That is one in half a second for up to 100
// agents that are away at once, and one in 25 s for each of 5,000; but those that are new, as one
// whose pod becomes ready, come first: 500 a second, as fast as TLS handshakes can be done.
constexpr int kMostNew = 5;
constexpr int kMostAgain = 2;
constexpr Milliseconds kBetweenBursts{10};

std::string after(Milliseconds time) {
  return "it has said nothing for " + std::to_string(time.count()) + " ms";
}

}  // namespace

// Its own thread begins streams, those of the queue take what comes of them.
//
// Why an own queue: gRPC's callback interface has one for the whole process, which lives as long as
// some channel has used it. Who drops the last such channel joins the queue's threads. A stream
// holds its channel, so when all agents go the last stream's end, which is told on one of those
// threads, would drop it there: the thread joins itself in vain, the queue is freed, and the thread
// goes on with it (gRPC 1.51; later ones abort). Here queue and threads are there before the first
// stream and end after the last one, and channels may be dropped anywhere.
class Agents::Loop {
 public:
  Loop(AgentSink& sink, AgentOptions options);

  Status follow(const std::vector<AgentAddress>& agents);
  std::size_t connected() const;
  std::uint64_t failures() const;
  void stop();

 private:
  struct Followed {
    AgentAddress agent;
    agent::api::Endpoint endpoint;
    AgentStream* stream = nullptr;  // null: it is to be begun at `due`
    SteadyTime due = SteadyTime::min();
    Backoff backoff;
    enum class Told { kNothing, kConnected, kLost } told = Told::kNothing;
  };

  Result<agent::api::Credentials> credentials_for(const agent::api::Endpoint& endpoint,
                                                  SteadyTime now);
  void drop(Followed& followed, const std::string& why);
  void begin(Followed& followed, SteadyTime now);
  void retry(Followed& followed, const Error& why, bool had_spoken, SteadyTime now);
  void cancel_silent(SteadyTime now);
  SteadyTime begin_due(SteadyTime now);  // returns when there is more to begin
  void run();

  AgentStream& stream_of(const void* tag);
  Followed* followed_by(const AgentStream& stream);
  void first_report(const AgentStream& stream);
  void ended(AgentStream& stream);
  void serve_queue();

  AgentSink& sink_;
  const AgentOptions options_;
  Machines machines_;
  grpc::CompletionQueue queue_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Followed> followed_;          // by node
  std::set<std::pair<SteadyTime, std::string>> due_;  // nodes without a stream
  // All that gRPC may still speak of, also those that nobody follows any more.
  std::unordered_map<const void*, std::unique_ptr<AgentStream>> streams_;  // by their tags
  SteadyTime next_burst_ = SteadyTime::min();
  std::uint64_t failures_ = 0;
  std::mt19937_64 random_;
  agent::api::Credentials tls_;  // null: not read yet
  SteadyTime tls_read_;
  bool stopping_ = false;

  std::vector<std::thread> queue_threads_;
  std::thread thread_;
};

Agents::Loop::Loop(AgentSink& sink, AgentOptions options)
    : sink_(sink),
      options_(std::move(options)),
      random_(options_.seed != 0 ? options_.seed : std::random_device()()) {
  const unsigned int threads = std::clamp(std::thread::hardware_concurrency() / 2, 2U, 16U);
  for (unsigned int i = 0; i < threads; ++i) queue_threads_.emplace_back([this] { serve_queue(); });
  thread_ = std::thread([this] { run(); });
}

Status Agents::Loop::follow(const std::vector<AgentAddress>& agents) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> nodes;
  std::map<std::string, Followed> added;
  for (const AgentAddress& agent : agents) {
    nodes.insert(agent.node);
    const auto known = followed_.find(agent.node);
    if (known != followed_.end() && known->second.agent == agent) continue;
    const auto endpoint = agent::api::Endpoint::parse(agent.address);
    if (!endpoint) return failure(endpoint.error().within("the agent of node " + agent.node));
    added.insert_or_assign(
        agent.node, Followed{.agent = agent,
                             .endpoint = *endpoint,
                             .backoff = Backoff(options_.first_pause, options_.longest_pause)});
  }
  for (auto at = followed_.begin(); at != followed_.end();) {
    const auto instead = added.find(at->first);
    if (instead == added.end() && nodes.contains(at->first)) {
      ++at;
      continue;
    }
    drop(at->second, instead == added.end() ? "no agent of the node is known any more"
                                            : "it is at " + instead->second.agent.address + " now");
    at = followed_.erase(at);
  }
  for (auto& [node, followed] : added) due_.emplace(followed.due, node);
  followed_.merge(added);
  changed_.notify_all();
  return {};
}

void Agents::Loop::drop(Followed& followed, const std::string& why) {
  if (followed.stream == nullptr) {
    due_.erase({followed.due, followed.agent.node});
  } else {
    followed.stream->cancel(why);
  }
  if (followed.told != Followed::Told::kConnected) return;
  sink_.lost(followed.agent.node, {.code = Errc::kNotFound, .sys_errno = 0, .text = why});
}

std::size_t Agents::Loop::connected() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      followed_.begin(), followed_.end(),
      [](const auto& each) { return each.second.told == Followed::Told::kConnected; }));
}

std::uint64_t Agents::Loop::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

Result<agent::api::Credentials> Agents::Loop::credentials_for(const agent::api::Endpoint& endpoint,
                                                              SteadyTime now) {
  if (endpoint.is_unix()) return agent::api::credentials_for(endpoint, {});
  if (tls_ && now - tls_read_ < options_.tls_reload) return tls_;
  auto read = agent::api::credentials_for(endpoint, options_.tls);
  if (!read) return read;
  tls_ = *read;
  tls_read_ = now;
  return tls_;
}

// With a new channel each time: one that has failed would try again when its own pause is over,
// whatever we ask of it, and that grows to two minutes.
void Agents::Loop::begin(Followed& followed, SteadyTime now) {
  const auto credentials = credentials_for(followed.endpoint, now);
  if (!credentials) return retry(followed, credentials.error(), false, now);
  auto stream = std::make_unique<AgentStream>(sink_, machines_, followed.agent.node);
  followed.stream = stream.get();
  streams_.emplace(followed.stream, std::move(stream));
  followed.stream->start(
      agent::api::open_channel(followed.endpoint, *credentials, followed.agent.server_name),
      options_.rates, queue_);
}

void Agents::Loop::retry(Followed& followed, const Error& why, bool had_spoken, SteadyTime now) {
  ++failures_;
  followed.stream = nullptr;
  if (had_spoken) followed.backoff.reset();
  followed.due =
      now + jittered(followed.backoff.next(), std::uniform_real_distribution<>(0, 1)(random_));
  due_.emplace(followed.due, followed.agent.node);
  if (std::exchange(followed.told, Followed::Told::kLost) == Followed::Told::kLost) return;
  sink_.lost(followed.agent.node, why);
}

void Agents::Loop::cancel_silent(SteadyTime now) {
  for (const auto& [node, followed] : followed_) {
    if (followed.stream == nullptr || !followed.stream->silent_since(now - options_.silence)) {
      continue;
    }
    followed.stream->cancel(after(options_.silence));
  }
}

SteadyTime Agents::Loop::begin_due(SteadyTime now) {
  if (now >= next_burst_) {
    for (int fresh = 0, again = 0; !due_.empty() && due_.begin()->first <= now;) {
      const bool is_new = due_.begin()->first == SteadyTime::min();
      if (is_new ? ++fresh > kMostNew : ++again > kMostAgain) break;
      const auto first = due_.extract(due_.begin());
      begin(followed_.at(first.value().second), now);
      next_burst_ = now + kBetweenBursts;
    }
  }
  if (due_.empty()) return SteadyTime::max();
  return std::max(due_.begin()->first, next_burst_);
}

void Agents::Loop::run() {
  std::unique_lock lock(mutex_);
  SteadyTime next_look = SteadyTime::min();
  while (!stopping_) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now >= next_look) {
      cancel_silent(now);
      next_look = now + kLook;
    }
    const SteadyTime more = begin_due(now);
    changed_.wait_until(lock, std::min(more, next_look));
  }
}

AgentStream& Agents::Loop::stream_of(const void* tag) {
  const std::lock_guard lock(mutex_);
  return *streams_.at(tag);
}

// Who it was begun for; null: nobody follows it any more.
Agents::Loop::Followed* Agents::Loop::followed_by(const AgentStream& stream) {
  const auto found = followed_.find(stream.node());
  if (found == followed_.end() || found->second.stream != &stream) return nullptr;
  return &found->second;
}

void Agents::Loop::first_report(const AgentStream& stream) {
  const std::lock_guard lock(mutex_);
  Followed* followed = followed_by(stream);
  if (followed == nullptr || stopping_) return;
  followed->told = Followed::Told::kConnected;
  sink_.connected(stream.node());
}

void Agents::Loop::ended(AgentStream& stream) {
  std::unique_ptr<AgentStream> owned;  // freed after the lock
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(&stream);
  owned = std::move(at->second);
  streams_.erase(at);
  if (Followed* followed = followed_by(stream); followed != nullptr && !stopping_) {
    retry(*followed, stream.error(), stream.has_spoken(), std::chrono::steady_clock::now());
  }
  changed_.notify_all();
}

void Agents::Loop::serve_queue() {
  void* tag = nullptr;
  bool good = false;
  while (queue_.Next(&tag, &good)) {
    AgentStream& stream = stream_of(tag);
    const AgentStream::Taken taken = stream.take(good);
    if (taken == AgentStream::Taken::kEnded) {
      ended(stream);
      continue;
    }
    if (taken == AgentStream::Taken::kFirstReport) first_report(stream);
    stream.go_on();
  }
}

void Agents::Loop::stop() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (const auto& [tag, stream] : streams_) stream->cancel("the extender is stopping");
    changed_.notify_all();
    changed_.wait(lock, [&] { return streams_.empty(); });
    followed_.clear();
    due_.clear();
  }
  thread_.join();
  queue_.Shutdown();  // nothing is asked of it any more
  for (std::thread& thread : queue_threads_) thread.join();
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

std::uint64_t Agents::failures() const {
  return loop_->failures();
}

void Agents::stop() {
  loop_->stop();
}

}  // namespace pinion::cluster
