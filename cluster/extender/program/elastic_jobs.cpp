#include "cluster/extender/program/elastic_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/program/owned_map.h"
#include "cluster/extender/program/unix_time.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using elastic::ElasticObject;
using nlohmann::json;

constexpr std::chrono::milliseconds kLook = 1s;       // also when nothing has changed
constexpr std::chrono::milliseconds kPatchRest = 5s;  // of a job whose patch has failed
constexpr std::size_t kMostElasticJobs = 10'000;      // more are left as they are

}  // namespace

void ElasticJobs::KindFeed::on_object(kube::Change change, const json& object) {
  if (change == kube::Change::kDeleted) {
    return jobs_.gone(kube::json_text(object, "metadata", "uid"));
  }
  json whole = object;
  whole["apiVersion"] = collection_.api_version;
  whole["kind"] = collection_.kind;
  jobs_.changed(whole);
}

void ElasticJobs::KindFeed::on_trouble(const Error& error, std::chrono::milliseconds pause) {
  if (error.code != Errc::kNotFound) Feed::on_trouble(error, pause);
  if (error.code == Errc::kNotFound || error.code == Errc::kDenied) absent_ = true;
}

ElasticJobs::ElasticJobs(kube::Api& api, Log& log, ElasticPolicy policy,
                         const policy::Defaults& defaults, Asks asks)
    : api_(api),
      log_(log),
      defaults_(defaults),
      asks_(std::move(asks)),
      feeds_(make_feeds()),
      controller_(policy),
      applications_(api, log, defaults, {}),
      rounds_([this] {
        look_if_settled();
        return kLook;
      }) {}

ElasticJobs::~ElasticJobs() {
  rounds_.stop();
  cancel_.cancel();
}

std::vector<std::unique_ptr<ElasticJobs::KindFeed>> ElasticJobs::make_feeds() {
  std::vector<std::unique_ptr<KindFeed>> feeds;
  feeds.reserve(elastic::kCollections.size());
  for (const elastic::Collection& one : elastic::kCollections) {
    feeds.push_back(std::make_unique<KindFeed>(*this, one, log_));
  }
  return feeds;
}

void ElasticJobs::changed(const json& object) {
  const std::string uid = kube::json_text(object, "metadata", "uid");
  auto job = elastic::read_elastic(object, defaults_);
  const std::lock_guard lock(mutex_);
  if (!job) {
    jobs_.erase(uid);
    std::string& why = refused_[uid];
    if (std::exchange(why, job.error().text) != job.error().text) {
      log_.warn("an elastic job makes no sense and is left alone", {{"why", why}});
    }
    return;
  }
  refused_.erase(uid);
  if (jobs_.size() >= kMostElasticJobs && !jobs_.contains(uid)) return;
  jobs_.insert_or_assign(uid, *std::move(job));
  rounds_.hurry();
}

void ElasticJobs::gone(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(uid);
  refused_.erase(uid);
  rests_.erase(uid);
}

std::map<std::string, std::uint64_t> ElasticJobs::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::vector<ElasticRow> ElasticJobs::rows() const {
  std::vector<ElasticRow> rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, job] : jobs_) {
    if (job.over) continue;
    rows.push_back({.name = job.name_space + "/" + job.name,
                    .kind = kube::json_text(job.owner, "kind"),
                    .change = std::string(elastic::to_string(job.change)),
                    .state = std::string(elastic::state_of(job)),
                    .workers = job.suspended ? 0 : job.stated,
                    .ready = job.ready,
                    .least = job.min_workers,
                    .most = job.max_workers,
                    .wanted = job.wanted,
                    .requested = job.requested,
                    .why = job.why});
  }
  std::sort(rows.begin(), rows.end(),
            [](const ElasticRow& one, const ElasticRow& other) { return one.name < other.name; });
  return rows;
}

void ElasticJobs::look_if_settled() {
  const auto settled = [](const auto& feed) { return feed->settled(); };
  if (std::all_of(feeds_.begin(), feeds_.end(), settled) && asks_.may_act()) look();
}

void ElasticJobs::look() {
  const std::int64_t free = asks_.free();
  std::vector<elastic::Action> actions;
  std::vector<ElasticObject> told;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(rests_, [](const auto& rest) { return rest.second <= Clock::now(); });
    std::erase_if(told_, [this](const auto& one) { return !jobs_.contains(one.first); });
    actions = controller_.step(jobs_, free, unix_ms());
    for (const auto& [uid, job] : jobs_) {
      if (elastic::is_to_be_asked(job)) applications_.ask(job);
      if (job.is_told && !job.over) told.push_back(job);
    }
  }
  for (const ElasticObject& job : told) tell(job);
  for (const elastic::Action& action : actions) carry_out(action);
}

// Its ConfigMap, which is looked at only when something else is to stand there.
void ElasticJobs::tell(const ElasticObject& job) {
  const json map = elastic::size_map(job);
  const auto known = told_.find(job.uid);
  if (known != told_.end() && known->second == map["data"]) return;
  std::erase_if(mute_, [](const auto& one) { return one.second <= Clock::now(); });
  if (mute_.contains(job.uid)) return;
  const auto kept = keep_owned_map(api_, map, {.cancel = &cancel_, .whole = {}});
  if (!kept) {
    mute_[job.uid] = Clock::now() + kPatchRest;
    log_.warn("an elastic job's ConfigMap is not as it should be, trying again",
              {{"job", job.path}, {"why", kept.error().text}});
    return;
  }
  told_[job.uid] = map["data"];
}

void ElasticJobs::carry_out(const elastic::Action& action) {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(action.uid);
    if (job == jobs_.end() || rounds_.stopping() || rests_.contains(action.uid)) return;
    path = job->second.path;
  }
  const auto now =
      api_.patch(path, kube::PatchKind::kMerge, action.patch, {.cancel = &cancel_, .whole = {}});
  const std::string what(to_string(action.kind));
  if (!now) {
    // Of another version: the watch brings it, and what is to be done is decided anew.
    const bool late = now.error().code == Errc::kConflict;
    const std::lock_guard lock(mutex_);
    if (!late) rests_[action.uid] = Clock::now() + kPatchRest;
    log_.warn("an elastic job was not changed, trying again",
              {{"job", path}, {"step", what}, {"why", now.error().text}});
    return;
  }
  log_.info("an elastic job", {{"job", path}, {"step", what}, {"why", action.why}});
  changed(*now);
  const std::lock_guard lock(mutex_);
  ++done_[what];
}

}  // namespace pinion::cluster
