// What the files of Scheduler share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/core/job_book.h"

namespace pinion::cluster {

// Of the CPUs that are held for the first of the queue.
inline const std::string kHeadClaim = "head of the queue";

// Different for different jobs, the same for the same.
inline std::uint64_t seed_of(const JobId& job) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char byte : job) hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  return hash;
}

inline std::vector<Member*> members_in(Job& job, Member::State state) {
  std::vector<Member*> members;
  for (auto& [id, member] : job.members) {
    if (member.state == state) members.push_back(&member);
  }
  return members;
}

}  // namespace pinion::cluster
