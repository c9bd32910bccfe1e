// Elastic jobs: with how many workers each one starts, and which ones shrink or expand. A pure
// function of what is seen; the adapter (the simulator, the leader) carries out and reports back.
//
// What the policies count is slots: CPUs, or whatever one worker needs several of. They deal with
// the sizes that jobs have when all that is under way has ended, and hand out each slot once. So a
// start or an expand may be decided together with the shrinks that make room for it: the adapter
// begins them in their order, each when its slots are really free, which is when the shrunk
// applications' processes are gone. When a shrink fails, the adapter reports the job with its old
// size, and what it had not begun yet as not decided.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/core/speed_up.h"

namespace pinion::cluster {

// How a job can change its number of workers.
enum class Change {
  kRigid,      // never: min_workers is max_workers
  kMoldable,   // chosen when it starts
  kMalleable,  // at any time
};

// kMin .. kElasticFig2: the four of the elastic Charm++ paper (Bhosale et al., SC Workshops '25),
// by the letter of its text. Two moments count: a job arrives, a job ends. Higher priority goes
// first, ties by submission.
//   A new job starts with as many workers as are free, up to its maximum, if that is at least its
//   minimum, past whoever waits (3.2: "out-of-order allocations"). Else jobs after it in that order
//   shrink, the last first, each not below its minimum and not within its gap, until it can start
//   at its maximum. If even its minimum cannot be freed, nobody shrinks and it waits.
//   When jobs end, what is free goes to running and waiting jobs in that order, up to the maximum
//   of each, a waiting one if its minimum is reached.
// Where the printed pseudo-code (Fig. 2, 3) or the released code differ, the text decides:
//   - Fig. 2 never looks at the running job of highest priority, ends after its first loop, and
//     does not start the job when it has freed enough: faults.
//   - Fig. 2 lets a job shrink others of the same priority; in the text these were submitted
//     earlier and are of higher priority. This one matters (docs/papers.md): kElasticFig2.
//   - The released code starts a job that had to make room at its minimum; the text says maximum.
//   - Fig. 3 hands out only what the ended job had; the text's aim is "to maximize cluster
//     utilization", so all that is free is handed out.
//   - Fig. 3 asks waiting jobs for their gap too; the text defines it between creation, shrink and
//     expand, of which a waiting job has had none.
//   - The released code looks again when a gap ends; the text knows two moments only.
//   - The released operator looks for who may shrink from the highest priority down and stops at
//     the first job above the new one, so that one urgent job keeps all from shrinking. Fig. 2 and
//     we go from the lowest up.
//   - It gives what is free to the lowest priority first. In the text, and here, to the highest.
//   - Equal priorities it leaves in any order. In the text, and here, the earlier one goes first.
//   - It notes when a job was changed last when that is decided, and again after the signal, even
//     one that has failed. Here it is noted when it is decided, and one that has failed leaves the
//     job alone for its gap from then on (declined_until_ms).
//   - It starts a job with more than its minimum only, and a change needs more than the gap. In
//     Fig. 2 and here the minimum and the gap themselves are enough.
//   - It looks at the queue again when a job's launcher is seen to run; the text knows no such
//     moment. In Fig. 3 a waiting job needs no slot for its launcher; here it does, as in Fig. 2.
//   - Neither says what becomes of a shrink that fails. Here the others that have made room keep
//     their new sizes, and what is free is handed out by the next call.
enum class ElasticPolicy {
  kMin,       // every job is rigid with its minimum
  kMax,       // ... its maximum
  kMoldable,  // nobody changes once started
  kElastic,
  kElasticFig2,  // as kElastic, but whom a job makes shrink may be of its own priority
  kOurs,         // elastic_ours.cpp
};

inline constexpr double kNotStated = -1;
inline constexpr std::int64_t kAnyRoom = std::numeric_limits<std::int64_t>::max();

struct ElasticJob {
  std::uint64_t id = 0;
  std::int32_t priority = 0;  // higher goes first; only the order counts
  std::int64_t submitted_ms = 0;
  int min_workers = 1;  // 1 <= min <= max
  int max_workers = 1;
  // While it runs, its user or its application wishes it not to have fewer; 0: nobody does. Only
  // who has a higher priority shrinks it further, under kOurs also who has waited for patience_ms
  // and lacks its minimum, and each down to min_workers alone.
  int kept_workers = 0;
  std::int64_t slots_per_worker = 1;
  std::int64_t other_slots = 0;  // besides its workers as long as it runs: its launcher
  Change change = Change::kMalleable;
  std::int64_t gap_ms = 0;  // at least, between its start, shrinks and expands

  int workers = 0;              // that it has or will have when what is under way ends; 0: waits
  bool changing = false;        // a start, shrink or expand is under way: it is left alone
  std::int64_t changed_ms = 0;  // when its last start, shrink or expand was decided
  // It is left alone until then: its application has declined, or its start has failed.
  std::int64_t declined_until_ms = std::numeric_limits<std::int64_t>::min();
  bool is_new = false;  // has arrived since the last call (kMin .. kElasticFig2)

  // Only kOurs looks at these.
  // Its user or its application wishes it to have max_workers, while it runs with fewer: it gets
  // them without a gain.
  bool wished = false;
  std::int64_t wished_since_ms = std::numeric_limits<std::int64_t>::max();  // if it is
  SpeedUp speed_up;
  double rest = kNotStated;  // expected units of work left, of speed_up's; kNotStated: an hour
  double shrink_cost_s = kNotStated;  // seconds in which it does not work; expected_cost_s()
  double expand_cost_s = kNotStated;
  // Slots in NUMA nodes that become wholly free when one worker leaves, when two do, and so on
  // (whole_nodes.h), in the order in which its workers leave on a shrink; one more than are stated
  // frees no more. Empty: not known.
  std::vector<std::int64_t> frees_whole;
  // So many workers at most would find their CPUs, beside those that it has, once what is under way
  // has ended: what is free may lie in holes that are too small (Fleet::room_at_most()). >= 0.
  std::int64_t room = kAnyRoom;

  [[nodiscard]] std::int64_t slots(int with_workers) const {
    return with_workers == 0 ? 0 : with_workers * slots_per_worker + other_slots;
  }
};

struct ElasticView {
  std::span<const ElasticJob> jobs;
  std::int64_t slots = 0;  // that there are
  std::int64_t now_ms = 0;
  bool freed = false;  // somebody has ended since the last call (kMin .. kElasticFig2)
  // Who is new may have waited for long: they go by priority, and not in the order of their
  // arrival.
  bool have_waited = false;
};

// A start where the job had no workers, else a shrink or an expand.
struct ElasticStep {
  std::uint64_t job = 0;
  int from = 0;
  int workers = 0;
  std::uint64_t for_job = 0;  // whom a shrink makes room for; 0: nobody

  bool operator==(const ElasticStep&) const = default;
};

// Why a job that could start does not.
struct ElasticWait {
  enum class Why {
    kNoRoom,        // also with what others may give now
    kNoHoles,       // kOurs: enough is free, but its workers do not find theirs in one place each
    kNotWorthIt,    // kOurs: others would lose more than it gains
    kKeptForOther,  // kOurs: for_job has waited for so long that what becomes free is kept for it
  };
  std::uint64_t job = 0;
  Why why = Why::kNoRoom;
  std::int64_t free = 0;    // slots that nobody has or has been promised by these steps
  std::int64_t could = 0;   // more, that others may give for it now
  std::int64_t later = 0;   // and that they may give once their gap or their rescale is over
  std::int64_t wished = 0;  // and that they keep from it, as it is wished for (kept_workers)
  std::uint64_t for_job = 0;

  bool operator==(const ElasticWait&) const = default;
};

struct ElasticDecision {
  std::vector<ElasticStep> steps;  // the first so many of them never need more than there is
  std::vector<ElasticWait> waits;  // kMin .. kElasticFig2: of those that are new
  // When it should be asked again though nothing has happened; nullopt: needless.
  std::optional<std::int64_t> look_again_ms;
};

// What an operator can set of kOurs. The times are kLongestKnobMs at most.
struct ElasticKnobs {
  // Each time that a job has waited for so long, it goes up one rank: that of the priority among
  // those of all jobs that wait or run, from 0. >= kLeastAgeingMs.
  std::int64_t ageing_ms = 600'000;
  // For who has waited so long and is first, all that becomes free is kept: others start only where
  // that is not expected to delay it. For a wish as old, the slots of one worker.
  std::int64_t patience_ms = 3'600'000;
  // Once it has waited for so long beyond that, nobody else starts: others may last longer than
  // expected.
  std::int64_t strict_ms = 604'800'000;
  // At most so much of a job's time goes into rescales, 1 to 100.
  int rescale_percent = 5;
  // What a freed slot is worth in a NUMA node that others still use, against one in a NUMA node
  // that becomes wholly free, 1 to 100: whom a job makes shrink depends on it.
  int broken_percent = 50;
};
inline constexpr std::int64_t kLeastAgeingMs = 1'000;
inline constexpr std::int64_t kLongestKnobMs = 31'536'000'000;  // a year

// As the policies see a job that its user or its application wishes to have so many workers, while
// `workers` of it says how many it has; since when it lacks some stays as it is. Precondition: the
// wish is within min_workers and max_workers.
void heed_wish(ElasticJob& job, int wish);

// Steps for at most view.slots; no job is named twice. Preconditions: the ids differ and are above
// 0, what the jobs hold already is within view.slots, and each job alone fits with its minimum.
[[nodiscard]] ElasticDecision decide(ElasticPolicy policy, const ElasticView& view,
                                     const ElasticKnobs& knobs = {});

// While slots are becoming free (settling.h): whether the step is a start or an expand that is to
// wait for those that may follow, as the job could have more. A rescale costs, the next one has to
// wait for the gap, and some jobs keep for ever the size with which they start.
[[nodiscard]] bool is_to_wait_for_more(ElasticPolicy policy, const ElasticJob& job,
                                       const ElasticStep& step);

// Whether none of the starts and expands that are named after it begins before this waiting job:
// under kOurs once it has waited for patience_ms. They leave it CPUs enough, but may break its
// holes.
[[nodiscard]] bool is_passed_by_nobody(ElasticPolicy policy, const ElasticJob& job,
                                       std::int64_t now_ms, const ElasticKnobs& knobs);

// The mean of the last ones seen, else what is declared, else a default.
[[nodiscard]] double expected_cost_s(std::span<const double> seen, double declared = kNotStated);

// kOurs: the least time between two changes of the job, >= gap_ms, at least a second. Unless its
// user or its application wishes for more it is so long that what a shrink and an expand cost stays
// within the share. So the job changes at most 3,600,000 / effective_gap_ms() + 1 times in any
// hour, besides the shrinks that its user asks for, which wait for no gap.
[[nodiscard]] std::int64_t effective_gap_ms(const ElasticJob& job, const ElasticKnobs& knobs = {});

// "elastic" and the like; nullopt: unknown.
[[nodiscard]] std::optional<ElasticPolicy> elastic_policy_of(std::string_view word);

}  // namespace pinion::cluster
