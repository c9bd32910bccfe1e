#include "cluster/extender/wire/answers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace pinion::cluster::wire {
namespace {

// By byte: whether it stands in a JSON string as it is.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool all_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](std::uint8_t c) { return kPlain[c]; });
}

void append_string(std::string& json, std::string_view text) {
  if (all_plain(text)) {
    json += '"';
    json += text;
    json += '"';
    return;
  }
  json += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "NAME": with a comma before it unless it is the first.
void append_key(std::string& json, std::string_view name) {
  if (json.back() != '{') json += ',';
  append_string(json, name);
  json += ':';
}

template <class List, class Each>
void append_list(std::string& json, const List& list, const Each& each) {
  json += '[';
  bool first = true;
  for (const auto& one : list) {
    if (!first) json += ',';
    first = false;
    each(one);
  }
  json += ']';
}

void append_refusals(std::string& json, const std::vector<FilterAnswer::Refusal>& refusals,
                     const FilterAsk& ask, const std::vector<std::string>& reasons) {
  json += '{';
  for (const FilterAnswer::Refusal& refusal : refusals) {
    append_key(json, ask.names.at(refusal.node));
    json += reasons.at(refusal.reason);
  }
  json += '}';
}

void append_nodes(std::string& json, const FilterAnswer& answer, const FilterAsk& ask) {
  if (ask.form == NodeForm::kNames) {
    append_key(json, "NodeNames");
    append_list(json, answer.nodes,
                [&](std::size_t node) { append_string(json, ask.names.at(node)); });
    return;
  }
  append_key(json, "Nodes");
  json += R"({"metadata":{},"items":)";
  append_list(json, answer.nodes, [&](std::size_t node) { json += ask.objects.at(node).json; });
  json += '}';
}

// Room for an answer that names all nodes, so that it is written without moving.
std::size_t guess(const FilterAnswer& answer, const FilterAsk& ask) {
  constexpr std::size_t around = 8;  // quotes, colon, comma, brackets
  std::size_t bytes = 256;
  for (const std::string_view name : ask.names) bytes += name.size() + around;
  for (const NodeObject& node : ask.objects) bytes += node.json.size();
  for (const auto* list : {&answer.failed, &answer.unresolvable}) {
    for (const FilterAnswer::Refusal& one : *list) {
      bytes += answer.reasons.at(one.reason).size() + around;
    }
  }
  return bytes;
}

// The texts as they stand in the answer: few, and needed for many nodes.
std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) append_string(result.emplace_back(), text);
  return result;
}

std::string error_json(std::string_view error) {
  std::string json = "{";
  append_key(json, "Error");
  append_string(json, error);
  json += '}';
  return json;
}

}  // namespace

std::string to_json(const FilterAnswer& answer, const FilterAsk& ask) {
  if (!answer.error.empty()) return error_json(answer.error);
  const std::vector<std::string> reasons = quoted(answer.reasons);
  std::string json;
  json.reserve(guess(answer, ask));
  json += '{';
  append_nodes(json, answer, ask);
  append_key(json, "FailedNodes");
  append_refusals(json, answer.failed, ask, reasons);
  append_key(json, "FailedAndUnresolvableNodes");
  append_refusals(json, answer.unresolvable, ask, reasons);
  json += R"(,"Error":""})";
  return json;
}

std::string to_json(const PrioritizeAnswer& answer, const FilterAsk& ask) {
  std::array<std::string, kMaxScore + 1> ends;  // by score
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = R"(,"Score":)" + std::to_string(i) + '}';
  std::string json;
  json.reserve(ask.names.size() * 48);
  std::size_t next = 0;
  append_list(json, ask.names, [&](std::string_view name) {
    const std::int64_t score = next < answer.scores.size() ? answer.scores[next] : 0;
    ++next;
    json += R"({"Host":)";
    append_string(json, name);
    json += ends[static_cast<std::size_t>(std::clamp<std::int64_t>(score, 0, kMaxScore))];
  });
  return json;
}

std::string to_json(const BindAnswer& answer) {
  return error_json(answer.error);
}

// Pod objects are not sent back: the scheduler takes uids in answer to either form.
std::string to_json(const PreemptAnswer& answer) {
  std::string json = R"({"NodeNameToMetaVictims":{)";
  for (const Victims& victims : answer.nodes) {
    append_key(json, victims.node);
    json += R"({"Pods":)";
    append_list(json, victims.uids, [&](const std::string& uid) {
      json += R"({"UID":)";
      append_string(json, uid);
      json += '}';
    });
    json += R"(,"NumPDBViolations":)";
    json += std::to_string(victims.pdb_violations);
    json += '}';
  }
  json += "}}";
  return json;
}

}  // namespace pinion::cluster::wire
