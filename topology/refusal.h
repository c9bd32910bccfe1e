// What may be given away at all, and why a request was refused; internal to the allocator. A
// refusal is slow against a decision: it asks one "what if" after another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/space.h"

namespace pinion::topology {

// The CPUs that this request may be given, in the order in which they are tried: isolated ones
// where it asks for them, then ordinary ones. Never both in one container: the kernel does not
// balance load onto isolated CPUs.
[[nodiscard]] std::vector<CpuSet> pools_of(const Topology& topology, const CpuSet& free,
                                           bool use_isolated);

// The CPUs of which one at least must be left to everybody else: the ordinary ones that nobody
// holds (isolated ones on a machine that has no others). nullopt: reserved CPUs are left to them.
[[nodiscard]] std::optional<CpuSet> shared_cpus(const Topology& topology, const Ledger& ledger);

// The most units of one domain that leave a shared CPU. Precondition as for the parameters:
// `shared` is what shared_cpus() gives.
[[nodiscard]] int most_units(const Topology& topology, const Space& space, Align align,
                             Index domain, const std::optional<CpuSet>& shared);

// How many CPUs of a request a claim on these stands for.
[[nodiscard]] int units_of(const Topology& topology, const CpuSet& held, Smt smt);

// At least one CPU, and a device that exists if one is named: all else depends on the machine's
// size and on what is free.
[[nodiscard]] bool is_sound(const Topology& topology, const Request& request);

// Whatever is free.
[[nodiscard]] Refusal refuse(const Request& request, Reason reason, std::string text);

// Precondition: the request was found not to fit. `own` is the claim that was to grow (nullptr:
// none), `only` the domain in which it had to.
[[nodiscard]] Refusal refuse(const Topology& topology, const Ledger& ledger, const Request& request,
                             const Claim* own, std::optional<Place> only);

}  // namespace pinion::topology
