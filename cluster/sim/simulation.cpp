#include "cluster/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace pinion::sim {
namespace {

constexpr double kLongest = 1e16;  // ms
constexpr Ms kNotYet = -1;

void close_stay(JobRecord::Stay& stay, Ms now) {
  if (stay.to == kNotYet) stay.to = now;
}

// Of what a job holds, what its first workers work with.
std::vector<Piece> working(const std::vector<Piece>& pieces, int workers) {
  std::vector<Piece> those;
  for (const Piece& piece : pieces) {
    if (piece.tasks > 0 && workers-- > 0) those.push_back(piece);
  }
  return those;
}

}  // namespace

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
    if (const std::string why = machine_.never(job); !why.empty()) {
      accounts_.refused();
      if (on_refused) on_refused(job, why);
      continue;
    }
    accounts_.submitted(now);
    const Handle handle = ++handles_;
    machine_.submit(handle, job, now);
    waiting_.emplace(handle, std::move(job));
  }
  return {};
}

// From now on it disturbs those beside it.
void Simulation::draw(Handle handle, const Running& running) {
  settings_.contention->add(
      handle, running.job,
      running.sizes.empty() ? running.pieces : working(running.pieces, running.job.shape.tasks));
}

void Simulation::begin_all(Ms now) {
  while (!begins_.empty() && begins_.begin()->first == now) {
    const Handle handle = begins_.begin()->second;
    draw(handle, running_.at(handle));
    begins_.erase(begins_.begin());
  }
}

void Simulation::end_all(Ms now) {
  while (!ends_.empty() && ends_.begin()->first == now) {
    const Handle handle = ends_.begin()->second;
    ends_.erase(ends_.begin());
    const auto found = running_.find(handle);
    Running& running = found->second;
    frees_.emplace(now + settings_.release, handle);
    hold(running, 0, now);
    machine_.over(handle, now);
    if (settings_.contention != nullptr) settings_.contention->remove(handle);
    for (JobRecord::Stay& stay : running.stays) close_stay(stay, now);
    const JobRecord record{.handle = handle,
                           .job = std::move(running.job),
                           .start = running.start,
                           .end = now,
                           .pieces = std::move(running.pieces),
                           .work = running.work,
                           .sizes = std::move(running.sizes),
                           .rescaling = running.rescaling,
                           .stays = std::move(running.stays)};
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

// From now on it works at another pace, after a pause. What it has done before counts.
void Simulation::change_pace(Handle handle, Running& running, double disturbed, double rate,
                             Ms pause, Ms now) {
  if (now > running.since) {
    running.rest -= static_cast<double>(now - running.since) / running.slowdown();
    running.since = now;
  }
  running.since += pause;
  running.disturbed = disturbed;
  running.rate = rate;
  ends_.erase({running.end, handle});
  const double rest = std::min(std::max(0.0, running.rest) * running.slowdown(), kLongest);
  running.end = std::max(now, running.since + static_cast<Ms>(std::ceil(rest - 1e-6)));
  ends_.emplace(running.end, handle);
}

// The ends of all whose neighbours have changed are computed anew.
void Simulation::slow_down(Ms now) {
  for (const auto& [handle, slowdown] : settings_.contention->changes()) {
    Running& running = running_.at(handle);
    change_pace(handle, running, slowdown, running.rate, 0, now);
    machine_.disturbed(handle, slowdown, now);
  }
}

void Simulation::hold(Running& running, std::int64_t processors, Ms now) {
  if (now > running.held_since) {
    running.work +=
        static_cast<double>(running.processors) * static_cast<double>(now - running.held_since);
    running.held_since = now;
  }
  busy_ += processors - running.processors;
  running.processors = processors;
}

// A job gets more pieces behind those that it has, or loses the last ones.
void Simulation::occupy(Running& running, const std::vector<Piece>& pieces, Ms now) {
  while (running.pieces.size() > pieces.size()) {
    running.pieces.pop_back();
    const auto last = std::find_if(running.stays.rbegin(), running.stays.rend(),
                                   [](const auto& stay) { return stay.to == kNotYet; });
    close_stay(*last, now);
  }
  for (std::size_t i = running.pieces.size(); i < pieces.size(); ++i) {
    running.pieces.push_back(pieces[i]);
    running.stays.push_back({.piece = pieces[i], .from = now, .to = kNotYet});
  }
}

void Simulation::resize(const Resized& resized, Ms now) {
  Running& running = running_.at(resized.job);
  const Size& size = resized.size;
  hold(running, size.processors, now);
  occupy(running, resized.pieces, now);
  if (running.job.shape.tasks == size.workers) return;
  running.job.shape.tasks = size.workers;
  running.sizes.push_back({.from = now, .workers = size.workers, .decided = size.decided});
  running.rescaling += size.pause;
  const double rate = running.job.elastic->speed_up.rate(size.workers);
  change_pace(resized.job, running, running.disturbed, rate, size.pause, now);
  if (settings_.contention != nullptr && !begins_.contains({running.start, resized.job})) {
    settings_.contention->remove(resized.job);
    draw(resized.job, running);
  }
}

void Simulation::begin(Started started, Ms now) {
  const auto found = waiting_.find(started.job);
  Running running;
  running.job = std::move(found->second);
  waiting_.erase(found);
  running.start = running.since = running.held_since = now + settings_.start;
  running.end = running.start + running.job.run;
  running.rest = static_cast<double>(running.job.run);
  if (started.size) {
    occupy(running, started.pieces, running.start);
  } else {
    running.pieces = std::move(started.pieces);
  }
  hold(running, started.size ? started.size->processors : running.job.processors(), now);
  ends_.emplace(running.end, started.job);
  if (started.size) {
    running.job.shape.tasks = started.size->workers;
    running.sizes.push_back(
        {.from = now, .workers = started.size->workers, .decided = started.size->decided});
    const double rate = running.job.elastic->speed_up.rate(started.size->workers);
    change_pace(started.job, running, running.disturbed, rate, started.size->pause, now);
  }
  if (settings_.contention != nullptr) begins_.emplace(running.start, started.job);
  running_.emplace(started.job, std::move(running));
}

Status Simulation::pass(Ms now) {
  for (Started& started : machine_.pass(now)) begin(std::move(started), now);
  begin_all(now);
  for (const Resized& resized : machine_.take_resized()) resize(resized, now);
  if (settings_.contention != nullptr) slow_down(now);
  accounts_.sample(now, machine_.processors() - busy_, machine_.fragmentation());
  if (on_moment) on_moment(now, busy_);
  return settings_.check ? machine_.check(now) : Status();
}

std::optional<Ms> Simulation::next_moment() const {
  std::optional<Ms> now = machine_.wake();
  const auto at = [&](Ms when) { now = now ? std::min(*now, when) : when; };
  if (next_) at(next_->submit);
  if (!begins_.empty()) at(begins_.begin()->first);
  if (!ends_.empty()) at(ends_.begin()->first);
  if (!frees_.empty()) at(frees_.begin()->first);
  return now;
}

Result<Figures> Simulation::run() {
  if (const Status good = fetch(); !good) return failure(good.error());
  while (const auto moment = next_moment()) {
    const Ms now = *moment;
    begin_all(now);
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
