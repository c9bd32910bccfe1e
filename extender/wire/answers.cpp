#include "extender/wire/answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace pinion::extender::wire {
namespace {

bool plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

// All of them are looked at, so that the compiler takes many at a time.
bool all_plain(std::string_view text) {
  return std::accumulate(text.begin(), text.end(), true,
                         [](bool all, char c) { return all & plain(c); });
}

void append_string(std::string& json, std::string_view text) {
  if (all_plain(text)) {
    const std::size_t size = json.size();
    json.resize(size + text.size() + 2, '"');
    std::copy(text.begin(), text.end(), json.begin() + static_cast<std::ptrdiff_t>(size) + 1);
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
  std::string json;
  json.reserve(ask.names.size() * 48);
  std::size_t next = 0;
  append_list(json, ask.names, [&](std::string_view name) {
    const std::int64_t score = next < answer.scores.size() ? answer.scores[next] : 0;
    ++next;
    json += R"({"Host":)";
    append_string(json, name);
    json += R"(,"Score":)";
    json += std::to_string(std::clamp<std::int64_t>(score, 0, kMaxScore));
    json += '}';
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

}  // namespace pinion::extender::wire
