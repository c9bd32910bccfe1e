#include "cluster/sim/elastic_machine.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pinion::sim {
namespace {

constexpr Ms kSeen = 10'000;       // a job is watched for so long before its speed is known
constexpr Ms kLeastRest = 60'000;  // of a job for which there was no hole, as the extender has it
constexpr Ms kNoRest = std::numeric_limits<Ms>::min();
constexpr Ms kForEver = std::numeric_limits<Ms>::max();  // of one for which no idle machine has one

double seconds(Ms ms) {
  return static_cast<double>(ms) / 1000;
}

}  // namespace

ElasticMachine::ElasticMachine(std::unique_ptr<NodeMachine> nodes, std::int64_t processors,
                               const ElasticRules& rules)
    : rules_(rules),
      nodes_(std::move(nodes)),
      processors_(nodes_ ? nodes_->processors() : processors),
      free_(processors_) {
  settling_.look(free_, -cluster::Settling::kSettleMs);  // they have long been free
}

// With which it starts, or not at all, where its user does not ask for another number.
int ElasticMachine::least_workers(const Job& job) const {
  if (!job.elastic) return job.shape.tasks;
  return rules_.policy == cluster::ElasticPolicy::kMax ? job.elastic->max : job.elastic->min;
}

std::string ElasticMachine::never(const Job& job) {
  int workers = least_workers(job);
  if (job.elastic) {
    for (const Wish& wish : job.elastic->wishes) workers = std::max(workers, wish.workers);
  }
  const int launcher = job.elastic ? job.elastic->launcher : 0;
  const std::int64_t need = std::int64_t{workers} * job.shape.cpus_per_task + launcher;
  if (need <= processors_) return nodes_ ? nodes_->never_with(job, workers) : std::string();
  return "needs " + std::to_string(need) + " processors, there are " + std::to_string(processors_);
}

void ElasticMachine::submit(Handle handle, const Job& job, Ms /*now*/) {
  Part part;
  part.job = job;
  cluster::ElasticJob& seen = part.seen;
  seen.id = handle;
  seen.priority = job.priority;
  seen.submitted_ms = job.submit;
  seen.slots_per_worker = job.shape.cpus_per_task;
  seen.min_workers = seen.max_workers = job.shape.tasks;
  seen.change = cluster::Change::kRigid;
  seen.is_new = true;
  seen.gap_ms = rules_.gap;
  seen.speed_up = cluster::SpeedUp(cluster::kCautiousSerial, job.shape.tasks);
  if (job.elastic) {
    const Elastic& elastic = *job.elastic;
    seen.min_workers = elastic.min;
    seen.max_workers = elastic.max;
    seen.other_slots = elastic.launcher;
    seen.change = elastic.change;
    if (elastic.gap >= 0) seen.gap_ms = elastic.gap;
    if (rules_.told) seen.speed_up = elastic.speed_up;
  }
  parts_.emplace(handle, std::move(part));
}

// Nothing is decided for it any more, or begun that has been.
void ElasticMachine::over(Handle handle, Ms /*now*/) {
  Part& part = parts_.at(handle);
  part.over = true;
  part.until.reset();
  part.seen.changing = true;
  part.seen.workers = part.runs_with;
  decided_.erase(std::remove(decided_.begin(), decided_.end(), handle), decided_.end());
}

void ElasticMachine::end(Handle handle, Ms now) {
  const auto found = parts_.find(handle);
  free_ += found->second.holds;
  parts_.erase(found);
  if (nodes_) nodes_->end(handle, now);
  freed_ = true;
}

void ElasticMachine::disturbed(Handle handle, double slowdown, Ms now) {
  Part& part = parts_.at(handle);
  count(part, now);
  part.disturbed = slowdown;
}

Size ElasticMachine::size_of(const Part& part, Ms pause) {
  return {.workers = part.runs_with,
          .processors = part.holds,
          .pause = pause,
          .decided = part.seen.changed_ms};
}

// What it has and is from now on.
void ElasticMachine::tell(Handle handle, const Part& part, Ms pause) {
  resized_.push_back({.job = handle,
                      .size = size_of(part, pause),
                      .pieces = nodes_ ? nodes_->pieces(handle) : std::vector<Piece>()});
}

// What its user asks for by now, and since when it lacks some of that.
void ElasticMachine::hear(Part& part, Ms now) {
  while (const Wish* wish = part.next_wish()) {
    if (part.job.submit + wish->after > now) break;
    part.wish = wish->workers;
    ++part.heard;
  }
  const bool lacks = !part.waits() && part.wish > part.seen.workers;
  Ms& since = part.seen.wished_since_ms;
  since = lacks ? std::min(since, now) : kForEver;
}

// What is under way and ends now.
void ElasticMachine::finish(Ms now) {
  for (auto& [handle, part] : parts_) {
    if (!part.until || *part.until > now) continue;
    if (std::exchange(part.coming, false)) {
      expand(handle, part, now);
      continue;
    }
    part.until.reset();
    part.seen.changing = false;
    const std::int64_t holds = part.seen.slots(part.runs_with);
    if (holds == part.holds) continue;
    free_ += part.holds - holds;
    part.holds = holds;
    if (nodes_) nodes_->shrink(handle, part.runs_with, now);
    tell(handle, part, 0);
  }
}

void ElasticMachine::count(Part& part, Ms now) {
  if (part.runs_with == 0 || part.over || now <= part.counted) return;
  part.done += seconds(now - part.counted) * part.rate();
  part.counted = now;
}

// What a progress report says, and where its last workers are.
void ElasticMachine::look(Handle handle, Part& part, Ms now) const {
  count(part, now);
  if (part.runs_with > 0 && !part.over && now - part.watched >= kSeen) {
    const bool known = !part.rates.empty() && part.rates.back().workers == part.runs_with;
    const double rate = (part.done - part.done_then) / seconds(now - part.watched);
    if (!known) part.rates.push_back({part.runs_with, rate});
    part.watched = now;
    part.done_then = part.done;
  }
  part.seen.rest = part.over ? 0 : std::max(0.0, seconds(part.job.request) - part.done);
  if (sees_holes() && part.runs_with > 0) part.seen.frees_whole = nodes_->frees_whole(handle);
  const bool known = rules_.told && part.job.elastic != nullptr;
  const auto declared = [&](int workers) {
    return known ? seconds(part.job.elastic->rescale_takes(workers)) : cluster::kNotStated;
  };
  part.seen.shrink_cost_s = cluster::expected_cost_s(part.shrinks, declared(part.seen.min_workers));
  part.seen.expand_cost_s = cluster::expected_cost_s(part.expands, declared(part.seen.max_workers));
  if (!rules_.told) part.seen.speed_up.see(part.rates);
}

// Processors, by shrinks that are under way.
std::int64_t ElasticMachine::being_freed() const {
  std::int64_t freed = 0;
  for (const auto& [handle, part] : parts_) {
    if (part.until)
      freed += std::max<std::int64_t>(0, part.holds - part.seen.slots(part.runs_with));
  }
  return freed;
}

// Nobody asks where it would not even have enough CPUs.
std::int64_t ElasticMachine::room_of(const Part& part, std::int64_t freed) const {
  const std::int64_t coming = freed / part.seen.slots_per_worker;
  const bool could_start = part.waits() && part.seen.slots(part.seen.min_workers) <= free_;
  const bool could_expand = part.runs_with > 0 && part.runs_with < part.seen.max_workers &&
                            part.seen.slots_per_worker <= free_;
  return could_start || could_expand ? nodes_->room(part.job) + coming : cluster::kAnyRoom;
}

void ElasticMachine::decide(Ms now) {
  const std::int64_t freed = being_freed();
  std::vector<cluster::ElasticJob> jobs;
  jobs.reserve(parts_.size());
  for (auto& [handle, part] : parts_) {
    const bool rests = part.waits() && part.seen.declined_until_ms > now;
    if (rests && (!sees_holes() || part.seen.declined_until_ms == kForEver)) continue;
    look(handle, part, now);
    if (sees_holes()) part.seen.room = room_of(part, freed);
    if (part.waits() && !rests) part.seen.declined_until_ms = kNoRest;
    jobs.push_back(part.seen);
    if (part.wish > 0) cluster::heed_wish(jobs.back(), part.wish);
    part.seen.is_new = false;
  }
  const auto decision = cluster::decide(
      rules_.policy,
      {.jobs = jobs, .slots = processors_, .now_ms = now, .freed = std::exchange(freed_, false)},
      rules_.knobs);
  look_again_ = decision.look_again_ms;
  for (const cluster::ElasticStep& step : decision.steps) take_step(step.job, step.workers, now);
}

void ElasticMachine::take_step(Handle handle, int workers, Ms now) {
  Part& part = parts_.at(handle);
  const bool shrinks = workers < part.seen.workers;
  part.seen.workers = workers;
  part.seen.changing = true;
  part.changed_before = std::exchange(part.seen.changed_ms, now);
  if (shrinks) {
    shrink(handle, part, now);
  } else {
    decided_.push_back(handle);
  }
}

// Whose users want them to be smaller, which waits for no gap.
void ElasticMachine::shrink_as_wished(Ms now) {
  for (auto& [handle, part] : parts_) {
    hear(part, now);
    const cluster::ElasticJob& seen = part.seen;
    const bool smaller = part.wish > 0 && part.wish < seen.workers;
    const bool may = seen.change == cluster::Change::kMalleable && !seen.changing &&
                     seen.declined_until_ms <= now;
    if (smaller && may) take_step(handle, part.wish, now);
  }
}

void ElasticMachine::shrink(Handle handle, Part& part, Ms now) {
  const Ms pause = part.job.elastic->rescale_takes(part.seen.workers);
  part.runs_with = part.seen.workers;
  part.work_from(now + pause);
  part.until = now + pause + rules_.release;
  part.shrinks.push_back(seconds(pause));
  tell(handle, part, pause);
}

// Gives a job that starts or expands CPUs on nodes; returns how many workers it then has.
int ElasticMachine::place(Handle handle, const Part& part, Ms now) {
  const int wanted = part.seen.workers;
  if (!nodes_) return wanted;
  if (part.runs_with > 0) return nodes_->grow(handle, part.job, wanted, now);
  if (nodes_->start(handle, part.job, wanted, now)) return wanted;
  const int least = std::min(least_workers(part.job), wanted);
  if (least == wanted || !nodes_->start(handle, part.job, least, now)) return 0;
  return nodes_->grow(handle, part.job, wanted, now);
}

// Starts or expands. Precondition: its processors are free.
void ElasticMachine::enlarge(Handle handle, Part& part, Ms now) {
  const int workers = place(handle, part, now);
  if (workers < part.seen.workers) {
    cut_short_ = freed_ = true;
    part.seen.workers = workers;
    const bool alone = free_ == processors_;
    const bool keeps_turn = sees_holes() && workers == 0;
    const Ms rest = keeps_turn ? kLeastRest : std::max(part.seen.gap_ms, kLeastRest);
    part.seen.declined_until_ms = alone ? kForEver : now + rest;
    part.seen.is_new = workers == 0;  // comes again when it has rested
    if (workers == part.runs_with) {
      part.seen.changing = false;
      return;
    }
  }
  const std::int64_t holds = part.seen.slots(workers);
  free_ -= holds - part.holds;
  part.holds = holds;
  part.until = now + rules_.start;
  if (part.runs_with > 0) {
    part.coming = rules_.start > 0;
    if (part.coming) {
      tell(handle, part, 0);
    } else {
      expand(handle, part, now);
    }
    return;
  }
  part.runs_with = workers;
  Started started{.job = handle, .pieces = {}};
  if (nodes_) started.pieces = nodes_->pieces(handle);
  if (part.job.elastic) {
    const Ms pause = part.job.elastic->start_takes(workers);
    *part.until += pause;
    started.size = size_of(part, pause);
  }
  part.work_from(*part.until);
  started_.push_back(std::move(started));
}

// Its new workers run.
void ElasticMachine::expand(Handle handle, Part& part, Ms now) {
  const Ms pause = part.job.elastic->rescale_takes(part.seen.workers);
  count(part, now);
  part.runs_with = part.seen.workers;
  part.work_from(now + pause);
  part.until = now + pause;
  part.expands.push_back(seconds(pause));
  tell(handle, part, pause);
}

// Whether a hole for it may come of a shrink that is under way.
bool ElasticMachine::waits_for_holes(const Part& part) {
  return sees_holes() && being_freed() > 0 &&
         nodes_->room(part.job) < part.seen.workers - part.runs_with;
}

// As more than it would have may become free just now.
bool ElasticMachine::waits_for_more(Handle handle, const Part& part) const {
  if (!settles_) return false;
  const cluster::ElasticStep step{
      .job = handle, .from = part.runs_with, .workers = part.seen.workers};
  cluster::ElasticJob seen = part.seen;
  if (part.wish > 0) cluster::heed_wish(seen, part.wish);
  return cluster::is_to_wait_for_more(rules_.policy, seen, step);
}

// A start or an expand that has not begun: it is decided anew.
void ElasticMachine::take_back(Part& part) {
  part.seen.workers = part.runs_with;
  part.seen.changing = false;
  part.seen.changed_ms = part.changed_before;
}

// Nobody goes past: else what one is waiting for could be taken by others for ever.
void ElasticMachine::begin_all(Ms now) {
  while (!decided_.empty()) {
    const Handle handle = decided_.front();
    Part& part = parts_.at(handle);
    if (part.seen.slots(part.seen.workers) - part.holds > free_ || waits_for_holes(part)) return;
    decided_.pop_front();
    if (waits_for_more(handle, part)) {
      settled_at_ = settling_.settles_at_ms();
      take_back(part);
      if (cluster::is_passed_by_nobody(rules_.policy, part.seen, now, rules_.knobs)) {
        take_back_decided(true);
      }
      continue;
    }
    enlarge(handle, part, now);
    // One that keeps its turn has found no hole.
    if (sees_holes() && part.waits()) take_back_decided(false);
  }
}

// Those behind one that does not begin yet.
void ElasticMachine::take_back_decided(bool expands_too) {
  const auto goes = [&](Handle handle) {
    Part& part = parts_.at(handle);
    if (part.runs_with > 0 && !expands_too) return false;
    take_back(part);
    return true;
  };
  decided_.erase(std::remove_if(decided_.begin(), decided_.end(), goes), decided_.end());
}

std::vector<Started> ElasticMachine::pass(Ms now) {
  finish(now);
  shrink_as_wished(now);
  settles_ = settling_.look(free_, now) && rules_.policy == cluster::ElasticPolicy::kOurs;
  settled_at_.reset();
  do {
    cut_short_ = false;
    decide(now);
    begin_all(now);
  } while (cut_short_);
  settling_.look(free_, now);  // what has been taken may become free again
  return std::exchange(started_, {});
}

std::vector<Resized> ElasticMachine::take_resized() {
  return std::exchange(resized_, {});
}

std::optional<Ms> ElasticMachine::wake() const {
  std::optional<Ms> next = look_again_;
  const auto at = [&](Ms when) { next = next ? std::min(*next, when) : when; };
  if (settled_at_) at(*settled_at_);
  for (const auto& [handle, part] : parts_) {
    if (part.until) at(*part.until);
    if (const Wish* wish = part.next_wish()) at(part.job.submit + wish->after);
    const Ms rests_until = part.seen.declined_until_ms;
    if (part.waits() && rests_until != kNoRest && rests_until != kForEver) at(rests_until);
  }
  return next;
}

double ElasticMachine::fragmentation() const {
  return nodes_ ? nodes_->fragmentation() : Machine::fragmentation();
}

Status ElasticMachine::check(Ms now) const {
  const auto fault = [&](const std::string& text) {
    return failure(Errc::kInternal, "at " + std::to_string(now) + " ms: " + text);
  };
  std::int64_t held = 0;
  std::int64_t promised = 0;
  for (const auto& [handle, part] : parts_) {
    held += part.holds;
    promised += part.seen.slots(part.seen.workers);
    const std::int64_t least = part.seen.slots(part.runs_with);
    if (part.holds < least || (!part.until && !part.over && part.holds != least)) {
      return fault("job " + std::to_string(handle) + " holds " + std::to_string(part.holds) +
                   " processors for " + std::to_string(part.runs_with) + " workers");
    }
    const bool sized = part.seen.workers == 0 || (part.seen.workers >= part.seen.min_workers &&
                                                  part.seen.workers <= part.seen.max_workers);
    if (!sized) return fault("job " + std::to_string(handle) + " has a size that it may not have");
    if (!nodes_ || part.runs_with == 0) continue;
    std::int64_t placed = 0;
    for (const Piece& piece : nodes_->pieces(handle)) placed += piece.cpus.count();
    if (placed != part.holds) {
      return fault("job " + std::to_string(handle) + " has " + std::to_string(placed) +
                   " CPUs on nodes, " + std::to_string(part.holds) + " are counted");
    }
  }
  if (held + free_ != processors_ || free_ < 0 || promised > processors_) {
    return fault(std::to_string(held) + " processors are held, " + std::to_string(free_) +
                 " free and " + std::to_string(promised) + " promised, of " +
                 std::to_string(processors_));
  }
  return nodes_ ? nodes_->check(now) : Status();
}

}  // namespace pinion::sim
