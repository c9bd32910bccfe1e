// Our elastic policy: who gains most gets the slots, as far as what is gained is worth what the
// rescales cost, and nobody waits for ever.
//
//   1. Who waits goes by the rank of its priority, one higher for each `ageing_ms` of waiting; of
//      equals the least work first, then by submission. Each starts with its minimum if that is
//      free, or if others shrink for it: those who lose least by it for each slot, where slots of
//      NUMA nodes that become wholly free count more than others (`broken_percent`), and only if
//      all they lose, the rescales and what they are slower while it runs, is less than what the
//      job gains by not waiting for an end. What is wished for (`kept_workers`) they give to a
//      higher priority alone.
//   2. Once the first who finds no room has waited for `patience_ms`, what becomes free is kept for
//      it, and others shrink for it whatever that costs or is wished for. Who is behind it starts
//      only as EASY lets it (Lifka, 1995): where it is expected to end before enough is free for
//      the first one, or takes what stays spare then. As jobs may last longer than expected, that
//      ends when it has waited for `strict_ms` more: then nobody behind the first one starts. Where
//      enough is free, but in holes that are too small for its workers, the same holds.
//   3. What is free goes to running jobs whose users wish for more, by priority and submission,
//      whatever they gain; of their gaps only the stated one counts. The oldest wish, once it has
//      waited for `patience_ms`, comes before 1, but after who has waited for as long and longer.
//      Where not even one worker of it finds room, what becomes free is kept until one does.
//   4. What is left goes step by step to the job whose rate of ending, 1 / what it still takes,
//      rises most for each slot, so that the nearly done go first (as by Smith's rule, 1956): to
//      jobs that start, and to running ones that save more time than an expand and the shrink that
//      may follow cost.
//   5. A job that starts small may still make others shrink, by the rule of 1.
//
// Times are weighted by priority: the lowest that is there counts once, the next one twice, and so
// on. No job changes twice within effective_gap_ms().
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "cluster/core/elastic_rules.h"

namespace pinion::cluster {
namespace {

constexpr double kUnknownRest = 3600;  // units of work
constexpr int kMostWeight = 16;
constexpr int kStepsToMaximum = 16;  // in which slots are handed out
constexpr int kShrinkAttempts = 32;  // jobs for which shrinks are looked for in one call, each way

struct Entry {
  const ElasticJob* job = nullptr;
  int workers = 0;  // as planned
  double weight = 1;
  bool may_change = false;  // running, and neither under way nor within its gap
  std::uint64_t for_job = 0;
  ElasticWait::Why wait = ElasticWait::Why::kNoRoom;  // where it does not start

  [[nodiscard]] bool starts() const { return job->workers == 0 && workers > 0; }
  [[nodiscard]] double rest() const { return job->rest >= 0 ? job->rest : kUnknownRest; }
  [[nodiscard]] double seconds_with(int some) const { return rest() / job->speed_up.rate(some); }
  // Of an expand and of the shrink that may follow it, or the other way round.
  [[nodiscard]] double cost() const {
    return expected_cost_s({}, job->shrink_cost_s) + expected_cost_s({}, job->expand_cost_s);
  }
};

// One who could give workers, and what that costs it.
struct Giver {
  Entry* entry = nullptr;
  int fewer = 0;
  double loss = 0;   // weighted seconds
  double order = 0;  // the least first

  [[nodiscard]] std::int64_t slots() const { return fewer * entry->job->slots_per_worker; }
  // Of them, those in NUMA nodes that become wholly free.
  [[nodiscard]] std::int64_t whole() const {
    const auto& frees = entry->job->frees_whole;
    if (frees.empty()) return 0;
    return std::min(slots(), frees[std::min(frees.size(), static_cast<std::size_t>(fewer)) - 1]);
  }
};

struct Shrinks {
  std::vector<Giver> givers;
  double loss = 0;
};

// Slots that become free.
struct Release {
  double seconds = 0;  // from now
  std::int64_t slots = 0;
  bool exact = false;  // else it may be later than that
};

// When enough will be free for a job, and how much more than that.
struct Reservation {
  double seconds = 0;  // from now
  std::int64_t spare = 0;
};

// The next step of one job that is to get more workers.
struct Growth {
  double per_slot = 0;  // how much more of it is done in a second, weighted
  std::uint64_t job = 0;
  Entry* entry = nullptr;
  int workers = 0;

  bool operator<(const Growth& other) const {
    return std::tuple(per_slot, other.job) < std::tuple(other.per_slot, job);
  }
};

class OurPolicy {
 public:
  OurPolicy(const ElasticView& view, const ElasticKnobs& knobs)
      : now_(view.now_ms), knobs_(knobs), free_(elastic_free(view)) {
    std::map<std::int32_t, std::int64_t> ranks;
    for (const ElasticJob& job : view.jobs) ranks.emplace(job.priority, 0);
    std::int64_t next = 0;
    for (auto& [priority, rank] : ranks) rank = next++;
    entries_.reserve(view.jobs.size());
    for (const ElasticJob& job : view.jobs) {
      entries_.push_back({.job = &job,
                          .workers = job.workers,
                          .weight = static_cast<double>(
                              std::min<std::int64_t>(1 + ranks.at(job.priority), kMostWeight)),
                          .may_change = job.workers > 0 && job.change == Change::kMalleable &&
                                        !job.changing && now_ >= free_from(job)});
    }
    line_up(ranks);
  }

  ElasticDecision decide() {
    Entry* const old_wish = oldest_wish();
    if (old_wish != nullptr) keep_for(*old_wish);
    const Entry* const impatient = start_waiting();
    if (impatient == nullptr) {
      grant_wishes();
      spread();
      int attempts = 0;
      for (Entry* entry : waiting_) {
        if (entry->starts() && attempts++ < kShrinkAttempts) enlarge(*entry);
      }
    }
    free_ += kept_;
    return {.steps = steps(),
            .waits = waits(impatient, old_wish),
            .look_again_ms = look_again(impatient != nullptr)};
  }

 private:
  // When the running job may change again.
  [[nodiscard]] std::int64_t free_from(const ElasticJob& job) const {
    return std::max(job.changed_ms + effective_gap_ms(job, knobs_), job.declined_until_ms);
  }

  void line_up(const std::map<std::int32_t, std::int64_t>& ranks) {
    for (Entry& entry : entries_) {
      if (entry.job->workers == 0) waiting_.push_back(&entry);
    }
    const auto turn = [&](const Entry* entry) {
      const ElasticJob& job = *entry->job;
      const std::int64_t age = std::max<std::int64_t>(0, now_ - job.submitted_ms);
      const double work =
          entry->seconds_with(job.min_workers) * static_cast<double>(job.slots(job.min_workers));
      return std::tuple(-(ranks.at(job.priority) + age / knobs_.ageing_ms), work, job.submitted_ms,
                        job.id);
    };
    std::sort(waiting_.begin(), waiting_.end(),
              [&](const Entry* a, const Entry* b) { return turn(a) < turn(b); });
  }

  // Who has waited for too long, and still finds no room; nullptr: nobody.
  const Entry* start_waiting() {
    int attempts = 0;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      Entry* const entry = *at;
      const ElasticJob& job = *entry->job;
      const std::int64_t need = missing(*entry, job.min_workers);
      const std::int64_t waited = now_ - job.submitted_ms;
      const bool impatient = waited >= knobs_.patience_ms;
      if (job.slots(job.min_workers) <= free_) entry->wait = ElasticWait::Why::kNoHoles;
      if (need > 0 && !(impatient || attempts++ < kShrinkAttempts)) continue;
      if (!rests(job) && (need <= 0 || make_room(*entry, need, impatient))) {
        resize(*entry, job.min_workers, 0);
      } else if (impatient) {
        if (waited - knobs_.patience_ms < knobs_.strict_ms) backfill(at);
        return entry;
      }
    }
    return nullptr;
  }

  // Those behind `first` start where that does not delay it.
  void backfill(std::vector<Entry*>::iterator first) {
    auto reserved = reservation(**first);
    if (!reserved) return;
    for (auto at = std::next(first); at != waiting_.end() && free_ > 0; ++at) {
      Entry& entry = **at;
      const ElasticJob& job = *entry.job;
      const int most = most_of(job, free_);
      if (most == 0 || rests(job)) continue;
      if (job.rest >= 0 && entry.seconds_with(most) <= reserved->seconds) {
        resize(entry, most, 0);
      } else if (const int some = most_of(job, std::min(free_, reserved->spare)); some > 0) {
        resize(entry, some, 0);
        reserved->spare -= job.slots(some);
      }
    }
  }

  // The earliest moment at which it may find room. Who runs ends, or gives what it has above its
  // minimum, because the one who waits makes others shrink at any cost. Of whom that is not known
  // exactly may do so now, and then nothing counts as spare: the true moment may be another. The
  // same holds where it lacks holes, as what becomes free may lie apart. nullopt: never.
  [[nodiscard]] std::optional<Reservation> reservation(const Entry& first) const {
    std::int64_t need = missing(first, first.job->min_workers);
    std::vector<Release> releases;
    for (const Entry& entry : entries_) {
      if (entry.workers == 0) continue;
      const ElasticJob& job = *entry.job;
      const bool gives = job.change == Change::kMalleable && entry.workers > job.min_workers;
      const int least = gives ? job.min_workers : entry.workers;
      const std::int64_t more = job.slots(entry.workers) - job.slots(least);
      const bool settled = !job.changing && entry.workers == job.workers;
      const double end = job.rest < 0 ? 0 : entry.seconds_with(entry.workers);
      const double gap = static_cast<double>(std::max<std::int64_t>(0, free_from(job) - now_));
      releases.push_back({settled ? std::min(end, gap / 1000) : 0, more, settled || more == 0});
      releases.push_back({end, job.slots(least), job.rest >= 0 && more == 0});
    }
    std::sort(releases.begin(), releases.end(), [](const Release& a, const Release& b) {
      return std::tuple(a.seconds, a.slots) < std::tuple(b.seconds, b.slots);
    });
    bool exact = !rests(*first.job) && room_of(*first.job) >= first.job->min_workers;
    for (const Release& release : releases) {
      need -= release.slots;
      exact = exact && release.exact;
      if (need <= 0) return Reservation{.seconds = release.seconds, .spare = exact ? -need : 0};
    }
    return std::nullopt;
  }

  // Of its workers, those that still find CPUs after these decisions.
  [[nodiscard]] std::int64_t room_of(const ElasticJob& job) const {
    constexpr std::int64_t any = std::numeric_limits<int>::max();
    if (job.room >= any) return any;
    const std::int64_t size = job.slots_per_worker;
    const std::int64_t fewer = taken_ > 0 ? (taken_ + size - 1) / size : taken_ / size;
    return std::max<std::int64_t>(job.room - fewer, 0);
  }

  // Slots that have to become free before it can have so many workers, as too few are or their
  // holes are too small; 0 or less: none.
  [[nodiscard]] std::int64_t missing(const Entry& entry, int workers) const {
    const ElasticJob& job = *entry.job;
    const std::int64_t few = job.slots(workers) - job.slots(entry.workers) - free_;
    const std::int64_t homeless = workers - entry.workers - room_of(job);
    return std::max(few, homeless * job.slots_per_worker);
  }

  // With which it can start on so many slots that are free; 0: not even with its minimum.
  [[nodiscard]] int most_of(const ElasticJob& job, std::int64_t slots) const {
    const auto most =
        static_cast<int>(std::min<std::int64_t>(workers_for(job, slots), room_of(job)));
    return most < job.min_workers ? 0 : most;
  }

  bool make_room(Entry& entry, std::int64_t need, bool at_any_cost) {
    const double run = entry.seconds_with(entry.job->min_workers);
    const auto shrinks = plan_shrinks(entry, need, run, at_any_cost);
    if (!shrinks) return false;
    if (!at_any_cost && entry.weight * seconds_until_free(need) <= shrinks->loss) {
      entry.wait = ElasticWait::Why::kNotWorthIt;
      return false;
    }
    carry_out(*shrinks, entry.job->id);
    return true;
  }

  // It has failed to start, for a reason that is not seen here, and is tried again later.
  [[nodiscard]] bool rests(const ElasticJob& job) const { return job.declined_until_ms > now_; }

  // Seconds until so many more slots are free, if nobody shrinks.
  [[nodiscard]] double seconds_until_free(std::int64_t need) {
    if (ends_.empty()) {
      for (const Entry& entry : entries_) {
        const ElasticJob& job = *entry.job;
        if (job.workers > 0)
          ends_.emplace_back(entry.seconds_with(job.workers), job.slots(job.workers));
      }
      std::sort(ends_.begin(), ends_.end());
    }
    for (const auto& [seconds, slots] : ends_) {
      need -= slots;
      if (need <= 0) return seconds;
    }
    return static_cast<double>(knobs_.patience_ms) / 1000;
  }

  // Who gives `need` slots to `taker`, which will have them for `seconds`; nullopt: nobody can.
  std::optional<Shrinks> plan_shrinks(const Entry& taker, std::int64_t need, double seconds,
                                      bool whatever_is_wished) {
    if (need <= 0) return Shrinks();
    const auto least = [&](const Entry& entry) {
      const bool heeds = !whatever_is_wished && taker.job->priority <= entry.job->priority;
      return least_workers(*entry.job, heeds);
    };
    std::vector<Giver> givers;
    for (Entry& entry : entries_) {
      if (!entry.may_change || entry.workers <= least(entry)) continue;
      Giver& giver = givers.emplace_back(giver_of(entry, least(entry), need, seconds));
      const auto broken = static_cast<double>(giver.slots() - giver.whole());
      const double worth = knobs_.broken_percent / 100.0;
      giver.order = giver.loss / (static_cast<double>(giver.whole()) + worth * broken);
    }
    // A heap: few of them are needed.
    const auto later = [](const Giver& a, const Giver& b) {
      return std::tie(a.order, a.entry->job->id) > std::tie(b.order, b.entry->job->id);
    };
    std::make_heap(givers.begin(), givers.end(), later);
    Shrinks shrinks;
    for (; need > 0 && !givers.empty(); givers.pop_back()) {
      std::pop_heap(givers.begin(), givers.end(), later);
      Entry& entry = *givers.back().entry;
      const Giver giver = giver_of(entry, least(entry), need, seconds);
      need -= giver.slots();
      shrinks.loss += giver.loss;
      shrinks.givers.push_back(giver);
    }
    if (need > 0) return std::nullopt;
    return shrinks;
  }

  // Slower until its own end, or until the other one ends and it can have its slots back.
  static Giver giver_of(Entry& entry, int least, std::int64_t need, double seconds) {
    const ElasticJob& job = *entry.job;
    const std::int64_t wanted = (need + job.slots_per_worker - 1) / job.slots_per_worker;
    const auto fewer = static_cast<int>(std::min<std::int64_t>(wanted, entry.workers - least));
    const int left = entry.workers - fewer;
    const double to_the_end = entry.seconds_with(left) - entry.seconds_with(entry.workers);
    const double meanwhile =
        seconds * (1 - job.speed_up.rate(left) / job.speed_up.rate(entry.workers));
    const double slower = std::max(0.0, std::min(to_the_end, meanwhile));
    return {.entry = &entry, .fewer = fewer, .loss = entry.weight * (slower + entry.cost())};
  }

  void carry_out(const Shrinks& shrinks, std::uint64_t for_job) {
    for (const Giver& giver : shrinks.givers) {
      giver.entry->may_change = false;
      resize(*giver.entry, giver.entry->workers - giver.fewer, for_job);
    }
  }

  void resize(Entry& entry, int workers, std::uint64_t for_job) {
    const std::int64_t more = entry.job->slots(workers) - entry.job->slots(entry.workers);
    free_ -= more;
    taken_ += more;
    entry.workers = workers;
    if (for_job == 0) return;
    entry.for_job = for_job;
    shrunk_.push_back(&entry);
  }

  // As many workers as it can have with what is free.
  [[nodiscard]] int most_with(const Entry& entry) const {
    const ElasticJob& job = *entry.job;
    const std::int64_t more = std::min(free_ / job.slots_per_worker, room_of(job));
    return static_cast<int>(std::min<std::int64_t>(job.max_workers, entry.workers + more));
  }

  // The step that gains most for each slot; none: entry is nullptr.
  [[nodiscard]] Growth growth_of(Entry& entry) const {
    const ElasticJob& job = *entry.job;
    const int limit = most_with(entry);
    // What a running job pays once is paid with its first step.
    const double cost = entry.workers == job.workers ? entry.cost() : 0;
    const double seconds = entry.seconds_with(entry.workers);
    const int step = std::max(1, (job.max_workers - job.min_workers) / kStepsToMaximum);
    Growth best;
    for (int workers = entry.workers; workers < limit;) {
      workers = std::min(workers + step, limit);
      const double gain = entry.weight * (seconds - entry.seconds_with(workers) - cost);
      const auto slots = static_cast<double>((workers - entry.workers) * job.slots_per_worker);
      if (gain <= 0) continue;
      const double index = entry.weight * (1 / entry.seconds_with(workers) - 1 / seconds) / slots;
      if (index <= best.per_slot) continue;
      best = {.per_slot = index, .job = job.id, .entry = &entry, .workers = workers};
    }
    return best;
  }

  // That has its turn before those that wait; nullptr: none.
  Entry* oldest_wish() {
    const auto since = [](const Entry& entry) {
      return std::tuple(entry.job->wished_since_ms, entry.job->id);
    };
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      const bool counts = entry.may_change && entry.job->wished;
      if (counts && (oldest == nullptr || since(entry) < since(*oldest))) oldest = &entry;
    }
    if (oldest == nullptr) return nullptr;
    const std::int64_t since_ms = oldest->job->wished_since_ms;
    if (since_ms > now_ - knobs_.patience_ms) return nullptr;
    const bool has_older = std::any_of(waiting_.begin(), waiting_.end(), [&](const Entry* entry) {
      return entry->job->submitted_ms <= since_ms;
    });
    return has_older ? nullptr : oldest;
  }

  // What it can have now, else, until a worker of it finds room, what such a one needs.
  void keep_for(Entry& wish) {
    grant(wish);
    if (wish.may_change) kept_ = std::clamp<std::int64_t>(free_, 0, wish.job->slots_per_worker);
    free_ -= kept_;
  }

  void grant(Entry& wish) {
    const int most = most_with(wish);
    if (most <= wish.workers) return;
    resize(wish, most, 0);
    wish.may_change = false;
  }

  void grant_wishes() {
    std::vector<Entry*> wished;
    for (Entry& entry : entries_) {
      if (entry.may_change && entry.job->wished) wished.push_back(&entry);
    }
    std::sort(wished.begin(), wished.end(),
              [](const Entry* a, const Entry* b) { return elastic_before(*a->job, *b->job); });
    for (Entry* entry : wished) grant(*entry);
  }

  void spread() {
    std::priority_queue<Growth> growths;
    const auto offer = [&](Entry& entry) {
      if (const Growth growth = growth_of(entry); growth.entry != nullptr) growths.push(growth);
    };
    for (Entry& entry : entries_) {
      const bool starts = entry.starts() && entry.job->change != Change::kRigid;
      if (starts || entry.may_change) offer(entry);
    }
    while (!growths.empty()) {
      const Growth growth = growths.top();
      growths.pop();
      Entry& entry = *growth.entry;
      if (missing(entry, growth.workers) <= 0) {
        resize(entry, growth.workers, 0);
        entry.may_change = false;
      }
      offer(entry);  // less is left than when this was computed
    }
  }

  // More workers for a job that starts, from others that shrink.
  void enlarge(Entry& entry) {
    const ElasticJob& job = *entry.job;
    const double seconds = entry.seconds_with(entry.workers);
    double most = 0;
    int best = entry.workers;
    std::optional<Shrinks> chosen;
    for (int workers = entry.workers; workers < job.max_workers;) {
      workers =
          static_cast<int>(std::min<std::int64_t>(job.max_workers, std::int64_t{2} * workers));
      const double faster = entry.seconds_with(workers);
      auto shrinks = plan_shrinks(entry, missing(entry, workers), faster, false);
      if (!shrinks) break;
      const double gain = entry.weight * (seconds - faster) - shrinks->loss;
      if (gain <= most) continue;
      most = gain;
      best = workers;
      chosen = std::move(shrinks);
    }
    if (!chosen) return;
    carry_out(*chosen, job.id);
    resize(entry, best, 0);
  }

  [[nodiscard]] std::vector<ElasticStep> steps() const {
    std::vector<ElasticStep> steps;
    const auto add = [&](const Entry& entry) {
      steps.push_back({.job = entry.job->id,
                       .from = entry.job->workers,
                       .workers = entry.workers,
                       .for_job = entry.for_job});
    };
    for (const Entry* entry : shrunk_) add(*entry);
    for (const Entry* entry : waiting_) {
      if (entry->starts()) add(*entry);
    }
    for (const Entry& entry : entries_) {
      if (entry.job->workers > 0 && entry.workers > entry.job->workers) add(entry);
    }
    return steps;
  }

  // `impatient`: who is behind it starts only where that does not delay it. `old_wish`: for whom
  // something may be kept.
  [[nodiscard]] std::vector<ElasticWait> waits(const Entry* impatient,
                                               const Entry* old_wish) const {
    struct Sums {
      std::int64_t could = 0;
      std::int64_t later = 0;
    };
    Sums all;
    std::map<std::int32_t, Sums> wished;  // of all, what is wished for, by priority
    for (const Entry& entry : entries_) {
      const ElasticJob& job = *entry.job;
      const bool gives = job.workers > 0 && job.change == Change::kMalleable;
      if (!gives || entry.workers <= job.min_workers) continue;
      const auto add = [&](Sums& sums, int least) {
        const std::int64_t slots = (entry.workers - least) * job.slots_per_worker;
        (entry.may_change ? sums.could : sums.later) += slots;
      };
      add(all, job.min_workers);
      const int kept = std::min(least_workers(job, true), entry.workers);
      if (kept == job.min_workers) continue;
      add(wished[job.priority], job.min_workers + entry.workers - kept);
    }
    Sums above;  // from the highest priority down, that and all above it
    for (auto at = wished.rbegin(); at != wished.rend(); ++at) {
      above = {above.could + at->second.could, above.later + at->second.later};
      at->second = above;
    }
    std::vector<ElasticWait> waits;
    bool behind = false;
    for (const Entry* entry : waiting_) {
      const bool is_impatient = now_ - entry->job->submitted_ms >= knobs_.patience_ms;
      const auto from = is_impatient ? wished.end() : wished.lower_bound(entry->job->priority);
      const Sums kept = from == wished.end() ? Sums() : from->second;
      ElasticWait wait{.job = entry->job->id,
                       .why = entry->wait,
                       .free = free_,
                       .could = all.could - kept.could,
                       .later = all.later - kept.later,
                       .wished = kept.could + kept.later};
      if (behind) {
        wait.why = ElasticWait::Why::kKeptForOther;
        wait.for_job = impatient->job->id;
      } else if (const std::int64_t need = missing(*entry, entry->job->min_workers);
                 kept_ > 0 && need <= 0) {
        wait.why = ElasticWait::Why::kKeptForOther;
        wait.for_job = old_wish->job->id;
      }
      if (entry->workers == 0) waits.push_back(wait);
      behind = behind || entry == impatient;
    }
    return waits;
  }

  // When somebody who could do something may change again.
  [[nodiscard]] std::optional<std::int64_t> look_again(bool kept_back) const {
    std::optional<std::int64_t> next;
    const auto at = [&](std::int64_t when) {
      if (when > now_ && (!next || when < *next)) next = when;
    };
    bool waits = false;
    for (const Entry* entry : waiting_) {
      if (entry->workers > 0) continue;
      waits = true;
      at(entry->job->declined_until_ms);
      if (!kept_back) at(entry->job->submitted_ms + knobs_.patience_ms);
    }
    for (const Entry& entry : entries_) {
      const ElasticJob& job = *entry.job;
      const bool could_give = waits && entry.workers > job.min_workers;
      const bool could_take = free_ >= job.slots_per_worker && job.workers < job.max_workers;
      if (job.workers == 0 || job.change != Change::kMalleable || job.changing) continue;
      if (entry.workers == job.workers && (could_give || could_take)) at(free_from(job));
      if (job.wished && job.wished_since_ms <= now_) at(job.wished_since_ms + knobs_.patience_ms);
    }
    return next;
  }

  const std::int64_t now_;
  const ElasticKnobs& knobs_;
  std::int64_t free_;
  std::int64_t taken_ = 0;  // of what was free before these decisions
  std::int64_t kept_ = 0;   // of what is free, for an old wish
  std::vector<Entry> entries_;
  std::vector<Entry*> waiting_;                        // in their order
  std::vector<Entry*> shrunk_;                         // in the order of the decisions
  std::vector<std::pair<double, std::int64_t>> ends_;  // of those that run: when, and their slots
};

}  // namespace

ElasticDecision decide_ours(const ElasticView& view, const ElasticKnobs& knobs) {
  return OurPolicy(view, knobs).decide();
}

}  // namespace pinion::cluster
