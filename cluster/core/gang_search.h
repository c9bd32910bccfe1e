// Improves a draft within a number of steps; internal to gang_plan.
#pragma once

#include "cluster/core/gang_draft.h"

namespace pinion::cluster {

// Takes groups off again (of a gang of one group: what lies on one node), one or two at a time
// together with all members that have no node yet, and places them in another order; keeps what is
// better. Ends when nothing helps any more or the draft has asked the allocator `steps` times more;
// a trial that has begun is finished. Returns how often it asked.
int improve(Draft& draft, int steps);

}  // namespace pinion::cluster
