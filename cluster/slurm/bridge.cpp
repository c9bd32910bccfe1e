#include "cluster/slurm/bridge.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/version.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/slurm/node_count_json.h"

namespace pinion::slurm {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kLongestListingPause{10'000};
// Not one for both: what cannot be made must not keep what can be deleted.
constexpr const char* kCreates = "creates";
constexpr const char* kDeletes = "deletes";
// A job whose nodes Slurm has refused so often in a row gives them back.
constexpr int kMostPlaces = 5;
constexpr int kMostPauses = 10;
// So long without a sign of life, beside all commands that one list may take, each made twice.
constexpr std::int64_t kHangsMs = 60'000;
constexpr int kCommands = 8;
constexpr std::int64_t kSilentMs = 60'000;
// As metrics call actions, by their kind.
constexpr std::array kActions = {"hold",   "requeue",     "cancel", "delete", "split",
                                 "create", "place",       "tell",   "ask",    "unask",
                                 "report", "acknowledge", "shrink", "grow",   "join"};
static_assert(kActions.size() == std::variant_size_v<Action>);
constexpr const char* kRefused = "Slurm does not take its nodes: ";
constexpr milliseconds kCallLimit{5000};
// Slurm is asked for at most a fifth of the time while there is nothing new in it.
constexpr int kRest = 4;  // for each time that it was asked
constexpr milliseconds kLongestRest{30'000};

std::int64_t unix_s() {
  return std::chrono::system_clock::now().time_since_epoch() / 1s;
}

std::int64_t steady_ms() {
  return std::chrono::steady_clock::now().time_since_epoch() / 1ms;
}

// Of all calls like this one; nullptr: it is none of the API server.
const char* calls_like(const Action& action) {
  if (std::holds_alternative<Create>(action) || std::holds_alternative<Ask>(action)) {
    return kCreates;
  }
  const bool is_delete =
      std::holds_alternative<Delete>(action) || std::holds_alternative<Unask>(action);
  return is_delete ? kDeletes : nullptr;
}

// What is deleted is others' at once, whatever else of the job has failed.
std::string whose(const Action& action) {
  if (const auto* gone = std::get_if<Delete>(&action)) return gone->uid;
  if (const auto* gone = std::get_if<Unask>(&action)) return gone->uid;
  return std::to_string(job_of(action));
}

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::start(const Config& config, Log& log, Pauses pauses) {
  auto access = kube::read_access(config.kubeconfig, config.kube_context);
  if (!access) return failure(access.error());
  auto all = pod_template_of(config, access->default_namespace);
  if (!all) return failure(all.error());
  auto api = kube::Api::create(*std::move(access));
  if (!api) return failure(api.error());
  return std::unique_ptr<Bridge>(new Bridge(config, *std::move(all), *std::move(api), log, pauses));
}

Bridge::Bridge(const Config& config, PodTemplate all, std::unique_ptr<kube::Api> api, Log& log,
               Pauses pauses)
    : config_(config),
      rules_(rules_of(config)),
      all_(std::move(all)),
      log_(log),
      api_(std::move(api)),
      pods_(std::make_unique<KnownPods>(*api_, all_, config.elastic, log)),
      slurm_(config.command_limit),
      alive_ms_(steady_ms()),
      listing_(pauses.first, kLongestListingPause),
      pauses_(pauses) {}

milliseconds Bridge::round(const std::function<bool()>& stop) {
  alive_ms_ = steady_ms();
  news_ = pods_->seen() || news_;
  if (!pods_->complete()) return config_.poll;
  const auto begin = Clock::now();
  if (begin < list_soonest_) {
    return std::min(kLongestRest, std::chrono::ceil<milliseconds>(list_soonest_ - begin));
  }
  const auto asked = [&] { return std::chrono::duration_cast<milliseconds>(Clock::now() - begin); };
  const auto rest = [&] { return std::max(config_.poll, std::min(kLongestRest, kRest * asked())); };
  if (!news_ && begin < list_next_) news_ = changed();
  if (!news_ && begin < list_next_) return rest();
  // Placeholders first: one that is made for a job is never seen without that job.
  View view{.jobs = {},
            .nodes = {},
            .placeholders = pods_->now(),
            .counts = pods_->counts(),
            .placeholders_current = pods_->current(),
            .now_s = 0};
  if (Status listed = list(view); !listed) {
    const milliseconds pause = listing_.next();
    list_soonest_ = Clock::now() + pause;
    {
      const std::lock_guard lock(mutex_);
      ++figures_.slurm_silent;
    }
    log_.warn("Slurm does not tell its jobs and nodes",
              {{"why", listed.error().text}, {"pause_ms", std::to_string(pause.count())}});
    return pause;
  }
  listing_.reset();
  news_ = false;
  list_soonest_ = Clock::now() + asked();
  list_next_ = Clock::now() + rest();
  view.now_s = unix_s();
  told_ms_ = steady_ms();
  ready_ = true;
  note(view);

  std::map<std::uint32_t, const Job*> by_id;
  for (const Job& job : view.jobs) by_id[job.id] = &job;
  std::set<std::string> there = {kCreates, kDeletes};
  for (const Job& job : view.jobs) there.insert(std::to_string(job.id));
  for (const Placeholder& pod : view.placeholders) there.insert(pod.uid);
  for (const NodeCount& count : view.counts) there.insert(count.uid);
  std::erase_if(troubles_, [&](const auto& entry) { return !there.contains(entry.first); });
  std::set<std::uint32_t> stopped;
  bool done = false;
  bool full = false;  // a quota, say: what others are refused there they would be told in vain
  auto actions = decide(rules_, view);
  // Whoever can go on does not wait until all others are told why they cannot.
  std::stable_partition(actions.begin(), actions.end(),
                        [](const Action& action) { return !std::holds_alternative<Say>(action); });
  for (const Action& action : actions) {
    if (stop()) return 0ms;
    const std::uint32_t id = job_of(action);
    if (stopped.contains(id) || !may_try(action)) continue;
    if (full && std::holds_alternative<Create>(action)) continue;
    const auto found = by_id.find(id);
    const Job* const job = found == by_id.end() ? nullptr : found->second;
    const Status carried = carry_out(action, job);
    alive_ms_ = steady_ms();
    note_done(action, job, carried.has_value());
    if (carried) {
      log_.info(to_text(action));
      succeeded(action);
      done = done || !std::holds_alternative<Say>(action);
    } else {
      failed(action, carried.error());
      if (std::holds_alternative<Place>(action) && job != nullptr) {
        give_back(*job, carried.error().text, view);
      }
      stopped.insert(id);
      full =
          full || (std::holds_alternative<Create>(action) && carried.error().code == Errc::kDenied);
    }
  }
  // What was done brings something new: soon, but no sooner than it can be there.
  return done ? config_.poll / 4 : config_.poll;
}

void Bridge::note(const View& view) {
  Figures::Jobs jobs;
  for (const Job& job : view.jobs) {
    const auto mark = read_mark(job.admin_comment);
    if (!mark || !job.elements.empty()) continue;
    if (job.state == Job::State::kRunning) ++jobs.running;
    if (job.state != Job::State::kPending) continue;
    ++(job.held ? jobs.waiting : jobs.placed);
  }
  Figures::Placeholders pods;
  for (const Placeholder& pod : view.placeholders) {
    if (pod.phase == Placeholder::Phase::kWaiting) ++pods.waiting;
    if (pod.phase == Placeholder::Phase::kRunning) ++pods.running;
    if (pod.phase == Placeholder::Phase::kLost) ++pods.lost;
  }
  const auto out = static_cast<std::uint64_t>(std::count_if(
      view.nodes.begin(), view.nodes.end(), [](const Node& node) { return !node.out.empty(); }));
  const std::lock_guard lock(mutex_);
  figures_.jobs = jobs;
  figures_.placeholders = pods;
  figures_.nodes_out = out;
  figures_.nodes_serving = view.nodes.size() - out;
}

void Bridge::note_done(const Action& action, const Job* job, bool done) {
  const std::lock_guard lock(mutex_);
  Figures::Tries& tries = figures_.actions[kActions.at(action.index())];
  ++(done ? tries.done : tries.failed);
  if (!done || job == nullptr || !std::holds_alternative<Place>(action)) return;
  // A requeued job's begin is Slurm's.
  const std::int64_t from =
      job->restarts > 0 ? job->submit_s : std::max(job->submit_s, job->begin_s);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  figures_.release.observe(now.count() - static_cast<double>(from));
}

std::string Bridge::not_live() const {
  const std::int64_t rests = steady_ms() - alive_ms_;
  if (rests <= kHangsMs + kCommands * config_.command_limit.count()) return "";
  return "nothing was done for " + std::to_string(rests / 1000) + " s";
}

std::string Bridge::not_ready() const {
  if (!ready_) return "Slurm or the API server has not answered yet";
  return steady_ms() - told_ms_ > kSilentMs ? "Slurm does not answer" : "";
}

Figures Bridge::figures() const {
  const std::lock_guard lock(mutex_);
  Figures figures = figures_;
  figures.ready = not_ready().empty();
  figures.version = kVersion;
  return figures;
}

// With many jobs the list of them takes long, so it is not made before there is something new in
// it, or for what the outline does not show: after some rest.
bool Bridge::changed() {
  auto now = slurm_.outline();
  if (now) told_ms_ = steady_ms();
  if (now && *now == outline_) return false;
  if (now) outline_ = *std::move(now);
  return true;
}

Status Bridge::list(View& view) {
  auto nodes = slurm_.nodes();
  if (!nodes) return failure(nodes.error());
  auto jobs = slurm_.jobs();
  if (!jobs) return failure(jobs.error());
  view.nodes = *std::move(nodes);
  // No placeholder can get to what is no node of Kubernetes.
  std::erase_if(view.nodes,
                [&](const Node& node) { return kubernetes_node(all_, node.name).empty(); });
  view.jobs = *std::move(jobs);
  const bool some_wish = std::any_of(view.jobs.begin(), view.jobs.end(), [](const Job& job) {
    return job.state == Job::State::kPending && has_word(job.comment, kElastic);
  });
  if (config_.elastic && some_wish) {
    auto why = slurm_.keeps_size();
    if (!why) return failure(why.error());
    view.keeps_size = *std::move(why);
  }
  return {};
}

Status Bridge::carry_out(const Action& action, const Job* job) {
  if (const auto* it = std::get_if<Delete>(&action)) return remove(*it);
  if (const auto* it = std::get_if<Unask>(&action)) return unask(*it);
  if (job == nullptr) return failure(Errc::kInternal, "the job is not in Slurm's list");
  if (const auto* it = std::get_if<Create>(&action)) {
    Status made = create(*it);
    if (made) return made;
    const Errc code = made.error().code;
    // One that runs goes on with what it has.
    const bool starts = job->state == Job::State::kPending;
    if (!starts || (code != Errc::kDenied && code != Errc::kInvalid)) return made;
    const Status held = hold(*job, given_up(rules_, *job, made.error().text, unix_s()));
    return held ? made : held;
  }
  if (const auto* it = std::get_if<Hold>(&action)) return slurm_.hold(*job, *it);
  if (const auto* it = std::get_if<Place>(&action)) {
    Status placed = slurm_.place(*job, *it);
    if (!placed) tell(*job, kRefused + placed.error().text);
    return placed;
  }
  if (const auto* it = std::get_if<Cancel>(&action)) return slurm_.cancel(*job, *it);
  if (const auto* it = std::get_if<Say>(&action)) return slurm_.say(*job, *it);
  if (const auto* it = std::get_if<Split>(&action)) return slurm_.split(*job, *it);
  if (const auto* it = std::get_if<Ask>(&action)) return ask(*job, *it);
  if (const auto* it = std::get_if<Report>(&action))
    return patch(it->name, patch_of(*it), "/status");
  if (const auto* it = std::get_if<Acknowledge>(&action)) return patch(it->name, patch_of(*it), "");
  if (const auto* it = std::get_if<Shrink>(&action)) return shrink(*job, *it);
  if (const auto* it = std::get_if<Join>(&action)) return slurm_.join(*it);
  if (const auto* it = std::get_if<Grow>(&action)) {
    Status grown = slurm_.grow(*job, *it);
    if (!grown) tell(*job, "cannot grow: " + grown.error().text);
    return grown;
  }
  return slurm_.requeue(*job);
}

// Beside what was decided.
Status Bridge::hold(const Job& job, const Hold& what) {
  Status held = slurm_.hold(job, what);
  note_done(what, &job, held.has_value());
  return held;
}

// Unless it says so already; in vain where Slurm does not answer.
void Bridge::tell(const Job& job, const std::string& why) {
  const std::string comment = told(job.comment, why);
  if (comment != job.comment) (void)slurm_.say(job, {.job = job.id, .comment = comment});
}

Status Bridge::create(const Create& what) {
  const auto made =
      api_->create("/api/v1/namespaces/" + kube::percent_encoded(all_.name_space) + "/pods",
                   pod_object(all_, what), {.cancel = nullptr, .whole = kCallLimit});
  // It was made before, by us: its name is of this attempt alone.
  if (made || made.error().code == Errc::kConflict) return {};
  return failure(made.error());
}

Status Bridge::ask(const Job& job, const Ask& what) {
  const std::string jobs =
      "/apis/batch/v1/namespaces/" + kube::percent_encoded(all_.name_space) + "/jobs";
  const auto made =
      api_->create(jobs, job_object(all_, what), {.cancel = nullptr, .whole = kCallLimit});
  if (!made) {
    // It was made before, by us: its name is of this attempt alone.
    if (made.error().code == Errc::kConflict) return {};
    tell(job, "waits: " + made.error().text);
    return failure(made.error());
  }
  if (is_ours(*made)) return {};
  (void)api_->remove(jobs + "/" + kube::percent_encoded(what.name), nlohmann::json::object(),
                     {.cancel = nullptr, .whole = kCallLimit});
  const std::string why =
      "elastic jobs need Kubernetes 1.32, which knows managedBy of a Job: submit it without";
  tell(job, why);
  return failure(Errc::kInvalid, why);
}

Status Bridge::unask(const Unask& what) {
  const std::string path = "/apis/batch/v1/namespaces/" + kube::percent_encoded(all_.name_space) +
                           "/jobs/" + kube::percent_encoded(what.name);
  const nlohmann::json options = {{"apiVersion", "v1"},
                                  {"kind", "DeleteOptions"},
                                  {"propagationPolicy", "Background"},
                                  {"preconditions", {{"uid", what.uid}}}};
  const auto gone = api_->remove(path, options, {.cancel = nullptr, .whole = kCallLimit});
  // It is gone, or another one has its name.
  if (gone || gone.error().code == Errc::kNotFound || gone.error().code == Errc::kConflict) {
    return {};
  }
  return failure(gone.error());
}

Status Bridge::patch(const std::string& name, const nlohmann::json& patch, const char* part) {
  const std::string path = "/apis/batch/v1/namespaces/" + kube::percent_encoded(all_.name_space) +
                           "/jobs/" + kube::percent_encoded(name) + part;
  const auto done =
      api_->patch(path, kube::PatchKind::kMerge, patch, {.cancel = nullptr, .whole = kCallLimit});
  // Somebody was first, who is seen in the next round.
  if (done || done.error().code == Errc::kConflict || done.error().code == Errc::kNotFound)
    return {};
  return failure(done.error());
}

// Where Slurm refuses it, the extender hears at once that the job keeps its nodes.
Status Bridge::shrink(const Job& job, const Shrink& what) {
  Status done = slurm_.shrink(job, what);
  if (done) return done;
  tell(job, "keeps its nodes: " + done.error().text);
  const Acknowledge& declined = what.declined;
  const Status told = patch(declined.name, patch_of(declined), "");
  note_done(declined, &job, told.has_value());
  return done;
}

Status Bridge::remove(const Delete& what) {
  const kube::PodRef pod{.name_space = all_.name_space, .name = what.name, .uid = what.uid};
  return kube::delete_pod(*api_, pod, {.cancel = nullptr, .whole = kCallLimit});
}

bool Bridge::may_try(const Action& action) const {
  const auto rests = [&](const std::string& key) {
    const auto trouble = troubles_.find(key);
    return trouble != troubles_.end() && Clock::now() < trouble->second.until;
  };
  const char* const like = calls_like(action);
  return !rests(whose(action)) && (like == nullptr || !rests(like));
}

void Bridge::succeeded(const Action& action) {
  if (const char* const like = calls_like(action)) troubles_.erase(like);
  const auto own = troubles_.find(whose(action));
  if (own == troubles_.end()) return;
  // Slurm has refused its nodes: that it has placeholders again, or hears of it, ends nothing.
  const bool goes_on =
      std::holds_alternative<Create>(action) || std::holds_alternative<Say>(action);
  if (goes_on && own->second.places > 0) {
    own->second.until = {};
  } else {
    troubles_.erase(own);
  }
}

milliseconds Bridge::rest(const std::string& key, int times) {
  Trouble& trouble =
      troubles_
          .try_emplace(key, Trouble{.pauses = Backoff(pauses_.first, pauses_.longest), .until = {}})
          .first->second;
  const milliseconds pause = times * trouble.pauses.next();
  trouble.until = Clock::now() + pause;
  return pause;
}

void Bridge::failed(const Action& action, const Error& error) {
  // Without an answer it would be the same with all others, and each takes its time. Or with this
  // one alone: it rests for longer, so next time somebody else is tried.
  const char* const like = calls_like(action);
  const bool silent = like != nullptr && error.code == Errc::kUnavailable;
  if (silent) rest(like, 1);
  const milliseconds pause = rest(whose(action), silent ? 2 : 1);
  log_.warn("cannot " + to_text(action),
            {{"why", error.text}, {"pause_ms", std::to_string(pause.count())}});
}

// Slurm has refused its nodes. After some tries others get what the job holds in vain.
void Bridge::give_back(const Job& job, const std::string& why, const View& view) {
  const std::string number = std::to_string(job.id);
  Trouble& trouble = troubles_.at(number);
  if (++trouble.places < kMostPlaces) return;
  std::vector<const Placeholder*> pods;
  for (const Placeholder& pod : view.placeholders) {
    if (pod.job == job.id && !pod.leaving) pods.push_back(&pod);
  }
  {
    const std::lock_guard lock(mutex_);
    ++figures_.given_back;
  }
  if (!pods.empty()) tell_event(*pods.front(), "job " + number + ": " + kRefused + why);
  const Status held = hold(job, not_placed(rules_, job, kRefused + why, unix_s()));
  if (held) {
    log_.warn("Slurm refuses a job's nodes, it is placed anew later", {{"job", number}});
    troubles_.erase(number);
    return;
  }
  // Not even that can be noted on the job, so only this process knows how long to leave it alone.
  const int pauses = std::min(trouble.places - kMostPlaces + 1, kMostPauses);
  trouble.until = Clock::now() + pauses * config_.retry;
  log_.warn("Slurm refuses all orders about a job", {{"job", number}, {"why", held.error().text}});
  for (const Placeholder* pod : pods) {
    const Action gone = Delete{.job = job.id, .name = pod->name, .uid = pod->uid};
    if (!may_try(gone)) continue;
    const Status done = remove(std::get<Delete>(gone));
    note_done(gone, nullptr, done.has_value());
    if (!done) {
      failed(gone, done.error());
    } else {
      log_.info(to_text(gone));
    }
  }
}

void Bridge::tell_event(const Placeholder& pod, const std::string& why) {
  const Status told = kube::report_on_pod(
      *api_, {.controller = "pinion.dev/slurm", .instance = config_.cluster},
      {.name_space = all_.name_space, .name = pod.name, .uid = pod.uid},
      {.warning = true, .reason = "SlurmRefusesNodes", .action = "Placing", .note = why},
      {.cancel = nullptr, .whole = kCallLimit});
  if (!told) log_.warn("an event", {{"pod", pod.name}, {"why", told.error().text}});
}

}  // namespace pinion::slurm
