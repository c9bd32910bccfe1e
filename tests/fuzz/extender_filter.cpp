// The body of filter and prioritize takes any bytes; what is accepted can be answered, and the
// answer is JSON wherever the body was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_filter {
namespace {

namespace wire = pinion::cluster::wire;

wire::FilterAnswer some_taken(const wire::FilterAsk& ask) {
  wire::FilterAnswer answer{
      .nodes = {}, .failed = {}, .unresolvable = {}, .reasons = {"why"}, .error = {}};
  for (std::size_t i = 0; i < ask.names.size(); ++i) {
    if (i % 2 == 0) {
      answer.nodes.push_back(i);
    } else {
      answer.failed.push_back({.node = i, .reason = 0});
    }
  }
  return answer;
}

}  // namespace

PINION_FUZZ_TARGET(extender_filter) {
  using nlohmann::json;
  const std::string text(reinterpret_cast<const char*>(data), size);
  wire::Reader reader;
  const auto ask = reader.filter(text);
  if (!ask) {
    if (ask.error().text.empty() || ask.error().text.size() > 1000) std::abort();
    return 0;
  }
  if (ask->pod.uid.empty() || ask->pod.qos == pinion::policy::Qos::kUnknown) std::abort();
  const bool whole = ask->form == wire::NodeForm::kObjects;
  if (ask->objects.size() != (whole ? ask->names.size() : 0)) std::abort();
  for (const auto name : ask->names) {
    if (name.empty()) std::abort();
  }
  for (const wire::NodeObject& node : ask->objects) {
    if (node.json.empty()) std::abort();
  }
  // simdjson does not look into what is skipped, so an echoed node may be as broken as it came.
  const bool sound = json::accept(text);
  const std::string filtered = to_json(some_taken(*ask), *ask);
  if ((sound || ask->form == wire::NodeForm::kNames) && !json::accept(filtered)) std::abort();
  if (!json::accept(to_json(wire::PrioritizeAnswer{{11}}, *ask))) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_filter
