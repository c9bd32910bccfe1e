// Room for the first job of the queue while it waits: CPUs that are free, and those that jobs give
// back until it can start. What of it is free is held, so that others go past it (backfill) and
// never delay it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

// Nobody has said when.
inline constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::max();
// It is over, and its node's agent has not told of that yet.
inline constexpr std::int64_t kOverTime = std::numeric_limits<std::int64_t>::min();

// What has CPUs and will give them back.
struct Ending {
  std::int64_t at_ms = kUnknownTime;  // at the latest
  bool service = false;               // of those without a time, services end last
  std::uint64_t order = 0;            // before that, who has had them longest ends first
  std::string id;                     // of the claim
  NodeIndex node = -1;

  bool operator<(const Ending& other) const {
    return std::tie(at_ms, service, order, id) <
           std::tie(other.at_ms, other.service, other.order, other.id);
  }
};

struct HeadRoom {
  std::string job;
  std::int64_t since_ms = 0;  // it is held for this job
  std::int64_t from_ms = 0;   // when the job can start at the latest; kUnknownTime
  // The least that was ever said of this job since then: who goes past it is over by that, so that
  // it is not put off by one after the other.
  std::int64_t promised_ms = kUnknownTime;
  std::map<NodeIndex, topology::CpuSet> cpus;
};

// The first moment when all of the gang fit, if nobody else starts. nullopt: not even when all of
// `endings` have ended. Members go node by node: for members that are alike as exact as a plan.
[[nodiscard]] std::optional<HeadRoom> find_head_room(const Fleet& fleet, const std::string& job,
                                                     const Gang& gang,
                                                     const std::set<Ending>& endings,
                                                     const PlanLimits& limits);

}  // namespace pinion::cluster
