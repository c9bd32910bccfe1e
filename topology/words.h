// The words by which people and files name the choices of a request: one table for annotations,
// request files and pictures.
#pragma once

#include <array>

#include "base/words.h"
#include "topology/allocate.h"

namespace pinion::topology {

inline constexpr std::array kAlignWords{
    Word<Align>{"l3", Align::kL3}, Word<Align>{"numa", Align::kNuma},
    Word<Align>{"socket", Align::kSocket}, Word<Align>{"none", Align::kNone}};
inline constexpr std::array kStrengthWords{Word<Strength>{"required", Strength::kRequired},
                                           Word<Strength>{"preferred", Strength::kPreferred}};
inline constexpr std::array kSmtWords{
    Word<Smt>{"prefer-full", Smt::kPreferFull}, Word<Smt>{"full-core", Smt::kFullCore},
    Word<Smt>{"one-per-core", Smt::kOnePerCore}, Word<Smt>{"pack", Smt::kPack}};
inline constexpr std::array kMemoryPolicyWords{
    Word<MemoryPolicy>{"bind", MemoryPolicy::kBind},
    Word<MemoryPolicy>{"preferred", MemoryPolicy::kPreferred},
    Word<MemoryPolicy>{"any", MemoryPolicy::kAny}};
inline constexpr std::array kProfileWords{Word<Profile>{"cpu", Profile::kCpu},
                                          Word<Profile>{"memory", Profile::kMemory},
                                          Word<Profile>{"network", Profile::kNetwork}};
// Whether isolated CPUs are asked for.
inline constexpr std::array kIsolationWords{Word<bool>{"none", false},
                                            Word<bool>{"isolated", true}};

}  // namespace pinion::topology
