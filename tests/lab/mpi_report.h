// What the demo says of the rounds: pure functions from runs to values and text.
#pragma once

#include <string>

#include "ctl/compare/comparison.h"
#include "tests/lab/mpi_rounds.h"

namespace pinion::lab {

// A: pinned, B: unpinned; one value for each round. What was measured in no round is left out.
ctl::Comparison comparison_of(const Rounds& rounds);

// One line of a round on its way.
std::string progress_text(int round, bool pinned, const MpiRun& run);

// What the table means, in a few sentences: the run time of both beside that of the program alone,
// whether there is a difference, or that others used the machine too much to say so, and what is
// not shown. At least one round of each.
std::string meaning_of(const Rounds& rounds, const MpiJob& job);

}  // namespace pinion::lab
