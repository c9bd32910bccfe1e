#include "cluster/extender/program/elastic_asks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/extender/ccs/rescale.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/program/clocks.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using elastic::Channel;
using elastic::ElasticObject;
using nlohmann::json;

// At most so many are asked at one time, of one namespace half of them.
constexpr int kAskThreads = 8;
constexpr int kReadThreads = 4;  // the same, for their progress
constexpr std::size_t kMostAsked = 20'000;
constexpr std::size_t kMostAskedOfNamespace = 5'000;
constexpr std::size_t kMostReporters = 1'000;
constexpr std::size_t kMostReportersOfNamespace = 250;
constexpr std::chrono::milliseconds kProgressRest = 10s;   // of a job whose progress was read
constexpr std::chrono::milliseconds kSilentRest = 20s;     // of one that gives none, at first
constexpr std::chrono::milliseconds kLongestSilent{300s};  // the same, in the end
constexpr std::chrono::minutes kProgressKept{10};          // of one that says no more
constexpr std::chrono::minutes kAddressKept{5};            // of its pod
constexpr std::chrono::minutes kNoteRest{1};               // of a job whose wish was noted
// So long a Charm++ program keeps one, if it has not rescaled before. Whether its time is up is for
// the controller to say, which has it asked no more.
constexpr std::chrono::milliseconds kHold = 2s;
constexpr std::chrono::milliseconds kAskRest = 1s;    // of a job that was asked
constexpr std::chrono::milliseconds kLateRest = 10s;  // of one that should have acted long since
constexpr std::size_t kMostTroubles = 10'000;         // remembered, so that each is told once
constexpr int kTries = 5;                             // where somebody else has changed the job
// Those of programs that we know nothing of.
constexpr kube::HttpLimits kHttpLimits{
    .connect = 1s, .whole = 3s, .body_bytes = std::size_t{64} << 10};
constexpr int kReady = 200;
constexpr int kNotYet = 202;
constexpr int kDeclines = 409;

// A pod, and how often its containers were restarted: all of them, as only one has the program.
std::string head_id(const json& pod) {
  std::optional<std::int64_t> restarts;
  for (const json& container : kube::json_at(pod, "status", "containerStatuses")) {
    const std::int64_t times = kube::json_integer(container, "restartCount");
    restarts = std::min(restarts.value_or(times), times);
  }
  return kube::json_text(pod, "metadata", "uid") + "/" + std::to_string(restarts.value_or(0));
}

// Not one of another job of that name. An MPIJob's launcher belongs to a Job in between.
bool is_its_pod(const ElasticObject& job, const json& pod) {
  if (job.kind == jobs::JobKind::kMpiJob) return true;
  const json& owners = kube::json_at(pod, "metadata", "ownerReferences");
  return std::any_of(owners.begin(), owners.end(),
                     [&](const json& owner) { return kube::json_text(owner, "uid") == job.uid; });
}

}  // namespace

ElasticAsks::ElasticAsks(kube::Api& api, Log& log, const policy::Defaults& defaults,
                         elastic::ControllerLimits limits, std::function<bool()> may_act, Work work)
    : api_(api),
      log_(log),
      defaults_(defaults),
      limits_(limits),
      may_act_(std::move(may_act)),
      work_(std::move(work)),
      reporters_of_(kMostReporters, kMostReportersOfNamespace),
      questions_(
          {.most = kMostAsked,
           .most_of_one_group = kMostAskedOfNamespace,
           .rest = kAskRest,
           .first_pause = kLateRest,
           .longest_pause = kLateRest,
           .threads = kAskThreads,
           .group_of = [](const ElasticObject& job) { return job.name_space; },
           .most_of_group = kAskThreads / 2},
          [] { return true; },  // a question is not kept for later
          [this](const std::string&, const ElasticObject& job) {
            if (!may_act_()) return Worked::kDone;
            answer(job);
            return job.wanted && !is_overdue(job.sent) ? Worked::kDone : Worked::kFailed;
          }),
      progress_({.most = kMostReporters,
                 .rest = kProgressRest,
                 .first_pause = kSilentRest,
                 .longest_pause = kLongestSilent,
                 .threads = kReadThreads,
                 .group_of = [](const ElasticObject& job) { return job.name_space; },
                 .most_of_group = kReadThreads / 2},
                may_act_, [this](const std::string&, const ElasticObject& job) {
                  return read_progress(job) ? Worked::kDone : Worked::kAgain;
                }) {}

ElasticAsks::~ElasticAsks() {
  cancel_.cancel();
}

void ElasticAsks::ask(const ElasticObject& job) {
  if (!questions_.update(job.uid, job)) questions_.add(job.uid, job);
}

void ElasticAsks::answer(const ElasticObject& job) {
  const auto workers =
      job.channel.kind == Channel::Kind::kHttp ? answer_by_http(job) : answer_by_ccs(job);
  Status done = workers ? Status() : Status(failure(workers.error()));
  if (workers && *workers) {
    done = write_down(
        job, [&](const ElasticObject& now) { return elastic::acknowledged(now, **workers); });
  }
  const std::lock_guard lock(mutex_);
  std::string& why = troubles_[job.uid];
  if (std::exchange(why, done ? "" : done.error().text) != why && !why.empty()) {
    log_.info("an elastic job's application gives no answer", {{"job", job.path}, {"why", why}});
  }
  if (done || troubles_.size() > kMostTroubles) troubles_.erase(job.uid);
}

// It was sent its request so long ago that it may not have arrived.
bool ElasticAsks::is_overdue(const std::optional<elastic::Sent>& sent) const {
  return sent && unix_ms() - sent->at_ms >= limits_.acknowledge_ms;
}

Result<std::optional<ElasticAsks::Head>> ElasticAsks::find_head(const ElasticObject& job,
                                                                const std::string& id) {
  const auto pods = api_.get(
      kube::with_query("/api/v1/namespaces/" + kube::percent_encoded(job.name_space) + "/pods",
                       {{"labelSelector", job.head}}),
      {.cancel = &cancel_, .whole = {}});
  if (!pods) return failure(pods.error());
  std::optional<Head> found;
  for (const json& pod : kube::json_at(*pods, "items")) {
    if (!is_its_pod(job, pod)) continue;
    // Its port would be one of the node's own.
    if (kube::json_at(pod, "spec", "hostNetwork") == true) {
      return failure(Errc::kInvalid, "its pod has the node's own network, and is not asked");
    }
    const std::string phase = kube::json_text(pod, "status", "phase");
    if (phase == "Unknown") return failure(Errc::kUnavailable, "the node of its pod is not heard");
    Head head{.address = kube::json_text(pod, "status", "podIP"), .id = head_id(pod)};
    // One that is about to go is not asked anything new.
    if (!kube::json_text(pod, "metadata", "deletionTimestamp").empty() && head.id != id) continue;
    if (phase == "Running" && !head.address.empty() && (!found || head.id == id)) {
      found = std::move(head);
    }
  }
  return found;
}

Result<kube::HttpAnswer> ElasticAsks::send(const ElasticObject& job, const std::string& address,
                                           const kube::HttpRequest& request) {
  kube::Access access;
  access.source = job.path;
  access.endpoint = {.tls = false, .host = address, .port = job.channel.port, .path = {}};
  const auto http = kube::Http::create(access);
  if (!http) return failure(http.error());
  return (*http)->send(request, kHttpLimits, cancel_);
}

Result<std::optional<int>> ElasticAsks::answer_by_http(const ElasticObject& job) {
  using NotYet = std::optional<int>;
  const auto head = find_head(job, {});
  if (!head) return failure(head.error());
  if (!*head) return failure(Errc::kUnavailable, "no pod with " + job.head + " runs");
  if (!may_act_() || !questions_.knows(job.uid)) return NotYet();  // it is withdrawn meanwhile
  const auto said = send(job, (*head)->address,
                         {.method = "POST",
                          .target = elastic::kQuestionPath,
                          .content_type = "application/json",
                          .body = kube::json_dump(elastic::question(job))});
  if (!said) return failure(said.error());
  if (said->status == kReady) return job.wanted;
  if (said->status == kDeclines) return NotYet(job.before);
  if (said->status == kNotYet) return NotYet();
  return failure(Errc::kInvalid, "it answers with status " + std::to_string(said->status));
}

void ElasticAsks::look_at_progress(const ElasticObject& job) {
  {
    const std::lock_guard lock(mutex_);
    if (!reporters_.contains(job.uid)) {
      if (!reporters_of_.take(job.name_space)) return;
      Reporter& reporter = reporters_[job.uid];
      reporter.name_space = job.name_space;
      reporter.heard = Clock::now();
      if (job.noted) {
        reporter.told = {.said = {.progress = {}, .workers = job.noted}, .at_s = steady_s()};
      }
    }
  }
  if (!progress_.update(job.uid, job)) progress_.add(job.uid, job);
}

bool ElasticAsks::read_progress(const ElasticObject& job) {
  std::string address;
  {
    const std::lock_guard lock(mutex_);
    const auto asked = reporters_.find(job.uid);
    if (asked != reporters_.end()) address = asked->second.address;
  }
  const std::string asked_at = address;
  const auto said = progress_by_http(job, address);
  const auto now = Clock::now();
  std::unique_lock lock(mutex_);
  const auto at = reporters_.find(job.uid);
  if (at == reporters_.end()) return true;  // forgotten meanwhile
  Reporter& reporter = at->second;
  reporter.address = said ? address : "";
  if (address != asked_at) reporter.find_again = now + kAddressKept;
  if (said) {
    reporter.heard = now;
    reporter.told = {.said = *said, .at_s = steady_s()};
  }
  // Its pod may be another one by now, and what it has said be of no more use.
  if (now >= reporter.find_again) reporter.address.clear();
  if (now - reporter.heard >= kProgressKept) reporter.told.reset();
  const auto wish = reporter.told ? reporter.told->said.workers : std::nullopt;
  if (wish != job.noted && now >= reporter.note_again) {
    lock.unlock();
    const bool rests = note_wish(job, wish);
    lock.lock();
    const auto still = reporters_.find(job.uid);
    if (rests && still != reporters_.end()) still->second.note_again = now + kNoteRest;
  }
  return said.has_value();
}

bool ElasticAsks::note_wish(const ElasticObject& job, std::optional<int> workers) {
  if (!may_act_()) return false;
  const Status done = write_down(job, [&](const ElasticObject& now) -> Result<json> {
    if (now.noted == workers) return failure(Errc::kConflict, "it is noted with a step");
    return elastic::note_wish(now, workers);
  });
  if (done) return true;
  if (done.error().code == Errc::kConflict) return false;
  log_.warn("what an elastic job's application wishes is not noted",
            {{"job", job.path}, {"why", done.error().text}});
  return true;
}

Result<elastic::Said> ElasticAsks::progress_by_http(const ElasticObject& job,
                                                    std::string& address) {
  if (address.empty()) {
    const auto head = find_head(job, {});
    if (!head) return failure(head.error());
    if (!*head) return failure(Errc::kUnavailable, "no pod with " + job.head + " runs");
    address = (*head)->address;
  }
  const auto said =
      send(job, address,
           {.method = "GET", .target = elastic::kProgressPath, .content_type = {}, .body = {}});
  if (!said) return failure(said.error());
  if (said->status != kReady) {
    return failure(Errc::kInvalid, "it answers with status " + std::to_string(said->status));
  }
  const json answer = json::parse(said->body, nullptr, false);
  return elastic::said_in(answer);
}

std::optional<ElasticAsks::Told> ElasticAsks::told(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto at = reporters_.find(uid);
  return at == reporters_.end() ? std::nullopt : at->second.told;
}

void ElasticAsks::forget_progress(const std::string& uid) {
  progress_.erase(uid);
  const std::lock_guard lock(mutex_);
  const auto known = reporters_.find(uid);
  if (known == reporters_.end()) return;
  reporters_of_.give_back(known->second.name_space);
  reporters_.erase(known);
}

Result<std::optional<int>> ElasticAsks::answer_by_ccs(const ElasticObject& job) {
  Sent sent = take_sent(job);
  // What the watch has not brought yet is known here.
  const bool known_here =
      sent.what && job.sent && sent.what->at_ms == job.sent->at_ms && job.sent->came_ms == 0;
  if (job.sent && !known_here) sent.what = job.sent;
  auto answer = look_at_charm(job, sent);
  const std::lock_guard lock(mutex_);
  const bool is_kept = sent.going_on || (!answer && sent.connection.valid());
  if (is_kept) sent_.insert_or_assign(job.uid, std::move(sent));
  return answer;
}

Result<std::optional<int>> ElasticAsks::look_at_charm(const ElasticObject& job, Sent& sent) {
  const std::optional<elastic::Sent> known = sent.what;
  const auto head = find_head(job, known ? known->head : "");
  if (!head) return failure(head.error());
  if (known && (!*head || (*head)->id != known->head)) {  // it is gone
    sent.going_on.reset();
    return forget(job, *known);
  }
  if (!*head) return failure(Errc::kUnavailable, "no pod with " + job.head + " runs");
  const std::int64_t now_ms = unix_ms();
  const int wanted = known ? known->wanted : *job.wanted * job.pes_per_worker;
  const auto about_to_send = [&](int pes) -> Status {
    const elastic::Sent what{.before = pes, .wanted = wanted, .at_ms = now_ms, .head = (*head)->id};
    Status done = write_down(job, [&](const ElasticObject& now) -> Result<json> {
      if (now.sent != known) return failure(Errc::kConflict, "it was sent one by another leader");
      return elastic::note_sent(now, what);
    });
    if (done) sent.what = what;
    return done;
  };
  const bool overdue = is_overdue(known);
  const bool has_hosts = job.is_whole() && wanted <= job.stated * job.pes_per_worker;
  const auto pes = ccs::rescale({.host = (*head)->address, .port = job.channel.port},
                                {.wanted = wanted,
                                 .sent_with = known ? std::optional(known->before) : std::nullopt,
                                 .again = overdue && has_hosts},
                                Clock::now() + kHold, cancel_, about_to_send, sent.connection);
  if (!pes) return failure(pes.error());
  const int workers = (*pes + job.pes_per_worker - 1) / job.pes_per_worker;
  // Given up meanwhile, and it has as many as there are pods.
  if (!job.wanted && workers >= job.stated) {
    sent.going_on.reset();
    return forget(job, *known);
  }
  return look_if_it_goes_on(job, sent, *pes, std::min(workers, job.stated));
}

Result<std::optional<int>> ElasticAsks::look_if_it_goes_on(const ElasticObject& job, Sent& sent,
                                                           int pes, int workers) {
  using Seen = elastic::GoingOn::Seen;
  if (!sent.what) return workers;  // it had that number before anything was sent
  const bool is_first = !sent.going_on;
  if (is_first) sent.going_on.emplace();
  const Seen seen =
      sent.going_on->look(work_ ? work_(job) : std::optional<elastic::WorkDone>(), pes, steady_s());
  if (seen == Seen::kNothingTells && is_first) {
    log_.info("nothing tells whether a program goes on that was rescaled", {{"job", job.path}});
  }
  if (seen != Seen::kNotYet) return workers;
  if (sent.what->came_ms > 0) return std::optional<int>();
  const elastic::Sent before = *sent.what;
  elastic::Sent came = before;
  came.came_ms = unix_ms();
  const Status done = write_down(job, [&](const ElasticObject& now) -> Result<json> {
    if (now.sent != before) return failure(Errc::kConflict, "it was sent something else");
    return elastic::note_sent(now, came);
  });
  if (!done) return failure(done.error());
  sent.what = came;
  return std::optional<int>();
}

Result<std::optional<int>> ElasticAsks::forget(const ElasticObject& job,
                                               const elastic::Sent& what) {
  const Status done = write_down(job, [&](const ElasticObject& now) -> Result<json> {
    if (now.sent != what) return failure(Errc::kConflict, "it was sent something else");
    return elastic::nothing_sent(now, unix_ms());
  });
  if (!done) return failure(done.error());
  return std::optional<int>();
}

ElasticAsks::Sent ElasticAsks::take_sent(const ElasticObject& job) {
  const auto now = Clock::now();
  const std::chrono::milliseconds whole(limits_.acknowledge_ms + limits_.ready_ms);
  Sent sent{.rescaled_ms = job.rescaled_ms,
            .what = {},
            .connection = Fd(),
            .going_on = {},
            .until = now + whole};
  const std::lock_guard lock(mutex_);
  std::erase_if(sent_, [&](const auto& one) { return one.second.until <= now; });
  auto known = sent_.extract(job.uid);
  if (!known || known.mapped().rescaled_ms != job.rescaled_ms) return sent;
  sent.what = known.mapped().what;
  sent.connection = std::move(known.mapped().connection);
  sent.going_on = known.mapped().going_on;
  return sent;
}

Status ElasticAsks::write_down(const ElasticObject& job, const Patch& patch) {
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
    const auto what = patch(*now);
    if (!what) return failure(what.error());
    const auto done = api_.patch(job.path, kube::PatchKind::kMerge, *what, how);
    if (done) return {};
    if (done.error().code != Errc::kConflict || tries == kTries) return failure(done.error());
  }
}

}  // namespace pinion::cluster
