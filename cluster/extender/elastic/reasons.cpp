#include "cluster/extender/elastic/reasons.h"

#include <algorithm>

namespace pinion::cluster::elastic {
namespace {

std::string cpus(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " CPU" : " CPUs");
}

std::string are_free(std::int64_t free) {
  return cpus(free) + (free == 1 ? " is free" : " are free");
}

}  // namespace

std::string from_to(int before, int workers) {
  return "from " + std::to_string(before) + " to " + std::to_string(workers) + " workers";
}

std::string who_wishes(const ElasticObject& job) {
  return job.requested ? "its user wishes" : "its application wishes";
}

std::string why_more(const ElasticObject& job, int workers, std::int64_t free) {
  std::string wish = ", as ";
  if (job.wish() == workers) wish += who_wishes(job) + ", and ";
  if (job.wish() > workers) wish += who_wishes(job) + " more, and ";
  return from_to(job.workers(), workers) + wish + are_free(free);
}

std::string why_fewer(const ElasticObject& job, int workers, const ElasticObject& other) {
  std::string why = from_to(job.workers(), workers) + ", to make room for " + other.name;
  if (other.priority > job.priority) {
    why += ", of priority " + std::to_string(other.priority) + " above " +
           std::to_string(job.priority);
  }
  return why;
}

std::string why_it_waits(const ElasticWait& wait, std::int64_t needs, const std::string& other) {
  if (wait.why == ElasticWait::Why::kKeptForOther) {
    return are_free(wait.free) + " and kept for " + other + ", which has waited for too long";
  }
  std::string why = "needs " + cpus(needs) + ", " + are_free(wait.free);
  if (wait.why == ElasticWait::Why::kNoHoles) why += ", but too few of them in one place";
  if (wait.why == ElasticWait::Why::kNotWorthIt) {
    why += "; shrinking others would cost more than it gains";
  } else if (wait.could == 0 && wait.later == 0) {
    why += "; no other job may shrink for it";
  } else {
    why += "; others may give " + cpus(wait.could) + " for it";
    if (wait.later > 0) why += ", and " + cpus(wait.later) + " when they may change again";
  }
  if (wait.wished == 0) return why;
  return why + "; " + cpus(wait.wished) + (wait.wished == 1 ? " is" : " are") + " held by wishes";
}

std::string why_it_never_fits(std::int64_t needs, std::int64_t there) {
  return "needs " + cpus(needs) + ", and only " + cpus(there) + (there == 1 ? " is" : " are") +
         " there";
}

std::string why_it_never_finds_holes(const ElasticObject& job, int workers) {
  return "needs " + std::to_string(workers) + (workers == 1 ? " worker" : " workers") + " of " +
         cpus(job.cpus) + "; at most " + std::to_string(job.on_fleet.room_at_best) +
         " would find theirs in one place if no elastic job ran";
}

std::string why_it_rests(const ElasticObject& job) {
  const std::string why = "not tried before " + past_step(job.declined_until_ms, "", "").at;
  const bool said = !job.history.empty() && job.history.front().what == "declined";
  return said ? why + ": " + job.history.front().why : why;
}

std::string why_its_wish_waits(const ElasticObject& job, ElasticPolicy policy, std::int64_t free,
                               std::int64_t now_ms) {
  const auto wish = job.wish();
  if (!wish || job.suspended || job.wanted) return "";
  const int said = job.requested ? *job.requested : *job.asked;
  const std::string wishes = who_wishes(job) + " " + std::to_string(said) + " workers, ";
  if (*wish == job.stated) {
    if (said > *wish) return wishes + "and max-workers is " + std::to_string(job.max_workers);
    if (said < *wish) return wishes + "and min-workers is " + std::to_string(job.min_workers);
    return "";
  }
  if (job.change != Change::kMalleable) {
    return wishes + "and it keeps its size while it runs, as it is " +
           std::string(to_string(job.change));
  }
  if (job.succeeded > 0) return wishes + "and some of its workers have ended";
  if (job.declined_until_ms > now_ms) return wishes + why_it_rests(job);
  const bool fewer = *wish < job.stated;
  if (fewer && job.requested) return wishes + "which is decided next";
  if (!fewer && (policy == ElasticPolicy::kMin || policy == ElasticPolicy::kMax ||
                 policy == ElasticPolicy::kMoldable)) {
    return wishes + "and the policy makes no job that runs larger";
  }
  const std::int64_t gap_ends_ms = job.rescaled_ms + job.gap_ms;
  if (gap_ends_ms > now_ms) {
    return wishes + "and rescale-gap-seconds are over at " + past_step(gap_ends_ms, "", "").at;
  }
  if (fewer) return wishes + "which is decided next";
  if (free < job.cpus) {
    return wishes + "and a worker needs " + cpus(job.cpus) + ", " +
           are_free(std::max<std::int64_t>(free, 0));
  }
  if (job.on_fleet.room < 1) {
    return wishes + are_free(free) + ", but no worker would find its own in one place";
  }
  return wishes + are_free(free) + ", and jobs that wait come first";
}

std::string why_it_waits_for_more(int workers) {
  return "CPUs are becoming free, and it waits a moment for more than " + std::to_string(workers) +
         (workers == 1 ? " worker" : " workers");
}

std::string why_not_yet(int workers, std::int64_t needs, std::int64_t free) {
  return "starts with " + std::to_string(workers) + " workers when its " + cpus(needs) +
         " are free, " + are_free(std::max<std::int64_t>(free, 0));
}

std::string why_it_still_shrinks(int pods) {
  return "pods that had to go and are not gone yet: " + std::to_string(pods) +
         "; is their node not heard, or does a process of theirs hang?";
}

std::string why_it_is_left_alone(const ElasticObject& job) {
  const std::string why = job.has_come()
                              ? "no progress was seen of its application since it runs with "
                                "another number of PEs, from " +
                                    past_step(job.sent->came_ms, "", "").at + " on"
                              : "its application may still act on what it was sent, to run with " +
                                    std::to_string(job.sent->wanted) + " PEs";
  return job.wanted ? why + "; its new workers stay until then" : why;
}

}  // namespace pinion::cluster::elastic
