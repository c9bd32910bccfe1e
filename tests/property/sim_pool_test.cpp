// Processors that are counted, under any jobs: never more are taken than there are, everybody runs
// once, and with EASY nobody starts later than was ever reserved for them.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "cluster/sim/job_list.h"
#include "cluster/sim/pool.h"
#include "cluster/sim/simulation.h"

namespace pinion::sim {
namespace {

constexpr int kMostProcessors = 40;

std::vector<Job> random_jobs() {
  std::vector<Job> jobs(static_cast<std::size_t>(*rc::gen::inRange(1, 80)));
  Ms now = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    now += *rc::gen::element(0, 0, 1, 5, 20);
    job.number = static_cast<std::int64_t>(i) + 1;
    job.submit = now;
    job.run = *rc::gen::inRange(0, 60);
    job.request = job.run + *rc::gen::element(0, 0, 7, 100);
    job.shape.tasks = *rc::gen::inRange(1, kMostProcessors + 2);
    job.priority = *rc::gen::inRange(0, 3);
    job.user = std::to_string(*rc::gen::inRange(0, 3));
  }
  return jobs;
}

// A pool whose reservations are written down.
class Watched : public Machine {
 public:
  Watched(std::int64_t processors, QueueRule rule) : pool_(processors, rule) {}

  [[nodiscard]] std::int64_t processors() const override { return pool_.processors(); }
  [[nodiscard]] std::string never(const Job& job) override { return pool_.never(job); }
  void submit(Handle handle, const Job& job, Ms now) override { pool_.submit(handle, job, now); }
  void end(Handle handle, Ms now) override { pool_.end(handle, now); }
  std::vector<Started> pass(Ms now) override {
    auto started = pool_.pass(now);
    for (const Started& job : started) {
      const auto promised = promised_.find(job.job);
      if (promised != promised_.end()) RC_ASSERT(now <= promised->second);
    }
    if (const auto& reservation = pool_.reservation()) {
      const auto [known, is_new] = promised_.emplace(reservation->job, reservation->from);
      RC_ASSERT(is_new || reservation->from <= known->second);
      RC_ASSERT(reservation->spare >= 0);
      known->second = reservation->from;
    }
    return started;
  }
  [[nodiscard]] Status check(Ms now) const override { return pool_.check(now); }
  [[nodiscard]] std::size_t promised() const { return promised_.size(); }

 private:
  Pool pool_;
  std::map<Handle, Ms> promised_;
};

void play(QueueRule rule, bool promises) {
  const std::vector<Job> jobs = random_jobs();
  Watched machine(*rc::gen::inRange(1, kMostProcessors), rule);
  JobList source(jobs);
  Simulation simulation(source, machine, {.check = true});
  std::map<Ms, std::int64_t> changes;  // of processors in use
  std::size_t ended = 0;
  std::size_t refused = 0;
  simulation.on_end = [&](const JobRecord& record) {
    ++ended;
    RC_ASSERT(record.start >= record.job.submit);
    RC_ASSERT(record.end == record.start + record.job.run);
    changes[record.start] += record.job.processors();
    changes[record.end] -= record.job.processors();
  };
  simulation.on_refused = [&](const Job&, const std::string&) { ++refused; };
  const auto figures = simulation.run();
  RC_ASSERT(figures.has_value());
  RC_ASSERT(ended + refused == jobs.size());
  std::int64_t used = 0;
  for (const auto& [when, change] : changes) {
    used += change;
    RC_ASSERT(used <= machine.processors());
  }
  RC_ASSERT(promises || machine.promised() == 0);
  RC_CLASSIFY(machine.promised() > 3, "several reservations");
}

RC_GTEST_PROP(Pool, FcfsHoldsWhatItHas, ()) {
  play(QueueRule::kFcfs, false);
}

RC_GTEST_PROP(Pool, FairHoldsWhatItHas, ()) {
  play(QueueRule::kFair, false);
}

// Without priorities nobody new gets before the first.
RC_GTEST_PROP(Pool, EasyKeepsItsReservations, ()) {
  play(QueueRule::kEasy, true);
}

}  // namespace
}  // namespace pinion::sim
