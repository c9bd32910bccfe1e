#include "cluster/core/job_book.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pinion::cluster {

int Member::cpus() const {
  return std::accumulate(requests.begin(), requests.end(), 0,
                         [](int sum, const auto& request) { return sum + request.cpus; });
}

int Job::count(Member::State state) const {
  return static_cast<int>(std::count_if(members.begin(), members.end(), [&](const auto& each) {
    return each.second.state == state;
  }));
}

int Job::fixed() const {
  return count(Member::State::kStarting) + count(Member::State::kRunning);
}

std::vector<const Member*> next_members(const Job& job) {
  std::vector<const Member*> waiting;
  for (const auto& [id, member] : job.members) {
    if (member.state == Member::State::kWaiting) waiting.push_back(&member);
  }
  if (job.started) return waiting;
  const auto placed = job.members.size() - waiting.size();
  const auto size = static_cast<std::size_t>(job.spec.size);
  waiting.resize(std::min(waiting.size(), size - std::min(size, placed)));
  return waiting;
}

Job* JobBook::find(std::string_view job) {
  const auto found = by_id_.find(job);
  return found == by_id_.end() ? nullptr : found->second;
}

const Job* JobBook::find(std::string_view job) const {
  const auto found = by_id_.find(job);
  return found == by_id_.end() ? nullptr : found->second;
}

Job* JobBook::job_of(std::string_view member) {
  const auto found = job_of_.find(member);
  return found == job_of_.end() ? nullptr : found->second;
}

const Job* JobBook::job_of(std::string_view member) const {
  const auto found = job_of_.find(member);
  return found == job_of_.end() ? nullptr : found->second;
}

Member* JobBook::member(std::string_view member) {
  return const_cast<Member*>(std::as_const(*this).member(member));  // NOLINT: one body for both
}

const Member* JobBook::member(std::string_view member) const {
  const auto found = job_of_.find(member);
  return found == job_of_.end() ? nullptr : &found->second->members.at(found->first);
}

Job& JobBook::add(JobId id, JobSpec spec, std::int64_t now_ms) {
  Job& job = jobs_[id];
  by_id_.emplace(id, &job);
  job.id = std::move(id);
  job.spec = std::move(spec);
  job.submitted_ms = now_ms;
  job.touched_ms = now_ms;
  return job;
}

Member& JobBook::join(Job& job, MemberId id, std::vector<topology::Request> requests) {
  job_of_.emplace(id, &job);
  Member& member = job.members[id];
  member.id = std::move(id);
  member.requests = std::move(requests);
  return member;
}

void JobBook::leave(const MemberId& member) {
  const auto found = job_of_.find(member);
  found->second->members.erase(member);
  job_of_.erase(found);
}

void JobBook::erase(const JobId& job) {
  const auto found = jobs_.find(job);
  for (const auto& [id, member] : found->second.members) job_of_.erase(id);
  by_id_.erase(found->first);
  jobs_.erase(found);
}

}  // namespace pinion::cluster
