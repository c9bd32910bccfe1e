// What the files of Scheduler share.
#pragma once

#include <string>
#include <vector>

#include "cluster/core/job_book.h"

namespace pinion::cluster {

// Of the CPUs that are held for the first of the queue.
inline const std::string kHeadClaim = "head of the queue";

inline std::vector<Member*> members_in(Job& job, Member::State state) {
  std::vector<Member*> members;
  for (auto& [id, member] : job.members) {
    if (member.state == state) members.push_back(&member);
  }
  return members;
}

}  // namespace pinion::cluster
