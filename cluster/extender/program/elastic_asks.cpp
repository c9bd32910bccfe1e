#include "cluster/extender/program/elastic_asks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/extender/ccs/rescale.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using elastic::Channel;
using elastic::ElasticObject;
using nlohmann::json;

constexpr int kAskThreads = 8;
// So long a Charm++ program keeps one, if it has not rescaled before. Whether its time is up is for
// the controller to say, which has it asked no more.
constexpr std::chrono::milliseconds kHold = 2s;
constexpr std::chrono::milliseconds kAskRest = 1s;  // of a job that was asked
constexpr std::size_t kMostTroubles = 10'000;       // remembered, so that each is told once
constexpr int kTries = 5;                           // where somebody else has changed the job
// Those of programs that we know nothing of.
constexpr kube::HttpLimits kHttpLimits{
    .connect = 1s, .whole = 3s, .body_bytes = std::size_t{64} << 10};
constexpr int kReady = 200;
constexpr int kNotYet = 202;
constexpr int kDeclines = 409;

Result<json> acknowledged_patch(const ElasticObject& job, int workers) {
  return elastic::acknowledged(job, workers);
}

Result<json> sent_patch(const ElasticObject& job, int /*workers*/) {
  if (job.sent) return failure(Errc::kConflict, "it was sent its request by another leader");
  return elastic::about_to_send(job);
}

}  // namespace

ElasticAsks::ElasticAsks(kube::Api& api, Log& log, const policy::Defaults& defaults,
                         elastic::ControllerLimits limits)
    : api_(api), log_(log), defaults_(defaults), limits_(limits) {
  for (int i = 0; i < kAskThreads; ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

ElasticAsks::~ElasticAsks() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancel_.cancel();
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ElasticAsks::ask(const ElasticObject& job) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(busy_, [&](const auto& one) { return one.second <= now; });
  if (!busy_.emplace(job.uid, Clock::time_point::max()).second) return;
  waiting_.push_back(job);
  changed_.notify_one();
}

void ElasticAsks::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const ElasticObject job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    answer(job);
    lock.lock();
    busy_[job.uid] = Clock::now() + kAskRest;
  }
}

void ElasticAsks::answer(const ElasticObject& job) {
  const auto workers =
      job.channel.kind == Channel::Kind::kHttp ? answer_by_http(job) : answer_by_ccs(job);
  Status done = workers ? Status() : Status(failure(workers.error()));
  if (workers && *workers) done = write_down(job, acknowledged_patch, **workers);
  const std::lock_guard lock(mutex_);
  std::string& why = troubles_[job.uid];
  if (std::exchange(why, done ? "" : done.error().text) != why && !why.empty()) {
    log_.info("an elastic job's application gives no answer", {{"job", job.path}, {"why", why}});
  }
  if (done || troubles_.size() > kMostTroubles) troubles_.erase(job.uid);
}

Result<std::string> ElasticAsks::find_head(const ElasticObject& job) {
  const auto pods = api_.get(
      kube::with_query("/api/v1/namespaces/" + kube::percent_encoded(job.name_space) + "/pods",
                       {{"labelSelector", job.head}}),
      {.cancel = &cancel_, .whole = {}});
  if (!pods) return failure(pods.error());
  for (const json& pod : kube::json_at(*pods, "items")) {
    const std::string address = kube::json_text(pod, "status", "podIP");
    if (kube::json_text(pod, "status", "phase") == "Running" && !address.empty()) return address;
  }
  return failure(Errc::kUnavailable, "no pod with " + job.head + " runs");
}

Result<std::optional<int>> ElasticAsks::answer_by_http(const ElasticObject& job) {
  using NotYet = std::optional<int>;
  auto host = find_head(job);
  if (!host) return failure(host.error());
  kube::Access access;
  access.source = job.path;
  access.endpoint = {.tls = false, .host = *host, .port = job.channel.port, .path = {}};
  const auto http = kube::Http::create(access);
  if (!http) return failure(http.error());
  const auto said = (*http)->send({.method = "POST",
                                   .target = elastic::kQuestionPath,
                                   .content_type = "application/json",
                                   .body = kube::json_dump(elastic::question(job))},
                                  kHttpLimits, cancel_);
  if (!said) return failure(said.error());
  if (said->status == kReady) return job.wanted;
  if (said->status == kDeclines) return NotYet(job.before);
  if (said->status == kNotYet) return NotYet();
  return failure(Errc::kInvalid, "it answers with status " + std::to_string(said->status));
}

Result<std::optional<int>> ElasticAsks::answer_by_ccs(const ElasticObject& job) {
  const auto host = find_head(job);
  if (!host) return failure(host.error());
  Sent sent = take_sent(job);
  const bool before = sent.connection.valid();
  const Status done = ccs::rescale(
      {.host = *host, .port = job.channel.port},
      {.before = job.before * job.pes_per_worker,
       .wanted = *job.wanted * job.pes_per_worker,
       .sent = job.sent || before},
      Clock::now() + kHold, cancel_, [&] { return write_down(job, sent_patch, 0); },
      sent.connection);
  if (!done && sent.connection.valid()) {
    const std::lock_guard lock(mutex_);
    sent_.insert_or_assign(job.uid, std::move(sent));
  }
  if (!done) return failure(done.error());
  return job.wanted;
}

ElasticAsks::Sent ElasticAsks::take_sent(const ElasticObject& job) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(sent_, [&](const auto& one) { return one.second.until <= now; });
  auto known = sent_.extract(job.uid);
  if (known && known.mapped().rescaled_ms == job.rescaled_ms) return std::move(known.mapped());
  const std::chrono::milliseconds whole(limits_.acknowledge_ms + limits_.ready_ms);
  return {.rescaled_ms = job.rescaled_ms, .connection = Fd(), .until = now + whole};
}

Status ElasticAsks::write_down(const ElasticObject& job,
                               Result<json> (*patch)(const ElasticObject&, int), int workers) {
  const kube::Call how{.cancel = &cancel_, .whole = {}};
  for (int tries = 1;; ++tries) {
    const auto object = api_.get(job.path, how);
    if (!object) return failure(object.error());
    const auto now = elastic::read_elastic(*object, defaults_);
    if (!now) return failure(now.error());
    if (now->uid != job.uid || now->wanted != job.wanted || now->before != job.before ||
        now->rescaled_ms != job.rescaled_ms) {
      return failure(Errc::kConflict, "it is not asked any more");
    }
    const auto what = patch(*now, workers);
    if (!what) return failure(what.error());
    const auto done = api_.patch(job.path, kube::PatchKind::kMerge, *what, how);
    if (done) return {};
    if (done.error().code != Errc::kConflict || tries == kTries) return failure(done.error());
  }
}

}  // namespace pinion::cluster
