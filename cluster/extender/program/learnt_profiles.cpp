#include "cluster/extender/program/learnt_profiles.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/extender/kube/election.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/program/clocks.h"
#include "topology/words.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kNotRead = "what was learnt of jobs' profiles cannot be read";
constexpr const char* kNotWritten = "what was learnt of jobs' profiles cannot be written";
constexpr std::chrono::milliseconds kLastCallLimit{1'000};  // two of them, at the end
// Runs that wait to be written; while the API server does not take them, later ones are not learnt.
constexpr std::size_t kMostFresh = 1'000;
// Another replica sees the same end of a run so much earlier or later. No two runs end so near to
// each other: what is shorter is not measured (kUseInterval).
constexpr std::int64_t kSameEndS = 15;
// So long a replica that does not lead keeps a run that the map does not have: who leads next
// writes it, if the last leader could not.
constexpr std::int64_t kKeepS = 300;

LearntProfiles::Options with_clocks(LearntProfiles::Options options) {
  if (!options.steady_s) options.steady_s = steady_s;
  if (!options.unix_s) options.unix_s = [] { return unix_ms() / 1000; };
  return options;
}

std::string word_text(Profile profile) {
  const std::string_view word = word_of(profile, topology::kProfileWords);
  return std::string(word);
}

}  // namespace

LearntProfiles::LearntProfiles(kube::Api& api, Log& log, std::function<bool()> may_act,
                               Options options)
    : api_(api),
      log_(log),
      may_act_(std::move(may_act)),
      options_(with_clocks(std::move(options))),
      path_("/api/v1/namespaces/" + kube::percent_encoded(options_.name_space) + "/configmaps") {
  rounds_.emplace([this] { return round({.cancel = &cancel_, .whole = kube::kLeadersCallLimit}); });
}

LearntProfiles::~LearntProfiles() {
  rounds_->stop();
  cancel_.cancel();
  rounds_.reset();
  if (may_act_() && fresh_runs_ > 0) (void)round({.whole = kLastCallLimit});
}

void LearntProfiles::used(const std::string& node, const std::vector<ContainerUse>& uses) {
  const std::lock_guard lock(mutex_);
  note(book_.observe(node, uses, options_.steady_s()));
}

void LearntProfiles::note(const std::vector<EndedRun>& ended) {
  for (const EndedRun& run : ended) {
    if (fresh_runs_ == kMostFresh) return;
    ++fresh_runs_;
    fresh_[run.job].push_back({run.figures, options_.unix_s()});
  }
}

LearntProfile LearntProfiles::of(const std::string& name_space, const std::string& job) const {
  const std::string key = job_key(name_space, job);
  const std::lock_guard lock(mutex_);
  const auto stored = stored_.histories.find(key);
  ProfileHistory history = stored == stored_.histories.end() ? ProfileHistory() : stored->second;
  if (const auto fresh = fresh_.find(key); fresh != fresh_.end()) {
    for (const Ended& run : fresh->second) history = learn(history, run.figures, run.unix_s);
  }
  if (history.runs == 0 && !known_) return {.why = "what was learnt could not be read yet"};
  return profile_of(history);
}

std::optional<RunFigures> LearntProfiles::under_way(const std::string& name_space,
                                                    const std::string& job) const {
  const std::string key = job_key(name_space, job);
  const std::lock_guard lock(mutex_);
  return book_.under_way(key);
}

std::vector<ProfileRow> LearntProfiles::rows() const {
  profiles::Histories histories;
  {
    const std::lock_guard lock(mutex_);
    histories = together();
  }
  std::vector<ProfileRow> rows;
  rows.reserve(histories.size());
  for (const auto& [key, history] : histories) {
    LearntProfile learnt = profile_of(history);
    rows.push_back({.name = key,
                    .profile = word_text(learnt.profile),
                    .runs = history.runs,
                    .last = date_text(history.last_unix_s),
                    .why = std::move(learnt.why)});
  }
  return rows;
}

profiles::Histories LearntProfiles::together() const {
  profiles::Histories histories = stored_.histories;
  for (const auto& [key, runs] : fresh_) {
    ProfileHistory& history = histories[key];
    for (const Ended& run : runs) history = learn(history, run.figures, run.unix_s);
  }
  profiles::drop_oldest(histories);
  return histories;
}

std::chrono::milliseconds LearntProfiles::round(const kube::Call& how) {
  {
    const std::lock_guard lock(mutex_);
    note(book_.expire(options_.steady_s()));
  }
  if (const Status done = read(how); !done) {
    warn_once(kNotRead, done.error().text);
    if (done.error().code != Errc::kInvalid) return options_.every;
  } else {
    warned_.erase(kNotRead);
  }
  const Status done = write(how);
  if (done) return options_.every;
  if (done.error().code == Errc::kConflict) return options_.soon;
  warn_once(kNotWritten, done.error().text);
  return options_.every;
}

Status LearntProfiles::read(const kube::Call& how) {
  const auto map = api_.get(path_ + "/" + kProfilesMap, how);
  if (map) return take(*map);
  if (map.error().code != Errc::kNotFound) return failure(map.error());
  const std::lock_guard lock(mutex_);
  known_ = true;
  stored_ = {};
  forget_stored();
  return {};
}

// What makes no sense as a whole is as if nobody had changed it, and is written anew.
Status LearntProfiles::take(const json& map) {
  const std::string text = kube::json_text(map, "data", kProfilesKey);
  auto read = profiles::read_histories(text.empty() ? "{}" : text);
  Status good;
  const std::string where = std::string("ConfigMap ") + kProfilesMap + ", " + kProfilesKey;
  if (!read) {
    good = failure(read.error().within(where));
  } else if (read->ignored > 0) {
    std::string why = where + ": " + std::to_string(read->ignored) + " entries are ignored";
    for (const std::string& sample : read->samples) why += "; " + sample;
    good = failure(Errc::kInvalid, std::move(why));
  }
  const std::lock_guard lock(mutex_);
  known_ = true;
  stored_.version = kube::json_text(map, "metadata", "resourceVersion");
  if (read) stored_.histories = std::move(read->histories);
  forget_stored();
  return good;
}

// The run may be stored: by who leads, who saw its end as well, or by us, if the answer was lost.
// Who does not lead leaves the writing to who does, for a while.
void LearntProfiles::forget_stored() {
  const bool leads = may_act_();
  const std::int64_t now = options_.unix_s();
  for (auto entry = fresh_.begin(); entry != fresh_.end();) {
    const auto stored = stored_.histories.find(entry->first);
    // Not one that a clock which was wrong has written.
    const bool dated =
        stored != stored_.histories.end() && stored->second.last_unix_s <= now + kSameEndS;
    fresh_runs_ -= std::erase_if(entry->second, [&](const Ended& run) {
      if (!leads && now - run.unix_s > kKeepS) return true;
      return dated && stored->second.last_unix_s + kSameEndS >= run.unix_s;
    });
    entry = entry->second.empty() ? fresh_.erase(entry) : std::next(entry);
  }
}

Status LearntProfiles::write(const kube::Call& how) {
  Stored next;
  std::map<std::string, std::size_t> written;  // runs of each job
  {
    const std::lock_guard lock(mutex_);
    if (fresh_.empty()) return {};
    next = {.version = stored_.version, .histories = together()};
    for (const auto& [key, runs] : fresh_) written[key] = runs.size();
  }
  if (!may_act_()) return {};
  json map = {{"data", {{kProfilesKey, profiles::to_text(next.histories)}}}};
  Result<json> done = failure(Errc::kInvalid, "");
  if (next.version) {
    // Of this version: somebody may have changed it since.
    map["metadata"] = {{"resourceVersion", *next.version}};
    done = api_.patch(path_ + "/" + kProfilesMap, kube::PatchKind::kMerge, map, how);
  } else {
    map["apiVersion"] = "v1";
    map["kind"] = "ConfigMap";
    map["metadata"] = {{"name", kProfilesMap}, {"namespace", options_.name_space}};
    done = api_.create(path_, map, how);
  }
  if (!done) return failure(done.error());
  next.version = kube::json_text(*done, "metadata", "resourceVersion");
  warned_.erase(kNotWritten);
  const std::lock_guard lock(mutex_);
  stored_ = std::move(next);
  for (const auto& [key, runs] : written) {
    std::vector<Ended>& all = fresh_[key];
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(runs));
    fresh_runs_ -= runs;
    if (all.empty()) fresh_.erase(key);
  }
  return {};
}

void LearntProfiles::warn_once(const std::string& text, const std::string& why) {
  if (std::exchange(warned_[text], why) != why) log_.warn(text, {{"why", why}});
}

}  // namespace pinion::cluster
