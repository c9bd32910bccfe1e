// The CFS quota beside exclusive CPUs. A rank with a quota of as many CPUs as it holds is throttled
// whenever its threads together run a moment ahead of it, on cores that nobody else may use. So
// it has none, as with the kubelet since 1.33, and neither has its pod where all of the pod's limit
// is exclusive, also where its containers share these. One that borrows cores has none either, nor
// its pod: a quota counts all CPUs together, so any would stop it on the lent ones too. Pure.
#pragma once

#include <optional>

#include "agent/engine/state.h"

namespace pinion::engine {

// What a container is to have by its resources: its quota, or where that was taken away what its
// shares say. nullopt: it never had one, or nothing says how much.
[[nodiscard]] std::optional<CpuQuota> stated_quota(const Resources& resources);

// As cpu.max has it: "max 100000".
[[nodiscard]] std::string to_string(const CpuQuota& quota);

// Whether its quota is taken away: it has exclusive CPUs, and the runtime's record says how much to
// put back.
[[nodiscard]] bool lifts_quota(const Member& member);

// The same of a container with lent cores, or on those of its pod, whatever its shares say.
[[nodiscard]] bool lifts_quota(const State& state, const Member& member);

// What its files are to say; nullopt: they are of no concern.
[[nodiscard]] std::optional<QuotaTarget> quota_target(const State& state, const Member& member);

// The quota for the runtime's record; nullopt: as it was asked for, also where it is taken away and
// nothing else in the record would say how much to put back: then only the files have none.
[[nodiscard]] std::optional<std::int64_t> told_quota(const Member& member);

}  // namespace pinion::engine
