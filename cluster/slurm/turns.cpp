#include "cluster/slurm/turns.h"

#include <algorithm>

namespace pinion::slurm {
namespace {

constexpr int kUsersShare = 4;
// Names of nodes in all placeholders that wait: each carries as many as it may go to.
constexpr std::int64_t kMostNames = 2'000'000;

}  // namespace

void Turns::count(int placeholders, Waiting& among) const {
  ++among.jobs;
  among.names += std::int64_t{std::max(placeholders, 1)} * static_cast<std::int64_t>(nodes_);
}

void Turns::count(const Job& job, int placeholders) {
  count(placeholders, waiting_);
  count(placeholders, waiting_of_[job.user]);
}

void Turns::count_hopeless(const Job& job, int placeholders) {
  full(hopeless_, 1) ? count(job, placeholders) : count(placeholders, hopeless_);
}

// Whether these have this part of all places, or of all names. A job of very many nodes gets its
// turn as any other one.
bool Turns::full(const Waiting& of, int part) const {
  return of.jobs >= std::max(1, most_waiting_ / part) || of.names >= kMostNames / part;
}

std::string Turns::why_not(const Job& job) {
  if (full(waiting_, 1)) return "waits: behind other jobs that wait for cores";
  if (!full(waiting_of_[job.user], kUsersShare)) return "";
  return "waits: behind other jobs of its user that wait for cores";
}

}  // namespace pinion::slurm
