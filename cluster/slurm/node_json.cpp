#include "cluster/slurm/node_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/slurm/answer_json.h"

namespace pinion::slurm {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

// States of a node, and flags beside them, in which jobs start on it.
constexpr std::array<std::string_view, 3> kServing = {"IDLE", "MIXED", "ALLOCATED"};
constexpr std::array<std::string_view, 5> kHarmless = {"COMPLETING", "CLOUD", "DYNAMIC_NORM",
                                                       "PLANNED", "RESERVED"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// 22.05 writes the state in small letters and the flags in a list beside it, later versions all in
// one list.
std::vector<std::string> states_of(const json& node) {
  std::vector<std::string> states = words_of(json_at(node, "state"));
  for (std::string& flag : words_of(json_at(node, "state_flags"))) {
    states.push_back(std::move(flag));
  }
  for (std::string& state : states) {
    for (char& c : state) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return states;
}

std::string why_out(const json& node) {
  const std::vector<std::string> states = states_of(node);
  const bool serves = std::any_of(states.begin(), states.end(),
                                  [](const std::string& state) { return among(kServing, state); });
  const bool well = std::all_of(states.begin(), states.end(), [](const std::string& state) {
    return among(kServing, state) || among(kHarmless, state);
  });
  if (serves && well) return "";
  std::string why = states.empty() ? "of no known state" : joined(states, "+");
  const std::string reason = json_text(node, "reason");
  return reason.empty() ? why : why + " (" + reason + ")";
}

}  // namespace

Result<std::vector<Node>> read_nodes(std::string_view text) {
  const auto list = list_of_answer(text, "nodes");
  if (!list) return failure(list.error());
  std::vector<Node> nodes;
  nodes.reserve(list->size());
  for (const json& one : *list) {
    Node node;
    node.name = json_text(one, "name");
    node.out = why_out(one);
    for (std::string& feature : words_of(json_at(one, "active_features"))) {
      node.features.insert(std::move(feature));
    }
    node.partitions = words_of(json_at(one, "partitions"));
    if (!node.name.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace pinion::slurm
