// The policies of the elastic Charm++ paper; elastic.h says how its text is read.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "cluster/core/elastic_rules.h"

namespace pinion::cluster {
namespace {

class PaperPolicy {
 public:
  PaperPolicy(ElasticPolicy policy, const ElasticView& view)
      : equals_shrink_(policy == ElasticPolicy::kElasticFig2),
        have_waited_(view.have_waited),
        now_(view.now_ms),
        free_(elastic_free(view)),
        jobs_(view.jobs.begin(), view.jobs.end()) {
    for (ElasticJob& job : jobs_) {
      if (policy == ElasticPolicy::kMin) job.max_workers = job.min_workers;
      if (policy == ElasticPolicy::kMax) job.min_workers = job.max_workers;
      const bool rescales = policy == ElasticPolicy::kElastic || equals_shrink_;
      if (!rescales && job.change == Change::kMalleable) job.change = Change::kMoldable;
    }
    std::sort(jobs_.begin(), jobs_.end(), elastic_before);
    for (ElasticJob& job : jobs_) note(job);
  }

  // Fig. 2, for each that has arrived.
  void arrive() {
    std::vector<ElasticJob*> arrived;
    for (ElasticJob& job : jobs_) {
      if (job.is_new && job.workers == 0) arrived.push_back(&job);
    }
    if (!have_waited_) {
      std::sort(arrived.begin(), arrived.end(), [](const ElasticJob* a, const ElasticJob* b) {
        return std::tuple(a->submitted_ms, a->id) < std::tuple(b->submitted_ms, b->id);
      });
    }
    for (ElasticJob* job : arrived) {
      if (workers_for(*job, free_) == 0 && !make_room(*job)) {
        waits_.push_back(wait_of(*job));
      } else {
        resize(*job, workers_for(*job, free_), 0);
      }
    }
  }

  // Fig. 3, for all that have ended.
  void hand_out() {
    for (ElasticJob& job : jobs_) {
      if (job.is_new || (job.workers > 0 && !may_rescale(job))) continue;
      const int workers = workers_for(job, free_ + job.slots(job.workers));
      if (workers > job.workers) resize(job, workers, 0);
    }
  }

  ElasticDecision decision() && {
    return {.steps = std::move(steps_), .waits = std::move(waits_), .look_again_ms = {}};
  }

 private:
  [[nodiscard]] bool may_rescale(const ElasticJob& job) const {
    return job.workers > 0 && !job.changing && job.change == Change::kMalleable &&
           now_ - job.changed_ms >= job.gap_ms && now_ >= job.declined_until_ms;
  }

  [[nodiscard]] bool may_shrink_for(const ElasticJob& job, const ElasticJob& other) const {
    return equals_shrink_ ? other.priority <= job.priority : elastic_before(job, other);
  }

  // Slots that the other one may give for it.
  [[nodiscard]] static std::int64_t gives(const ElasticJob& other, const ElasticJob& job) {
    const int least = least_workers(other, other.priority >= job.priority);
    return std::max(0, other.workers - least) * other.slots_per_worker;
  }

  // Whether the job can start at its minimum now that others have shrunk.
  bool make_room(const ElasticJob& job) {
    const std::int64_t least = job.slots(job.min_workers) - free_;
    const std::int64_t most = job.slots(job.max_workers) - free_;
    std::vector<ElasticJob*> givers;  // the least urgent first
    std::int64_t could = 0;
    for (ElasticJob* other : have_more_) {
      if (!may_shrink_for(job, *other)) break;
      if (!may_rescale(*other) || gives(*other, job) == 0) continue;
      givers.push_back(other);
      could += gives(*other, job);
    }
    if (could < least) return false;
    std::int64_t freed = 0;
    for (ElasticJob* giver : givers) {
      if (freed >= most) break;
      const std::int64_t per_worker = giver->slots_per_worker;
      const std::int64_t wanted = (most - freed + per_worker - 1) / per_worker;
      const auto fewer =
          static_cast<int>(std::min<std::int64_t>(wanted, gives(*giver, job) / per_worker));
      freed += fewer * per_worker;
      resize(*giver, giver->workers - fewer, job.id);
    }
    return true;
  }

  [[nodiscard]] ElasticWait wait_of(const ElasticJob& job) const {
    ElasticWait wait{.job = job.id, .free = free_};
    for (const ElasticJob* other : have_more_) {
      if (!may_shrink_for(job, *other)) break;
      const std::int64_t has = (other->workers - other->min_workers) * other->slots_per_worker;
      (may_rescale(*other) ? wait.could : wait.later) += gives(*other, job);
      wait.wished += has - gives(*other, job);
    }
    return wait;
  }

  // It counts as under way for the rest of this call.
  void resize(ElasticJob& job, int workers, std::uint64_t for_job) {
    steps_.push_back({.job = job.id, .from = job.workers, .workers = workers, .for_job = for_job});
    free_ += job.slots(job.workers) - job.slots(workers);
    job.workers = workers;
    job.changing = true;
    note(job);
  }

  void note(ElasticJob& job) {
    if (job.change == Change::kMalleable && job.workers > job.min_workers) {
      have_more_.insert(&job);
    } else {
      have_more_.erase(&job);
    }
  }

  const bool equals_shrink_;
  const bool have_waited_;
  const std::int64_t now_;
  std::int64_t free_;
  std::vector<ElasticJob> jobs_;  // the most urgent first
  // Of them, those that can become smaller and have more than their minimum; the least urgent
  // first.
  std::set<ElasticJob*, std::greater<>> have_more_;
  std::vector<ElasticStep> steps_;
  std::vector<ElasticWait> waits_;
};

}  // namespace

// At one moment ends count before arrivals.
ElasticDecision decide_as_paper(ElasticPolicy policy, const ElasticView& view) {
  PaperPolicy play(policy, view);
  if (view.freed) play.hand_out();
  play.arrive();
  return std::move(play).decision();
}

}  // namespace pinion::cluster
