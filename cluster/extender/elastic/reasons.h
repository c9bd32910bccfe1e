// Why elastic jobs are started, resized or left waiting, in words for their users.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/core/elastic.h"
#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::cluster::elastic {

// "from 4 to 8 workers"
[[nodiscard]] std::string from_to(int before, int workers);

// "its user wishes", or its application. Precondition: there is a wish.
[[nodiscard]] std::string who_wishes(const ElasticObject& job);

// Of a start or an expand. `free`: CPUs that nobody has.
[[nodiscard]] std::string why_more(const ElasticObject& job, int workers, std::int64_t free);
// Of a shrink for another job.
[[nodiscard]] std::string why_fewer(const ElasticObject& job, int workers,
                                    const ElasticObject& other);

// Of a job that waits: `needs` CPUs at least. `other`: the name of wait.for_job.
[[nodiscard]] std::string why_it_waits(const ElasticWait& wait, std::int64_t needs,
                                       const std::string& other);
[[nodiscard]] std::string why_it_never_fits(std::int64_t needs, std::int64_t cpus);
[[nodiscard]] std::string why_it_never_finds_holes(const ElasticObject& job, int workers);
[[nodiscard]] std::string why_it_rests(const ElasticObject& job);
// Of a running job with no rescale under way, that has not what is wished for; empty: it has.
// `free`: CPUs that nobody has, after all that is decided.
[[nodiscard]] std::string why_its_wish_waits(const ElasticObject& job, ElasticPolicy policy,
                                             std::int64_t free, std::int64_t now_ms);
// It could have so many already.
[[nodiscard]] std::string why_it_waits_for_more(int workers);
// Others are about to give what it starts with.
[[nodiscard]] std::string why_not_yet(int workers, std::int64_t needs, std::int64_t free);
// So many pods of a shrink that was to be over long since.
[[nodiscard]] std::string why_it_still_shrinks(int pods);
// It may still act on what it was sent, or has, and does not go on.
[[nodiscard]] std::string why_it_is_left_alone(const ElasticObject& job);

}  // namespace pinion::cluster::elastic
