// Properties of what is read from kube-scheduler and written to it, beside nlohmann's own view.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster::wire {
namespace {

using nlohmann::json;

// Names as text of any characters, each once.
std::vector<std::string> random_names() {
  const auto numbers = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(0, 1000));
  std::vector<std::string> names;
  for (const int number : numbers) {
    const std::string odd = *rc::gen::element<std::string>("", "\"", "\\", "\n", "\u00e9", "/");
    names.push_back("node" + odd + std::to_string(number));
  }
  return names;
}

json pod() {
  return {{"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}}};
}

std::string body_with(const std::vector<std::string>& names, NodeForm form) {
  json body{{"Pod", pod()}, {"NodeNames", nullptr}, {"Nodes", nullptr}};
  if (form == NodeForm::kNames) {
    body["NodeNames"] = names;
  } else {
    json items = json::array();
    for (const std::string& name : names) {
      items.push_back({{"metadata", {{"name", name}, {"labels", {{"l", name}}}}}});
    }
    body["Nodes"] = {{"metadata", json::object()}, {"items", items}};
  }
  return body.dump(*rc::gen::element(-1, 2));
}

// Each node is taken, refused or refused for good.
FilterAnswer random_answer(std::size_t nodes) {
  FilterAnswer answer;
  answer.reasons = {"first", *rc::gen::arbitrary<std::string>()};
  for (std::size_t node = 0; node < nodes; ++node) {
    const FilterAnswer::Refusal refusal{node, *rc::gen::inRange<std::size_t>(0, 2)};
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        answer.nodes.push_back(node);
        break;
      case 1:
        answer.failed.push_back(refusal);
        break;
      default:
        answer.unresolvable.push_back(refusal);
    }
  }
  return answer;
}

// A text as it comes back from JSON, whose writer replaces what is no UTF-8.
json readable(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

void check_refusals(const json& written, const std::vector<FilterAnswer::Refusal>& refusals,
                    const FilterAnswer& answer, const std::vector<std::string>& names) {
  RC_ASSERT(written.size() == refusals.size());
  for (const auto& refusal : refusals) {
    RC_ASSERT(written.at(names[refusal.node]) == readable(answer.reasons[refusal.reason]));
  }
}

RC_GTEST_PROP(ExtenderWire, FilterAnswersSayWhatWasDecided, ()) {
  const auto names = random_names();
  const auto form = *rc::gen::element(NodeForm::kNames, NodeForm::kObjects);
  const std::string body = body_with(names, form);
  Reader reader;
  const auto ask = reader.filter(body);
  RC_ASSERT(ask.has_value());
  RC_ASSERT(ask->form == form);
  RC_ASSERT(ask->names.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) RC_ASSERT(ask->names[i] == names[i]);

  const FilterAnswer answer = random_answer(names.size());
  const json written = json::parse(to_json(answer, *ask));
  check_refusals(written.at("FailedNodes"), answer.failed, answer, names);
  check_refusals(written.at("FailedAndUnresolvableNodes"), answer.unresolvable, answer, names);
  json taken = json::array();
  for (const std::size_t node : answer.nodes) {
    taken.push_back(form == NodeForm::kNames ? json(names[node])
                                             : json::parse(body)["Nodes"]["items"][node]);
  }
  RC_ASSERT((form == NodeForm::kNames ? written.at("NodeNames")
                                      : written.at("Nodes").at("items")) == taken);
}

RC_GTEST_PROP(ExtenderWire, ScoresStandBesideTheirNodes, ()) {
  const auto names = random_names();
  const std::string body = body_with(names, NodeForm::kNames);
  Reader reader;
  const auto ask = reader.filter(body);
  RC_ASSERT(ask.has_value());
  const PrioritizeAnswer answer{*rc::gen::container<std::vector<std::int64_t>>(
      names.size(), rc::gen::inRange<std::int64_t>(-5, 16))};
  const json written = json::parse(to_json(answer, *ask));
  RC_ASSERT(written.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    RC_ASSERT(written[i].at("Host") == names[i]);
    RC_ASSERT(written[i].at("Score") == std::clamp<std::int64_t>(answer.scores[i], 0, 10));
  }
}

// What preempt is asked with uids is what its answer says, read back.
RC_GTEST_PROP(ExtenderWire, PreemptAnswersReadBackAsAsks, ()) {
  PreemptAnswer answer;
  for (const std::string& name : random_names()) {
    answer.nodes.push_back({.node = name,
                            .uids = *rc::gen::container<std::vector<std::string>>(
                                rc::gen::nonEmpty(rc::gen::string<std::string>())),
                            .pdb_violations = *rc::gen::arbitrary<std::int64_t>()});
    for (std::string& uid : answer.nodes.back().uids) uid = readable(uid).get<std::string>();
  }
  std::string body = to_json(answer);
  body.insert(1, "\"Pod\":" + pod().dump() + ",");
  Reader reader;
  const auto ask = reader.preempt(body);
  RC_ASSERT(ask.has_value());
  RC_ASSERT(ask->nodes == answer.nodes);
}

RC_GTEST_PROP(ExtenderWire, BindAsksAreReadAsWritten, ()) {
  const auto text = [] {
    return readable(*rc::gen::nonEmpty(rc::gen::string<std::string>())).get<std::string>();
  };
  const BindAsk expected{text(), text(), text(), text()};
  const json body{{"PodUID", expected.pod_uid},
                  {"PodNamespace", expected.pod_namespace},
                  {"PodName", expected.pod_name},
                  {"Node", expected.node}};
  Reader reader;
  const auto ask = reader.bind(body.dump());
  RC_ASSERT(ask.has_value());
  RC_ASSERT(*ask == expected);
}

// n thousandths, written in the ways in which Kubernetes writes them.
RC_GTEST_PROP(ExtenderWire, QuantitiesKeepTheirValue, ()) {
  const auto milli = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  const std::int64_t whole = milli / 1000 + (milli % 1000 > 0 ? 1 : 0) - (milli % 1000 < 0 ? 1 : 0);
  const std::string digits = std::to_string(milli);
  for (const std::string& text : {digits + "m", digits + "000u", digits + "e-3", digits + "E-3"}) {
    RC_ASSERT(milli_quantity(text).value() == milli);
    RC_ASSERT(whole_quantity(text).value() == whole);
  }
}

}  // namespace
}  // namespace pinion::cluster::wire
