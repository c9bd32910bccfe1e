// What the elastic policies share.
#pragma once

#include "cluster/core/elastic.h"

namespace pinion::cluster {

// Slots that nobody has or has been promised.
[[nodiscard]] std::int64_t elastic_free(const ElasticView& view);

// The more urgent first: by priority, then by submission.
[[nodiscard]] bool elastic_before(const ElasticJob& a, const ElasticJob& b);

// The most workers, up to its maximum, that so many slots are enough for; 0: not even its minimum.
[[nodiscard]] int workers_for(const ElasticJob& job, std::int64_t slots);

// What it may be left with when another one makes it shrink. `heeds_wish`: the other one may not
// take what is wished for.
[[nodiscard]] int least_workers(const ElasticJob& job, bool heeds_wish);

[[nodiscard]] ElasticDecision decide_as_paper(ElasticPolicy policy, const ElasticView& view);
[[nodiscard]] ElasticDecision decide_ours(const ElasticView& view, const ElasticKnobs& knobs);

}  // namespace pinion::cluster
