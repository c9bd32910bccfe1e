// Numbers of nodes as objects of the API server: Jobs that nobody but us makes pods for.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "cluster/slurm/action.h"
#include "cluster/slurm/node_count.h"
#include "cluster/slurm/pod_json.h"

namespace pinion::slurm {

[[nodiscard]] nlohmann::json job_object(const PodTemplate& all, const Ask& ask);

// What the API server made of it has us as its controller. One before 1.32 forgets that, and would
// make pods of its own.
[[nodiscard]] bool is_ours(const nlohmann::json& job);

// nullopt for what is none of this cluster.
[[nodiscard]] std::optional<NodeCount> node_count_of(const PodTemplate& all,
                                                     const nlohmann::json& job);

// Merge patches, the first for its subresource `status`.
[[nodiscard]] nlohmann::json patch_of(const Report& report);
[[nodiscard]] nlohmann::json patch_of(const Acknowledge& acknowledge);

}  // namespace pinion::slurm
