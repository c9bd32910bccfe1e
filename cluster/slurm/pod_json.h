// Placeholders as objects of the API server.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cluster/slurm/action.h"
#include "cluster/slurm/placeholder.h"

namespace pinion::slurm {

// What is the same for all placeholders of one Slurm.
struct PodTemplate {
  std::string name_space = "default";
  std::string cluster = "slurm";
  std::string image = "registry.k8s.io/pause:3.10";  // that sleeps
  std::string lend_to;               // POD/CONTAINER that gets the cores, POD may end in *
  std::string node_name = "{node}";  // Slurm's name of a Kubernetes node
  std::string scheduler;             // empty: the default one
  std::string priority_class;        // empty: none
  bool required = false;             // the cores must lie in one NUMA node
  bool gates = true;                 // gangs wait at the extender's gate
  std::map<std::string, std::string> node_labels = {};   // of nodes with a Slurm
  nlohmann::json tolerations = nlohmann::json::array();  // of these nodes' taints
};

// Of a placeholder, wherever it goes.
[[nodiscard]] nlohmann::json placeholder_spec(const PodTemplate& all, const Shape& shape);
[[nodiscard]] nlohmann::json placeholder_labels(const PodTemplate& all, std::uint32_t job,
                                                const std::string& attempt);
[[nodiscard]] nlohmann::json pod_object(const PodTemplate& all, const Create& wanted);

// nullopt for what is no placeholder of this cluster.
[[nodiscard]] std::optional<Placeholder> placeholder_of(const PodTemplate& all,
                                                        const nlohmann::json& pod);

// The name of a Kubernetes node in Slurm, and back; the latter is empty for a name that is not made
// so.
[[nodiscard]] std::string slurm_node(const PodTemplate& all, const std::string& node);
[[nodiscard]] std::string kubernetes_node(const PodTemplate& all, const std::string& node);

}  // namespace pinion::slurm
