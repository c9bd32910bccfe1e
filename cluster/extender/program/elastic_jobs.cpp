#include "cluster/extender/program/elastic_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/election.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/program/clocks.h"
#include "cluster/extender/program/owned_object.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using elastic::ElasticObject;
using nlohmann::json;

// So many ConfigMaps are written at one time, of one namespace half of them.
constexpr int kMapThreads = 2;
constexpr std::size_t kMostMaps = 100'000;
constexpr std::size_t kMostMapsOfNamespace = 25'000;
constexpr std::size_t kMostAgain = 20;              // looked at again in one round
constexpr std::chrono::milliseconds kMapRest = 5s;  // of one that could not be kept, at first
constexpr std::chrono::milliseconds kLongestMapRest{300s};  // the same, in the end
constexpr std::size_t kMostLeft = 100'000;  // jobs that wait until there is room for them
constexpr std::size_t kMostLeftOfNamespace = 25'000;
constexpr std::size_t kMostTakenIn = 20;              // of these in one round
constexpr int kMostFailures = 3;                      // then no more is read in this round
constexpr std::chrono::milliseconds kLeftRest = 60s;  // of one that could not be read
constexpr std::size_t kMostShown = 2'000;             // of them, each has series of its own

// As kubectl names it, with the group where there are two of the kind.
std::string kind_of(const nlohmann::json& owner) {
  const std::string kind = kube::json_text(owner, "kind");
  const std::string version = kube::json_text(owner, "apiVersion");
  const std::string group = version.substr(0, version.find('/'));
  return kind == "Job" && group != "batch" ? kind + "." + group : kind;
}

ElasticRow::Speed speed_of(const elastic::SpeedSeen& seen) {
  ElasticRow::Speed speed{.measure = std::string(elastic::to_string(seen.measure))};
  for (const SizeRate& one : seen.rates) speed.rates.emplace_back(one.workers, one.rate);
  if (!seen.shrinks.empty()) speed.shrink_s = expected_cost_s(seen.shrinks);
  if (!seen.expands.empty()) speed.expand_s = expected_cost_s(seen.expands);
  return speed;
}

// By what the API server answers of its path.
bool is_gone(const Result<json>& now, const std::string& uid) {
  return now ? kube::json_text(*now, "metadata", "uid") != uid
             : now.error().code == Errc::kNotFound;
}

// What the API server answers of it.
Result<ElasticObject> read_answer(const Result<json>& now, const policy::Defaults& defaults) {
  if (!now) return failure(now.error());
  return elastic::read_or_leave_alone(*now, defaults);
}

}  // namespace

void ElasticJobs::KindFeed::on_object(kube::Change change, const json& object) {
  absent_ = false;
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

ElasticJobs::ElasticJobs(kube::Api& api, Log& log, const elastic::Controller& controller,
                         const policy::Defaults& defaults, Asks asks, const Pace& pace,
                         const Most& most)
    : api_(api),
      log_(log),
      defaults_(defaults),
      asks_(std::move(asks)),
      pace_(pace),
      feeds_(make_feeds()),
      quota_(most.all, most.of_namespace),
      left_quota_(kMostLeft, kMostLeftOfNamespace),
      controller_(controller),
      applications_(api, log, defaults, {}, asks_.may_act,
                    [this](const ElasticObject& job) { return work_of(job); }),
      maps_(
          {.most = kMostMaps,
           .most_of_one_group = kMostMapsOfNamespace,
           .first_pause = kMapRest,
           .longest_pause = kLongestMapRest,
           .threads = kMapThreads,
           .group_of = [](const std::string& name_space) { return name_space; },
           .most_of_group = kMapThreads / 2},
          [] { return true; },
          [this](const std::string& uid, const std::string&) { return tell(uid); }),
      rounds_(
          [this] {
            look_if_complete();
            return pace_.look;
          },
          pace.least) {}

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
  auto job = elastic::read_or_leave_alone(object, defaults_);
  const std::lock_guard lock(mutex_);
  take_in(uid, std::move(job));
}

void ElasticJobs::take_in(const std::string& uid, Result<ElasticObject> job) {
  const std::string why = job ? job->left_alone : job.error().text;
  if (why.empty()) {
    refused_.erase(uid);
  } else if (std::exchange(refused_[uid], why) != why) {
    log_.warn("an elastic job makes no sense and is left alone", {{"why", why}});
  }
  if (!job) {
    remove(uid);
    forget_left(uid);
    return;
  }
  if (job->over) return forget(uid);
  const auto known = jobs_.find(uid);
  const bool had_share = known != jobs_.end() && known->second.suspended;
  if (job->suspended && !had_share) {
    if (known == jobs_.end() && !quota_.has_room(job->name_space)) return leave(*job);
    quota_.take_anyway(job->name_space);
  } else if (!job->suspended && had_share) {
    quota_.give_back(job->name_space);
  }
  forget_left(uid);
  if (const auto rest = rests_.find(uid); rest != rests_.end()) {
    job->declined_until_ms = std::max(job->declined_until_ms, rest->second.until_ms);
  }
  heed_written(*job);
  jobs_.insert_or_assign(uid, *std::move(job));
  rounds_.hurry();
}

void ElasticJobs::gone(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  forget(uid);
}

void ElasticJobs::remove(const std::string& uid) {
  const auto job = jobs_.find(uid);
  if (job == jobs_.end()) return;
  if (job->second.suspended) quota_.give_back(job->second.name_space);
  jobs_.erase(job);
  told_.erase(uid);
  maps_.erase(uid);
  applications_.withdraw(uid);
  applications_.forget_progress(uid);
}

void ElasticJobs::leave(const ElasticObject& job) {
  if (left_.empty()) {
    log_.warn("too many elastic jobs wait, some are not looked at until others have started",
              {{"job", job.path}});
  }
  if (left_.contains(job.uid) || !left_quota_.take(job.name_space)) return;
  left_[job.uid] = {
      .name_space = job.name_space, .path = job.path, .submitted_ms = job.submitted_ms};
}

void ElasticJobs::forget_left(const std::string& uid) {
  const auto left = left_.find(uid);
  if (left == left_.end()) return;
  left_quota_.give_back(left->second.name_space);
  left_.erase(left);
}

// The first of those for which there is room now.
void ElasticJobs::take_in_left() {
  std::vector<std::pair<std::string, Left>> wait;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : left_) {
      const bool rests = one.second.again > Clock::now();
      if (!rests && quota_.has_room(one.second.name_space)) wait.push_back(one);
    }
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(wait.size(), kMostTakenIn));
  std::partial_sort(wait.begin(), wait.begin() + count, wait.end(),
                    [](const auto& one, const auto& other) {
                      return one.second.submitted_ms < other.second.submitted_ms;
                    });
  wait.resize(static_cast<std::size_t>(count));
  int failures = 0;
  for (const auto& [uid, left] : wait) {
    const auto now = api_.get(left.path, {.cancel = &cancel_, .whole = kube::kLeadersCallLimit});
    auto job = read_answer(now, defaults_);
    const std::lock_guard lock(mutex_);
    const auto known = left_.find(uid);
    if (known == left_.end()) continue;  // the watch was faster
    if (is_gone(now, uid)) {
      forget(uid);
    } else if (now) {
      take_in(uid, std::move(job));
    } else {
      known->second.again = Clock::now() + kLeftRest;
      if (++failures == kMostFailures) return;
    }
  }
}

void ElasticJobs::forget(const std::string& uid) {
  remove(uid);
  forget_left(uid);
  refused_.erase(uid);
  rests_.erase(uid);
  written_.erase(uid);
  wishes_.erase(uid);
  waits_.erase(uid);
  speeds_.forget(uid);
}

ElasticFigures ElasticJobs::figures() const {
  const bool decides = asks_.may_act();
  const std::lock_guard lock(mutex_);
  ElasticFigures figures = done_;
  figures.jobs["refused"] = refused_.size();
  if (!left_.empty()) figures.jobs["left"] = left_.size();
  for (const auto& [uid, job] : jobs_) {
    if (job.left_alone.empty()) ++figures.jobs[std::string(elastic::state_of(job))];
    if (!decides || figures.rows.size() == kMostShown) continue;
    figures.rows.push_back({.name_space = job.name_space,
                            .kind = kind_of(job.owner),
                            .name = job.name,
                            .running = job.ready,
                            .wanted = job.workers()});
  }
  return figures;
}

std::vector<ElasticRow> ElasticJobs::rows() const {
  std::vector<ElasticRow> rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, job] : jobs_) {
    ElasticRow row{.name = job.name_space + "/" + job.name,
                   .kind = kube::json_text(job.owner, "kind"),
                   .change = std::string(elastic::to_string(job.change)),
                   .state = std::string(elastic::state_of(job)),
                   .workers = job.suspended ? 0 : job.stated,
                   .ready = job.ready,
                   .least = job.min_workers,
                   .most = job.max_workers,
                   .wanted = job.wanted,
                   .requested = job.requested,
                   .asked = job.asked};
    if (const auto why = waits_.find(uid); why != waits_.end()) row.why = why->second;
    for (const auto& [at, what, why] : job.history) row.history.push_back({at, what, why});
    row.speed = speed_of(job.seen);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const ElasticRow& one, const ElasticRow& other) { return one.name < other.name; });
  return rows;
}

void ElasticJobs::look_if_complete() {
  const auto complete = [](const auto& feed) { return feed->complete(); };
  if (std::all_of(feeds_.begin(), feeds_.end(), complete) && asks_.may_act()) return look();
  settling_ = {};
  const std::lock_guard lock(mutex_);
  waits_.clear();  // another decides
  speeds_.forget_all();
  told_.clear();
  written_.clear();
  wishes_.clear();
  for (const auto& [uid, job] : jobs_) {
    maps_.erase(uid);
    applications_.withdraw(uid);
    applications_.forget_progress(uid);  // the leader may hear and note something else
  }
}

void ElasticJobs::look() {
  take_in_left();
  const std::int64_t free = asks_.free();
  const bool settling = settling_.look(free, static_cast<std::int64_t>(steady_s() * 1000));
  look_at_fleet();
  elastic::Decided decided;
  {
    const std::lock_guard lock(mutex_);
    hear_applications();
    decided = controller_.step(jobs_, free, unix_ms(), settling);
    waits_ = std::move(decided.waits);
    for (const auto& [uid, job] : jobs_) {
      if (elastic::is_to_be_asked(job)) {
        applications_.ask(job);
      } else {
        applications_.withdraw(uid);
      }
    }
    tell_sizes();
  }
  for (const elastic::Action& action : decided.actions) {
    if (!asks_.may_act()) return;  // any more
    carry_out(action);
  }
}

// Where they are and where more would be, while somebody may get more.
void ElasticJobs::look_at_fleet() {
  if (!asks_.on_fleet) return;
  std::vector<ElasticObject> all;
  bool grows = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [uid, job] : jobs_) {
      job.on_fleet = {};
      grows = grows || job.grows() || job.workers() < job.max_workers;
      all.push_back(job);
    }
  }
  if (!grows) return;
  auto seen = asks_.on_fleet(all);
  const std::lock_guard lock(mutex_);
  for (const ElasticObject& asked : all) {
    const auto own = seen.find(asked.uid);
    const auto job = jobs_.find(asked.uid);
    if (own == seen.end() || job == jobs_.end() || job->second.stated != asked.stated) continue;
    job->second.on_fleet = std::move(own->second);
  }
}

void ElasticJobs::hear_applications() {
  const std::int64_t now_ms = unix_ms();
  for (auto& [uid, job] : jobs_) {
    if (elastic::is_to_tell_progress(job)) {
      applications_.look_at_progress(job);
    } else {
      applications_.forget_progress(uid);
    }
    const auto told = applications_.told(uid);
    job.asked = told ? told->said.workers : std::nullopt;
    if (!job.suspended && job.wish() > job.stated) {
      job.wished_ms = wishes_.try_emplace(uid, now_ms).first->second;
    } else {
      wishes_.erase(uid);
    }
    speeds_.look(job, work_of(job), now_ms);
    speeds_.fill_in(job);
  }
}

// What its application says counts, else what its containers' cores count.
std::optional<elastic::WorkDone> ElasticJobs::work_of(const ElasticObject& job) const {
  using Measure = elastic::SpeedSeen::Measure;
  if (const auto told = applications_.told(job.uid); told && told->said.progress) {
    return elastic::WorkDone{
        .measure = Measure::kProgress, .progress = *told->said.progress, .at_s = told->at_s};
  }
  if (job.progress) {
    return elastic::WorkDone{
        .measure = Measure::kProgress, .progress = *job.progress, .at_s = steady_s()};
  }
  const auto figures =
      asks_.counted ? asks_.counted(job.name_space, job.name) : std::optional<RunFigures>();
  if (!figures || figures->counted <= 0 || figures->instructions > elastic::kLargestAmount) {
    return {};
  }
  // By the seconds of the run: workers that do nothing make it no faster.
  return elastic::WorkDone{.measure = Measure::kInstructions,
                           .progress = {.done = figures->instructions},
                           .at_s = figures->seconds};
}

// A ConfigMap is looked at when something else is to stand there, and from time to time.
void ElasticJobs::tell_sizes() {
  const auto now = Clock::now();
  std::vector<std::pair<Clock::time_point, const ElasticObject*>> again;
  for (const auto& [uid, job] : jobs_) {
    if (!tell_if_new(job)) continue;
    const auto at = told_.find(uid)->second.again;
    if (at <= now) again.emplace_back(at, &job);
  }
  std::sort(again.begin(), again.end());
  again.resize(std::min(again.size(), kMostAgain));
  for (const auto& one : again) {
    told_[one.second->uid].again = now + pace_.tell_again;
    maps_.add(one.second->uid, one.second->name_space);
  }
}

// False: its ConfigMap is to say another size than it does, or it has none to be told by.
bool ElasticJobs::tell_if_new(const ElasticObject& job) {
  if (!job.is_told || !job.left_alone.empty()) return false;
  const auto known = told_.find(job.uid);
  if (known != told_.end() && known->second.size == elastic::size_told(job)) return true;
  maps_.add(job.uid, job.name_space);
  return false;
}

Worked ElasticJobs::tell(const std::string& uid) {
  if (!asks_.may_act()) return Worked::kDone;
  ElasticObject job;
  {
    const std::lock_guard lock(mutex_);
    const auto known = jobs_.find(uid);
    if (known == jobs_.end() || !known->second.is_told) return Worked::kDone;
    job = known->second;
  }
  const auto kept = keep_owned(api_, owned_map(elastic::size_map(job)), asks_.may_act,
                               {.cancel = &cancel_, .whole = kube::kLeadersCallLimit});
  if (!kept) {
    log_.warn("an elastic job's ConfigMap is not as it should be, trying again",
              {{"job", job.path}, {"why", kept.error().text}});
    return Worked::kAgain;
  }
  const std::lock_guard lock(mutex_);
  if (jobs_.contains(job.uid)) {
    told_[job.uid] = {.size = elastic::size_told(job), .again = Clock::now() + pace_.tell_again};
  }
  return Worked::kDone;
}

void ElasticJobs::carry_out(const elastic::Action& action) {
  std::optional<ElasticObject> was;
  {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(action.uid);
    if (job == jobs_.end() || rounds_.stopping()) return;
    const auto rest = rests_.find(action.uid);
    if (rest != rests_.end() && rest->second.until_ms > unix_ms()) return;
    // Else the watch has brought another one meanwhile, for which it is decided anew.
    if (action.patch.at("metadata").at("resourceVersion") != job->second.version) return;
    was = job->second;
  }
  const auto now = api_.patch(was->path, kube::PatchKind::kMerge, action.patch,
                              {.cancel = &cancel_, .whole = kube::kLeadersCallLimit});
  const std::string what(to_string(action.kind));
  if (!now) {
    log_.warn("an elastic job was not changed, trying again",
              {{"job", was->path}, {"step", what}, {"why", now.error().text}});
    return refused(*was, now.error());
  }
  log_.info("an elastic job", {{"job", was->path}, {"step", what}, {"why", action.why}});
  {
    const std::lock_guard lock(mutex_);
    note_written(action);
  }
  answered(*was, now);
  const std::lock_guard lock(mutex_);
  rests_.erase(was->uid);
  ++done_.steps[what];
  // Now, as the pods of a start mount what it says.
  const auto job = jobs_.find(was->uid);
  if (job != jobs_.end()) tell_if_new(job->second);
  if (!action.ended) return;
  ElasticFigures::Rescales& rescales = done_.rescales[std::string(to_string(*action.ended))];
  ++rescales.count;
  rescales.seconds += static_cast<double>(action.took_ms) / 1000;
}

void ElasticJobs::note_written(const elastic::Action& action) {
  if (!jobs_.contains(action.uid)) return;
  const auto note = [](std::int64_t& known, std::int64_t written) {
    if (written > 0) known = written;
  };
  elastic::Moments& known = written_[action.uid];
  note(known.rescaled_ms, action.written.rescaled_ms);
  note(known.declined_until_ms, action.written.declined_until_ms);
}

void ElasticJobs::heed_written(ElasticObject& job) const {
  const auto written = written_.find(job.uid);
  if (written == written_.end()) return;
  const auto& [rescaled_ms, declined_until_ms] = written->second;
  job.declined_until_ms = std::max(job.declined_until_ms, declined_until_ms);
  // What a Charm++ program was sent is noted with moments of its own.
  const bool is_charm = job.channel.kind == elastic::Channel::Kind::kCcs;
  if (job.wanted && rescaled_ms > 0 && !is_charm) {
    job.rescaled_ms = std::min(job.rescaled_ms, rescaled_ms);
  }
}

// What is there now, unless the watch has brought something newer meanwhile.
void ElasticJobs::answered(const ElasticObject& was, const Result<json>& now) {
  const bool gone = is_gone(now, was.uid);
  if (!now && !gone) return;
  auto job = read_answer(now, defaults_);
  const std::lock_guard lock(mutex_);
  const auto known = jobs_.find(was.uid);
  if (known == jobs_.end() || known->second.version != was.version) return;
  if (gone) {
    forget(was.uid);
  } else {
    take_in(was.uid, std::move(job));
  }
}

void ElasticJobs::refused(const ElasticObject& was, const Error& why) {
  const kube::Call how{.cancel = &cancel_, .whole = kube::kLeadersCallLimit};
  if (why.code == Errc::kNotFound) return answered(was, failure(why));
  // Of another version: what is to be done is decided anew.
  if (why.code == Errc::kConflict) answered(was, api_.get(was.path, how));
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(was.uid);
  if (job == jobs_.end() || job->second.version != was.version) return;
  Rest& rest = rests_[was.uid];
  rest.until_ms = unix_ms() + rest.pause.next().count();
  job->second.declined_until_ms = std::max(job->second.declined_until_ms, rest.until_ms);
}

}  // namespace pinion::cluster
