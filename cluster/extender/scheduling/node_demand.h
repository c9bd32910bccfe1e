// Which nodes a pod may use by its own word: nodeSelector, required node affinity, tolerations; and
// a node as the API server tells it. By kube-scheduler's rules.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/core/node_terms.h"

namespace pinion::cluster {

// Of labels, or of the field metadata.name.
struct NodeRequirement {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
  std::vector<std::string> values;

  auto operator<=>(const NodeRequirement&) const = default;  // NOLINT(modernize-use-nullptr)
};

// All of it must hold; of one without requirements nothing does.
struct NodeTerm {
  std::vector<NodeRequirement> labels;
  std::vector<NodeRequirement> fields;

  auto operator<=>(const NodeTerm&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Toleration {
  std::string key;     // empty, with "Exists": of all taints
  std::string op;      // "Equal" or empty, "Exists"
  std::string value;   // with "Equal"
  std::string effect;  // empty: of all

  auto operator<=>(const Toleration&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct NodeDemand {
  std::map<std::string, std::string> selector;
  std::optional<std::vector<NodeTerm>> affinity;  // one of them must hold; nullopt: none is needed
  // But for those that the API server gives to all pods: they open no node for new ones.
  std::vector<Toleration> tolerations;

  auto operator<=>(const NodeDemand&) const = default;  // NOLINT(modernize-use-nullptr)
  [[nodiscard]] bool empty() const { return selector.empty() && !affinity && tolerations.empty(); }
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule" or "NoExecute": others keep no pods away

  bool operator==(const Taint&) const = default;
};

struct NodeView {
  std::string name;
  std::vector<Taint> taints{};  // a cordon is one, too
  std::map<std::string, std::string> labels{};
  ResourceList allocatable = kPlenty;
};

// A node's labels in one text, as there are many nodes: "KEY=VALUE\n" of each.
class Labels {
 public:
  Labels() = default;
  explicit Labels(const std::map<std::string, std::string>& labels);

  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const;

  bool operator==(const Labels&) const = default;

 private:
  std::string text_;
};

// What is not understood rules no node out: the scheduler will.
[[nodiscard]] bool tolerates(const NodeDemand& demand, const std::vector<Taint>& taints);
// By selector and affinity.
[[nodiscard]] bool selects(const NodeDemand& demand, std::string_view node, const Labels& labels);

}  // namespace pinion::cluster
