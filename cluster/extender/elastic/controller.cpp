#include "cluster/extender/elastic/controller.h"

#include <algorithm>
#include <set>

#include "cluster/extender/elastic/actuator.h"
#include "cluster/extender/elastic/history.h"
#include "cluster/extender/elastic/reasons.h"
#include "cluster/extender/elastic/telling.h"
#include "policy/annotations.h"

namespace pinion::cluster::elastic {
namespace {

using nlohmann::json;

constexpr std::int64_t kLeastRestMs = 60'000;       // of a job whose rescale came to nothing
constexpr std::int64_t kLongestRestMs = 3'600'000;  // the same, unless its gap is longer
constexpr std::int64_t kMostSkewMs = 60'000;        // between the clocks of replicas
constexpr std::int64_t kLongestMs = 86'400'000;     // of a rescale

// Seconds of run_s that it has done since its start.
double done_s(const ElasticObject& job, const SpeedUp& speed_up, std::int64_t now_ms) {
  if (job.workers() == 0) return 0;
  const std::int64_t from = std::max(job.rescaled_ms, job.submitted_ms);
  const double seconds = static_cast<double>(std::max<std::int64_t>(0, now_ms - from)) / 1000;
  return job.done_s + seconds * speed_up.rate(job.workers()) / speed_up.rate(job.min_workers);
}

// The step's other annotations, null for those that go.
Action action_of(const ElasticObject& job, Action::Kind kind, json annotations, std::string why,
                 std::int64_t now_ms, const Moments& written = {}) {
  const auto write = [&](const char* name, std::int64_t moment_ms) {
    if (moment_ms > 0) annotations[name] = std::to_string(moment_ms);
  };
  write(annotation::kRescaledAt, written.rescaled_ms);
  write(annotation::kDeclinedUntil, written.declined_until_ms);
  std::vector<PastStep> history = job.history;
  history.insert(history.begin(), past_step(now_ms, to_string(kind), why));
  annotations[annotation::kRescaleHistory] = history_text(history);
  if (written.rescaled_ms > 0 && job.run_s != kNotStated) {
    const double done = done_s(job, scaled_speed_up(job.speed_up, job.seen).speed_up, now_ms);
    annotations[annotation::kWorkDone] =
        std::to_string(static_cast<std::int64_t>(std::min(done, job.run_s)));
  }
  if (const std::string seen = speed_seen_text(job.seen); !seen.empty()) {
    annotations[annotation::kSpeedSeen] = seen;
  }
  if (job.asked != job.noted) {
    annotations[annotation::kAskedWorkers] =
        job.asked ? json(std::to_string(*job.asked)) : json(nullptr);
  }
  return {.kind = kind,
          .uid = job.uid,
          .patch = {{"metadata",
                     {{"resourceVersion", job.version}, {"annotations", std::move(annotations)}}}},
          .why = std::move(why),
          .written = written};
}

// The number of pods goes along.
void set_size(Action& action, const ElasticObject& job, int workers) {
  action.patch["spec"].merge_patch(resized(job, workers));
}

// For ever where the moment is said to lie in the future.
std::int64_t since_ms(std::int64_t moment_ms, std::int64_t now_ms) {
  return moment_ms > now_ms + kMostSkewMs ? now_ms : now_ms - moment_ms;
}

// Since it was begun.
std::int64_t waited_ms(const ElasticObject& job, std::int64_t now_ms) {
  return since_ms(job.rescaled_ms, now_ms);
}

Action::Kind kind_of(int before, int workers) {
  if (before == 0) return Action::Kind::kStart;
  return workers < before ? Action::Kind::kShrink : Action::Kind::kExpand;
}

// `agreed`: its application runs with so many already.
Action begun(const ElasticObject& job, int workers, std::string why, std::int64_t now_ms,
             bool agreed = false) {
  const int before = job.workers();
  const auto kind = kind_of(before, workers);
  Action action = action_of(job, kind,
                            {{annotation::kWantedWorkers, std::to_string(workers)},
                             {annotation::kPreviousWorkers, std::to_string(before)},
                             {annotation::kAcknowledgedWorkers, nullptr},
                             {annotation::kRescaleSent, nullptr}},
                            std::move(why), now_ms, {.rescaled_ms = now_ms});
  const bool asks_first =
      !agreed && kind == Action::Kind::kShrink && job.channel.kind != Channel::Kind::kNone;
  if (!asks_first) set_size(action, job, workers);
  if (kind == Action::Kind::kStart) action.patch["spec"].merge_patch(suspended(job, false));
  return action;
}

json ended() {
  return {{annotation::kWantedWorkers, nullptr},
          {annotation::kPreviousWorkers, nullptr},
          {annotation::kAcknowledgedWorkers, nullptr}};
}

// After a shrink.
int pods_to_go(const ElasticObject& job) {
  return std::max(0, job.active - job.stated) + job.terminating;
}

Action done(const ElasticObject& job, std::int64_t now_ms) {
  json annotations = ended();
  annotations[annotation::kRescaleSent] = nullptr;
  const std::int64_t took_ms = std::max<std::int64_t>(waited_ms(job, now_ms), 0);
  Action action = action_of(job, Action::Kind::kDone, std::move(annotations),
                            "it went " + from_to(job.before, *job.wanted) + " in " +
                                std::to_string(took_ms / 1000) + " s",
                            now_ms);
  // Where somebody has written another moment, nobody knows.
  if (job.rescaled_ms > 0 && took_ms <= kLongestMs) {
    action.ended = kind_of(job.before, *job.wanted);
    action.took_ms = took_ms;
  }
  return action;
}

// How often it was last made larger in vain, one after the other, before what is under way now.
int times_in_vain(const ElasticObject& job) {
  int times = 0;
  for (std::size_t at = 1; at + 1 < job.history.size(); at += 2) {
    const std::string& what = job.history[at + 1].what;
    const bool grew =
        what == to_string(Action::Kind::kStart) || what == to_string(Action::Kind::kExpand);
    if (!grew || job.history[at].what != to_string(Action::Kind::kDeclined)) break;
    ++times;
  }
  return times;
}

// Twice as long with each time in vain, so that what others give up for it stays within bounds.
std::int64_t rests_until(const ElasticObject& job, std::int64_t now_ms) {
  const std::int64_t rest = std::max(job.gap_ms, kLeastRestMs);
  const std::int64_t longer = std::min(rest << times_in_vain(job), kLongestRestMs);
  return now_ms + std::max(rest, longer);
}

// What was wanted did not come about; it is left alone for its gap, or kLeastRestMs. What a program
// was sent cannot be taken back: it is remembered until the program has acted, or is gone.
Action declined(const ElasticObject& job, std::string why, std::int64_t now_ms) {
  json annotations = ended();
  if (!job.is_pending() || job.suspended) annotations[annotation::kRescaleSent] = nullptr;
  return action_of(job, Action::Kind::kDeclined, std::move(annotations), std::move(why), now_ms,
                   {.declined_until_ms = rests_until(job, now_ms)});
}

// Its new workers are of no use.
Action taken_back(const ElasticObject& job, const std::string& why, std::int64_t now_ms) {
  Action action = declined(job, why + ", it goes back " + from_to(*job.wanted, job.before), now_ms);
  if (job.before == 0) {
    action.patch["spec"].merge_patch(suspended(job, true));
  } else {
    set_size(action, job, job.before);
  }
  return action;
}

// The policy counts CPUs, and no node has a hole for the last ones: it goes on with those that
// came.
Action at_size(const ElasticObject& job, int there, std::int64_t now_ms) {
  Action action =
      action_of(job, Action::Kind::kResize, {{annotation::kWantedWorkers, std::to_string(there)}},
                "of its " + std::to_string(*job.wanted) + " workers only " + std::to_string(there) +
                    " were ready in time, it goes on with these",
                now_ms, {.rescaled_ms = now_ms, .declined_until_ms = rests_until(job, now_ms)});
  set_size(action, job, there);
  return action;
}

// A program that was asked for one number may come to another: what it was sent for a rescale
// before, or what its memory was enough for.
bool has_another_size(const ElasticObject& job) {
  return job.sent && job.acknowledged && job.acknowledged != job.wanted &&
         job.acknowledged != job.before;
}

Action taken_as_it_is(const ElasticObject& job, std::int64_t now_ms) {
  const int workers = *job.acknowledged;
  Action action =
      action_of(job, Action::Kind::kResize, {{annotation::kWantedWorkers, std::to_string(workers)}},
                "asked to go " + from_to(job.before, *job.wanted) + ", its application went to " +
                    std::to_string(workers),
                now_ms, {.rescaled_ms = now_ms, .declined_until_ms = rests_until(job, now_ms)});
  set_size(action, job, workers);
  return action;
}

// After its rescale was given up.
bool has_shrunk_late(const ElasticObject& job) {
  return !job.wanted && !job.suspended && job.sent && job.acknowledged && *job.acknowledged >= 1 &&
         *job.acknowledged < job.stated;
}

// As its user says, with what it has done.
double stated_rest(const ElasticObject& job, const SpeedUp& speed_up, std::int64_t now_ms) {
  if (job.run_s == kNotStated) return kNotStated;
  const double rest = job.run_s - done_s(job, speed_up, now_ms);
  return rest > 0 ? rest * speed_up.rate(job.min_workers) : kNotStated;
}

ElasticJob seen_by_policy(const ElasticObject& job, std::uint64_t id, std::int64_t now_ms) {
  ElasticJob seen;
  seen.id = id;
  seen.priority = job.priority;
  seen.submitted_ms = job.submitted_ms;
  seen.workers = job.workers();
  // A size that somebody has set by hand counts as allowed.
  seen.min_workers = seen.workers > 0 ? std::min(job.min_workers, seen.workers) : job.min_workers;
  seen.max_workers = std::max(job.max_workers, seen.workers);
  if (const auto wish = job.wish()) {
    heed_wish(seen, *wish);
    if (job.wished_ms > 0) seen.wished_since_ms = job.wished_ms;
  }
  seen.slots_per_worker = job.cpus;
  seen.other_slots = job.other_cpus;
  seen.change = job.change;
  seen.gap_ms = job.gap_ms;
  // One whose first workers have succeeded is at its end: what they had is not made anew.
  // What one would be asked while it may still act on something else would get mixed up with that.
  seen.changing =
      job.wanted.has_value() || job.succeeded > 0 || job.is_pending() || !job.left_alone.empty();
  seen.changed_ms = job.rescaled_ms;
  seen.declined_until_ms = job.declined_until_ms;
  const ScaledSpeedUp speed = scaled_speed_up(job.speed_up, job.seen);
  seen.speed_up = speed.speed_up;
  seen.rest =
      job.left && speed.unit > 0 ? *job.left / speed.unit : stated_rest(job, seen.speed_up, now_ms);
  seen.shrink_cost_s = expected_cost_s(job.seen.shrinks, job.rescale_cost_s);
  seen.expand_cost_s = expected_cost_s(job.seen.expands, job.rescale_cost_s);
  seen.frees_whole = job.on_fleet.frees_whole;
  seen.room = job.on_fleet.room;
  return seen;
}

// What pods that do not run yet will take is in the fleet's holes still; `freed` is not yet.
std::int64_t room_beside(std::int64_t owed, std::int64_t freed, const ElasticJob& job) {
  if (job.room == kAnyRoom) return kAnyRoom;
  const std::int64_t fewer = (owed + job.slots_per_worker - 1) / job.slots_per_worker;
  return std::max<std::int64_t>(job.room - fewer, 0) + freed / job.slots_per_worker;
}

// The paper's policies know two moments: somebody ends, somebody arrives. Who leads now may have
// missed any of them, so each look is both: what is free goes by priority to all, and then whoever
// still waits is looked at as if it came now, by priority too, and may make others shrink.
ElasticDecision decision_for(ElasticPolicy policy, const ElasticKnobs& knobs,
                             std::vector<ElasticJob> jobs, std::int64_t slots,
                             std::int64_t now_ms) {
  ElasticView view{.jobs = jobs, .slots = slots, .now_ms = now_ms, .freed = true};
  ElasticDecision decision = decide(policy, view, knobs);
  if (policy == ElasticPolicy::kOurs) return decision;
  for (ElasticJob& job : jobs) {
    for (const ElasticStep& step : decision.steps) {
      if (step.job != job.id) continue;
      job.workers = step.workers;
      job.changing = true;
    }
    job.is_new = job.workers == 0;
  }
  view.freed = false;
  view.have_waited = true;
  ElasticDecision arrivals = decide(policy, view);
  for (const ElasticStep& step : arrivals.steps) decision.steps.push_back(step);
  decision.waits = std::move(arrivals.waits);
  return decision;
}

}  // namespace

std::string_view to_string(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::kStart:
      return "start";
    case Action::Kind::kShrink:
      return "shrink";
    case Action::Kind::kExpand:
      return "expand";
    case Action::Kind::kResize:
      return "resize";
    case Action::Kind::kDone:
      return "done";
    case Action::Kind::kDeclined:
      break;
  }
  return "declined";
}

// The next step of what is under way; nothing while it has to be waited for.
std::optional<Action> Controller::carry_on(const ElasticObject& job, std::int64_t now_ms) const {
  const int wanted = *job.wanted;
  if (job.suspended) return declined(job, "somebody has suspended it meanwhile", now_ms);
  if (job.stated != wanted && job.stated != job.before) {
    return declined(job, "somebody has resized it meanwhile", now_ms);
  }
  if (job.grows()) return carry_on_growing(job, now_ms);
  const std::string step = from_to(job.before, wanted);
  if (job.stated == wanted) {
    if (pods_to_go(job) > 0) return std::nullopt;
    return done(job, now_ms);
  }
  if (job.acknowledged == wanted || job.channel.kind == Channel::Kind::kNone) {
    Action action = action_of(job, Action::Kind::kResize, json::object(),
                              "its application is ready to go " + step, now_ms);
    set_size(action, job, wanted);
    return action;
  }
  if (job.acknowledged == job.before) {
    return declined(job, "its application declined to go " + step, now_ms);
  }
  if (has_another_size(job)) return taken_as_it_is(job, now_ms);
  if (job.has_come()) {
    if (!is_stuck(job, now_ms)) return std::nullopt;
    return declined(job,
                    "its application was to go " + step +
                        ", and no progress was seen of it since it runs with another number of PEs",
                    now_ms);
  }
  if (waited_ms(job, now_ms) < limits_.acknowledge_ms) return std::nullopt;
  const char* late = job.is_pending() ? ", and may still do so" : "";
  return declined(job, "its application did not acknowledge to go " + step + late, now_ms);
}

std::optional<Action> Controller::carry_on_growing(const ElasticObject& job,
                                                   std::int64_t now_ms) const {
  const std::int64_t waited = waited_ms(job, now_ms);
  if (job.stated != *job.wanted) return declined(job, "somebody has resized it meanwhile", now_ms);
  // It may restart onto its new workers at any moment, however late.
  if (job.is_pending()) return std::nullopt;
  if (has_another_size(job)) return taken_as_it_is(job, now_ms);
  // It runs on them, whatever their probes say while it starts anew.
  if (job.sent && job.acknowledged == job.wanted) return done(job, now_ms);
  if (!job.is_whole()) {
    if (waited < limits_.ready_ms) return std::nullopt;
    const int there = job.ready + job.succeeded;
    // Its controller ends those with the highest numbers: the others have to be those that came.
    const bool first_came = job.on_fleet.placed == there;
    if (first_came && there > job.before && there >= job.min_workers) {
      return at_size(job, there, now_ms);
    }
    return taken_back(job, "its new workers were not ready in time", now_ms);
  }
  if (is_to_be_asked(job)) {
    if (waited < limits_.ready_ms + limits_.acknowledge_ms) return std::nullopt;
    return taken_back(job, "its application did not take its new workers", now_ms);
  }
  if (job.is_asked() && job.acknowledged == job.before) {
    return taken_back(job, "its application declined its new workers", now_ms);
  }
  return done(job, now_ms);
}

// A running job that its user wants to be smaller, or, once its gap is over, its application.
bool Controller::is_to_shrink(const ElasticObject& job, std::int64_t now_ms) {
  return job.wish() && *job.wish() < job.workers() && !job.wanted && !job.is_pending() &&
         job.left_alone.empty() && job.change == Change::kMalleable && job.succeeded == 0 &&
         now_ms >= job.declined_until_ms && (job.requested || waited_ms(job, now_ms) >= job.gap_ms);
}

// Those of its workers that are not ready yet: for good, where nothing is under way, they would
// hold up everybody.
bool Controller::is_waited_for(const ElasticObject& job, std::int64_t now_ms) const {
  return (job.wanted && !is_overdue(job, now_ms)) ||
         since_ms(job.submitted_ms, now_ms) < limits_.ready_ms;
}

// It ought to have gone on with its work long since.
bool Controller::is_stuck(const ElasticObject& job, std::int64_t now_ms) const {
  return job.has_come() && since_ms(job.sent->came_ms, now_ms) >= limits_.progress_ms;
}

// It ought to have taken its new workers long since.
bool Controller::is_overdue(const ElasticObject& job, std::int64_t now_ms) const {
  return waited_ms(job, now_ms) >= limits_.ready_ms + limits_.acknowledge_ms;
}

Decided Controller::step(const std::map<std::string, ElasticObject>& jobs, std::int64_t free,
                         std::int64_t now_ms, bool settling) const {
  Decided decided;
  std::vector<ElasticJob> seen;
  std::vector<const ElasticObject*> objects;
  std::vector<std::int64_t> needs;  // CPUs of each, at least
  std::int64_t held = 0;            // by pods that run, end, or have a place
  std::int64_t vain = 0;            // stated by jobs whose pods ought to run long since
  std::int64_t promised = 0;        // for what is decided already
  std::int64_t owed = 0;            // of that, to pods that do not run yet, whoever has made them
  std::int64_t freed = 0;           // by shrinks, some time
  std::int64_t there = free;        // CPUs that elastic jobs can have
  for (const auto& [uid, job] : jobs) {
    if (!job.over) there += (job.ready + job.terminating) * job.cpus;
  }
  for (const auto& [uid, job] : jobs) {
    if (job.over) continue;
    if (!job.left_alone.empty()) {
      decided.waits[uid] = "it is left alone: " + job.left_alone;
    } else if (job.wanted) {
      if (auto action = carry_on(job, now_ms)) decided.actions.push_back(*std::move(action));
    } else if (has_shrunk_late(job)) {
      const std::string why = from_to(job.stated, *job.acknowledged) +
                              ", as its application has acted late on what it was asked before";
      decided.actions.push_back(begun(job, *job.acknowledged, why, now_ms, true));
    } else if (is_to_shrink(job, now_ms)) {
      const std::string why = from_to(job.workers(), *job.wish()) + ", as " + who_wishes(job);
      decided.actions.push_back(begun(job, *job.wish(), why, now_ms));
    }
    if (job.is_pending() && (!job.wanted || is_overdue(job, now_ms) || is_stuck(job, now_ms))) {
      decided.waits[uid] = why_it_is_left_alone(job);
    } else if (job.wanted && !job.grows() && job.stated == *job.wanted && pods_to_go(job) > 0 &&
               is_overdue(job, now_ms)) {
      decided.waits[uid] = why_it_still_shrinks(pods_to_go(job));
    }
    objects.push_back(&job);
    seen.push_back(seen_by_policy(job, objects.size(), now_ms));
    needs.push_back(seen.back().slots(seen.back().min_workers));
    const bool runs = job.active + job.succeeded > 0;
    // What a shrink frees; others may end for as long as their node is not heard.
    const bool frees = job.wanted && !job.grows() && !is_overdue(job, now_ms);
    if (frees) freed += (job.before - *job.wanted) * job.cpus;
    held += (job.ready + (frees ? job.terminating : 0)) * job.cpus + (runs ? job.other_cpus : 0);
    std::int64_t missing = std::max(0, job.workers() - job.ready - job.succeeded) * job.cpus;
    if (!runs && job.workers() > 0) missing += job.other_cpus;
    // Given up, or more than can come: what is free is free. What they have been promised nobody
    // has, but for those that have their place.
    if (is_waited_for(job, now_ms) && missing <= there) {
      owed += missing;
    } else {
      const int placed = std::min(job.on_fleet.placed.value_or(0), job.workers());
      const std::int64_t has =
          std::min(missing, std::max(0, placed - job.ready - job.succeeded) * job.cpus);
      held += has;
      vain += missing - has;
    }
    promised += seen.back().slots(seen.back().workers);
    if (is_to_shrink(job, now_ms) || has_shrunk_late(job)) seen.back().changing = true;
  }
  const std::int64_t most = free + held;  // that any of them could have
  const std::int64_t slots = std::max(most + vain, promised);
  // Neither one that would not fit if all of them ended nor one that has just failed to start waits
  // in anybody's way.
  std::erase_if(seen, [&](const ElasticJob& job) {
    if (job.workers > 0) return false;
    const ElasticObject& object = *objects[job.id - 1];
    if (needs[job.id - 1] > most) {
      decided.waits[object.uid] = why_it_never_fits(needs[job.id - 1], most);
    } else if (object.on_fleet.room_at_best < job.min_workers) {
      decided.waits[object.uid] = why_it_never_finds_holes(object, job.min_workers);
    } else if (job.declined_until_ms > now_ms) {
      decided.waits[object.uid] = why_it_rests(object);
    } else {
      return false;
    }
    return true;
  });
  free -= owed;
  for (ElasticJob& job : seen) job.room = room_beside(owed, freed, job);
  const ElasticDecision decision = decision_for(policy_, knobs_, std::move(seen), slots, now_ms);
  const ElasticObject* settles = nullptr;  // and nobody passes it meanwhile
  for (const ElasticStep& step : decision.steps) {
    const ElasticObject& job = *objects[step.job - 1];
    const std::int64_t more =
        (step.workers - step.from) * job.cpus + (step.from == 0 ? job.other_cpus : 0);
    if (more > 0 && settles != nullptr) {
      const ElasticWait wait{.why = ElasticWait::Why::kKeptForOther, .free = free};
      if (step.from == 0) decided.waits[job.uid] = why_it_waits(wait, more, settles->name);
      continue;
    }
    if (more < 0) freed -= more;
    const bool finds_holes = job.on_fleet.room - owed / job.cpus >= step.workers - step.from;
    if (more > 0 && (more > free || (freed > 0 && !finds_holes))) {  // when others have made room
      if (step.from == 0) decided.waits[job.uid] = why_not_yet(step.workers, more, free);
      continue;
    }
    std::string why = step.for_job != 0 ? why_fewer(job, step.workers, *objects[step.for_job - 1])
                                        : why_more(job, step.workers, free);
    if (more > 0) free -= more;
    const ElasticJob now = seen_by_policy(job, step.job, now_ms);
    if (settling && is_to_wait_for_more(policy_, now, step)) {
      decided.waits[job.uid] = why_it_waits_for_more(step.workers);
      if (is_passed_by_nobody(policy_, now, now_ms, knobs_)) settles = &job;
      continue;
    }
    decided.actions.push_back(begun(job, step.workers, std::move(why), now_ms));
  }
  for (const ElasticWait& wait : decision.waits) {
    const ElasticObject& job = *objects[wait.job - 1];
    const auto other = wait.for_job == 0 ? "" : objects[wait.for_job - 1]->name;
    decided.waits[job.uid] = why_it_waits(wait, needs[wait.job - 1], other);
  }
  std::set<std::string_view> changed;
  for (const Action& action : decided.actions) changed.insert(action.uid);
  for (const auto& [uid, job] : jobs) {
    if (changed.contains(uid) || job.over || decided.waits.contains(uid)) continue;
    std::string why = why_its_wish_waits(job, policy_, free, now_ms);
    if (!why.empty()) decided.waits[uid] = std::move(why);
  }
  return decided;
}

}  // namespace pinion::cluster::elastic
