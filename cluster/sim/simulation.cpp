#include "cluster/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace pinion::sim {

Status Simulation::fetch() {
  next_.reset();
  if (settings_.limit > 0 && fetched_ == settings_.limit) return {};
  auto job = source_.next();
  if (!job) return failure(std::move(job.error()));
  next_ = std::move(*job);
  if (next_) ++fetched_;
  return {};
}

// Those submitted at this moment, by their numbers.
Status Simulation::arrive(Ms now) {
  std::vector<Job> jobs;
  while (next_ && next_->submit == now) {
    jobs.push_back(std::move(*next_));
    if (Status good = fetch(); !good) return good;
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.number < b.number; });
  for (Job& job : jobs) {
    accounts_.submitted(now);
    if (const std::string why = machine_.never(job); !why.empty()) {
      accounts_.refused();
      if (on_refused) on_refused(job, why);
      continue;
    }
    const Handle handle = ++handles_;
    machine_.submit(handle, job, now);
    waiting_.emplace(handle, std::move(job));
  }
  return {};
}

void Simulation::end_all(Ms now) {
  while (!ends_.empty() && ends_.begin()->first == now) {
    const Handle handle = ends_.begin()->second;
    ends_.erase(ends_.begin());
    const auto found = running_.find(handle);
    Running& running = found->second;
    frees_.emplace(now + settings_.release, handle);
    busy_ -= running.job.processors();
    if (settings_.contention != nullptr) settings_.contention->remove(handle);
    const JobRecord record{.handle = handle,
                           .job = std::move(running.job),
                           .start = running.start,
                           .end = now,
                           .pieces = std::move(running.pieces)};
    running_.erase(found);
    accounts_.ended(record);
    if (on_end) on_end(record);
  }
}

void Simulation::free_all(Ms now) {
  while (!frees_.empty() && frees_.begin()->first == now) {
    machine_.end(frees_.begin()->second, now);
    frees_.erase(frees_.begin());
  }
}

// The ends of all whose neighbours have changed are computed anew.
void Simulation::slow_down(Ms now) {
  for (const auto& [handle, slowdown] : settings_.contention->changes()) {
    Running& running = running_.at(handle);
    if (now > running.since) {
      running.rest -= static_cast<double>(now - running.since) / running.slowdown;
      running.since = now;
    }
    running.slowdown = slowdown;
    ends_.erase({running.end, handle});
    const double rest = std::max(0.0, running.rest) * slowdown;
    running.end = std::max(now, running.since + static_cast<Ms>(std::ceil(rest - 1e-6)));
    ends_.emplace(running.end, handle);
  }
}

Status Simulation::pass(Ms now) {
  for (Started& started : machine_.pass(now)) {
    const auto found = waiting_.find(started.job);
    Running running;
    running.job = std::move(found->second);
    waiting_.erase(found);
    running.start = running.since = now + settings_.start;
    running.end = running.start + running.job.run;
    running.rest = static_cast<double>(running.job.run);
    running.pieces = std::move(started.pieces);
    busy_ += running.job.processors();
    ends_.emplace(running.end, started.job);
    if (settings_.contention != nullptr) {
      settings_.contention->add(started.job, running.job, running.pieces);
    }
    running_.emplace(started.job, std::move(running));
  }
  if (settings_.contention != nullptr) slow_down(now);
  accounts_.sample(now, machine_.processors() - busy_, machine_.fragmentation());
  if (on_moment) on_moment(now, busy_);
  return settings_.check ? machine_.check(now) : Status();
}

Result<Figures> Simulation::run() {
  if (const Status good = fetch(); !good) return failure(good.error());
  while (next_ || !ends_.empty() || !frees_.empty()) {
    Ms now = next_ ? next_->submit : std::numeric_limits<Ms>::max();
    if (!ends_.empty()) now = std::min(now, ends_.begin()->first);
    if (!frees_.empty()) now = std::min(now, frees_.begin()->first);
    end_all(now);
    free_all(now);
    if (const Status good = arrive(now); !good) return failure(good.error());
    if (const Status good = pass(now); !good) return failure(good.error());
  }
  if (!waiting_.empty()) {
    return failure(Errc::kInternal, std::to_string(waiting_.size()) +
                                        " jobs wait although nothing runs, one of them is " +
                                        waiting_.begin()->second.called());
  }
  return accounts_.figures(machine_.processors(), source_.skipped());
}

}  // namespace pinion::sim
