#include "cluster/extender/wire/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/extender_wire/captured.h"

namespace pinion::cluster::wire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A body around a good pod.
std::string body(const std::string& rest) {
  return R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}},)" + rest + "}";
}

// --- what a scheduler has sent
// -------------------------------------------------------------------

TEST(Captured, FilterWithNames) {
  Reader reader;
  const auto ask = reader.filter(captured("filter_names"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->form, NodeForm::kNames);
  EXPECT_THAT(ask->names, ElementsAre("node-1", "node-2", "node-0"));
  PodSpecView pod;
  pod.uid = "7870bd56-ea79-4ce5-b63e-dc0fbed7f573";
  pod.name_space = "default";
  pod.name = "t1";
  pod.created_ms = 1'795'301'867'000;
  pod.scheduler_name = "default-scheduler";
  pod.phase = "Pending";
  pod.qos = policy::Qos::kGuaranteed;
  const Amounts amounts{.cpu_milli = 1000, .memory_bytes = 64 << 20};
  pod.containers = {
      {.name = "c", .kind = ContainerView::Kind::kMain, .resources = {amounts, amounts}}};
  EXPECT_EQ(ask->pod, pod);
  EXPECT_EQ(qos_by_resources(ask->pod), ask->pod.qos);
}

TEST(Captured, FilterForANominatedNode) {
  Reader reader;
  const auto ask = reader.filter(captured("filter_nominated"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->pod.priority, 1000);
  EXPECT_THAT(ask->names, ElementsAre("node-1"));
}

TEST(Captured, FilterWithObjects) {
  const std::string text = captured("filter_objects");
  Reader reader;
  const auto ask = reader.filter(text);
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->form, NodeForm::kObjects);
  const auto items = nlohmann::json::parse(text)["Nodes"]["items"];
  ASSERT_EQ(ask->names.size(), items.size());
  ASSERT_EQ(ask->objects.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const NodeObject& node = ask->objects[i];
    EXPECT_EQ(ask->names[i], items[i]["metadata"]["name"]);
    EXPECT_EQ(nlohmann::json::parse(node.json), items[i]);
    EXPECT_NE(text.find(node.json), std::string::npos) << "not byte for byte";
    std::map<std::string, std::string> labels;
    for (const Label& label : node.labels) labels.emplace(label.name, label.value);
    EXPECT_EQ(nlohmann::json(labels), items[i]["metadata"]["labels"]);
  }
}

TEST(Captured, Bind) {
  Reader reader;
  const auto ask = reader.bind(captured("bind"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(*ask, (BindAsk{.pod_uid = "7870bd56-ea79-4ce5-b63e-dc0fbed7f573",
                           .pod_namespace = "default",
                           .pod_name = "t1",
                           .node = "node-2"}));
}

TEST(Captured, PreemptWithUids) {
  Reader reader;
  const auto ask = reader.preempt(captured("preempt_uids"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->pod.name, "hi");
  EXPECT_THAT(ask->nodes,
              ElementsAre(Victims{"node-0", {"b7c4f276-2415-4286-bf9a-64f3d0716b03"}, 0},
                          Victims{"node-1", {"4dcbaa4e-b048-4a86-886e-3cdc2fb00086"}, 0},
                          Victims{"node-2", {"014d1c0c-7886-4d5b-8ca4-e04d10a72395"}, 0}));
}

TEST(Captured, PreemptWithObjects) {
  const std::string text = captured("preempt_objects");
  Reader reader;
  const auto ask = reader.preempt(text);
  ASSERT_TRUE(ask) << ask.error().text;
  const auto nodes = nlohmann::json::parse(text)["NodeNameToVictims"];
  ASSERT_EQ(ask->nodes.size(), nodes.size());
  for (const Victims& victims : ask->nodes) {
    const auto& node = nodes.at(victims.node);
    ASSERT_EQ(victims.uids.size(), node["Pods"].size());
    EXPECT_EQ(victims.uids.at(0), node["Pods"][0]["metadata"]["uid"]);
    EXPECT_EQ(victims.pdb_violations, node["NumPDBViolations"]);
  }
}

// Cut anywhere, a body is an error and nothing worse; the sanitizers look on.
TEST(Captured, CutBodiesAreRefused) {
  for (const char* name : {"filter_names", "filter_objects", "preempt_objects"}) {
    const std::string text = captured(name);
    Reader reader;
    for (std::size_t size = 0; size < text.size(); size += 7) {
      const auto filter = reader.filter(text.substr(0, size));
      EXPECT_FALSE(filter) << name << " cut at " << size;
      EXPECT_FALSE(reader.preempt(text.substr(0, size))) << name << " cut at " << size;
    }
  }
}

// --- forms of them
// --------------------------------------------------------------------------------

TEST(Reader, TakesKeysInAnyCase) {
  Reader reader;
  const auto ask = reader.filter(
      R"({"pod":{"METADATA":{"Name":"p","nameSpace":"n","UID":"u"}},"nodenames":["a"]})");
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->pod.name_space, "n");
  EXPECT_THAT(ask->names, ElementsAre("a"));
}

TEST(Reader, TakesEscapedKeysAndNames) {
  Reader reader;
  const auto ask = reader.filter(body(R"("\u004eodeNames":["\u00e4\n\"x\\"])"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_THAT(ask->names, ElementsAre("\u00e4\n\"x\\"));
}

TEST(Reader, PrefersNamesWhereBothAreThere) {
  Reader reader;
  const auto ask =
      reader.filter(body(R"("NodeNames":["a"],"Nodes":{"items":[{"metadata":{"name":"b"}}]})"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->form, NodeForm::kNames);
  EXPECT_THAT(ask->names, ElementsAre("a"));
}

TEST(Reader, TakesNoNodes) {
  Reader reader;
  EXPECT_TRUE(reader.filter(body(R"("NodeNames":[])"))->names.empty());
  const auto ask = reader.filter(body(R"("NodeNames":null,"Nodes":{"items":null})"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_EQ(ask->form, NodeForm::kObjects);
  EXPECT_TRUE(ask->names.empty());
}

TEST(Reader, KeepsObjectsWithoutTheBlanksAround) {
  Reader reader;
  const auto ask = reader.filter(body(
      R"("Nodes" : { "items" : [ { "metadata" : { "name" : "a" } , "x":[1, 2] } , )"
      "\n"
      R"({"spec":{"metadata":{"name":"no"}},"metadata":{"name":"b","labels":{"k":"v","":""}}}  ] } )"));
  ASSERT_TRUE(ask) << ask.error().text;
  ASSERT_THAT(ask->names, ElementsAre("a", "b"));
  EXPECT_EQ(ask->objects[0].json, R"({ "metadata" : { "name" : "a" } , "x":[1, 2] })");
  EXPECT_THAT(ask->objects[1].json, testing::EndsWith(R"("labels":{"k":"v","":""}}})"));
  EXPECT_THAT(ask->objects[1].labels, ElementsAre(Label{"k", "v"}, Label{"", ""}));
}

TEST(Reader, SkipsWhatIsDeep) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  Reader reader;
  const auto ask = reader.filter(body(R"("Other":)" + deep + R"(,"NodeNames":["a"])"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_THAT(ask->names, ElementsAre("a"));
}

TEST(Reader, PrefersUidsWhereBothAreThere) {
  Reader reader;
  const auto ask = reader.preempt(body(
      R"("NodeNameToVictims":{"b":{}},"NodeNameToMetaVictims":{"a":{"Pods":null,"NumPDBViolations":3}})"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_THAT(ask->nodes, ElementsAre(Victims{"a", {}, 3}));
}

TEST(Reader, TakesPreemptionWithoutNodes) {
  Reader reader;
  const auto ask = reader.preempt(body(R"("NodeNameToVictims":null)"));
  ASSERT_TRUE(ask) << ask.error().text;
  EXPECT_TRUE(ask->nodes.empty());
}

TEST(Reader, OneReaderTakesManyBodies) {
  Reader reader;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(reader.filter(captured("filter_objects")));
    EXPECT_FALSE(reader.filter("{"));
    EXPECT_TRUE(reader.bind(captured("bind")));
  }
  EXPECT_GT(reader.kept_bytes(), 7027U);
  EXPECT_LT(reader.kept_bytes(), 20U * 7027U);
}

// --- errors
// --------------------------------------------------------------------------------------

enum class Verb { kFilter, kBind, kPreempt };

struct BadCase {
  const char* name;
  Verb verb;
  std::string body;
  const char* says;
};

class BadBody : public testing::TestWithParam<BadCase> {};

std::string error_of(Verb verb, const std::string& text) {
  Reader reader;
  const auto said = [](const auto& result) { return result ? "" : result.error().text; };
  switch (verb) {
    case Verb::kFilter:
      return said(reader.filter(text));
    case Verb::kBind:
      return said(reader.bind(text));
    default:
      return said(reader.preempt(text));
  }
}

TEST_P(BadBody, IsRefusedAndSaysWhere) {
  EXPECT_THAT(error_of(GetParam().verb, GetParam().body), HasSubstr(GetParam().says));
}

const std::string kPod = R"("Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}})";
constexpr auto kFilter = Verb::kFilter;
constexpr auto kPreempt = Verb::kPreempt;

INSTANTIATE_TEST_SUITE_P(
    Filters, BadBody,
    testing::Values(
        BadCase{"empty", kFilter, "", "body: broken JSON"},
        BadCase{"blank", kFilter, "  ", "body: broken JSON"},
        BadCase{"a_number", kFilter, "7", "body: not an object"},
        BadCase{"null", kFilter, "null", "body: not an object"},
        BadCase{"a_list", kFilter, "[]", "body: not an object"},
        BadCase{"words", kFilter, "hello", "body: "},
        BadCase{"half", kFilter, R"({"Pod":{)", "broken JSON"},
        BadCase{"open_string", kFilter, R"({"Pod":"x)", "body: broken JSON"},
        BadCase{"no_utf8", kFilter, "{\"\xFF\":1}", "body: broken JSON"},
        BadCase{"more_behind", kFilter, body(R"("NodeNames":[])") + "{}",
                "body: broken JSON at byte"},
        BadCase{"no_colon", kFilter, R"({"Pod" {}})", "broken JSON at byte"},
        BadCase{"no_pod", kFilter, R"({"NodeNames":["a"]})", "Pod: missing"},
        BadCase{"pod_is_null", kFilter, R"({"Pod":null,"NodeNames":["a"]})", "Pod: missing"},
        BadCase{"pod_is_text", kFilter, R"({"Pod":"p","NodeNames":["a"]})", "Pod: not an object"},
        BadCase{"no_uid", kFilter,
                R"({"Pod":{"metadata":{"name":"p","namespace":"n"}},"NodeNames":[]})",
                "Pod.metadata.uid: missing"},
        BadCase{"no_name", kFilter,
                R"({"Pod":{"metadata":{"uid":"p","namespace":"n"}},"NodeNames":[]})",
                "Pod.metadata.name: missing"},
        BadCase{"no_namespace", kFilter,
                R"({"Pod":{"metadata":{"uid":"p","name":"n"}},"NodeNames":[]})",
                "Pod.metadata.namespace: missing"},
        BadCase{"no_nodes", kFilter, "{" + kPod + "}", "body: neither NodeNames nor Nodes"},
        BadCase{"nodes_null", kFilter, body(R"("NodeNames":null,"Nodes":null)"),
                "body: neither NodeNames nor Nodes"},
        BadCase{"names_no_list", kFilter, body(R"("NodeNames":"a")"), "NodeNames: not a list"},
        BadCase{"name_no_string", kFilter, body(R"("NodeNames":["a","b","c",4])"),
                "NodeNames[3]: not a string"},
        BadCase{"name_empty", kFilter, body(R"("NodeNames":["a",""])"), "NodeNames[1]: empty"},
        BadCase{"name_null", kFilter, body(R"("NodeNames":[null])"), "NodeNames[0]: empty"},
        BadCase{"bad_escape", kFilter, body(R"("NodeNames":["a\x"])"), "NodeNames[0]: broken JSON"},
        BadCase{"item_no_object", kFilter, body(R"("Nodes":{"items":[[]]})"),
                "Nodes.items[0]: not an object"},
        BadCase{"node_without_name", kFilter, body(R"("Nodes":{"items":[{"metadata":{}}]})"),
                "Nodes.items[0].metadata.name: missing"},
        BadCase{"label_no_string", kFilter,
                body(R"("Nodes":{"items":[{"metadata":{"name":"a","labels":{"x":1}}}]})"),
                "Nodes.items[0].metadata.labels[x]: not a string"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Binds, BadBody,
    testing::Values(
        BadCase{"bind_no_object", Verb::kBind, "[]", "body: not an object"},
        BadCase{"bind_no_uid", Verb::kBind, R"({"PodName":"a","PodNamespace":"b","Node":"n"})",
                "PodUID: missing"},
        BadCase{"bind_no_node", Verb::kBind,
                R"({"PodName":"a","PodNamespace":"b","PodUID":"u","Node":""})", "Node: missing"},
        BadCase{"bind_number", Verb::kBind, R"({"PodName":1})", "PodName: not a string"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Preempts, BadBody,
    testing::Values(BadCase{"preempt_no_pod", kPreempt, "{}", "Pod: missing"},
                    BadCase{"victims_list", kPreempt, body(R"("NodeNameToMetaVictims":[])"),
                            "NodeNameToMetaVictims: not an object"},
                    BadCase{"victim_without_uid", kPreempt,
                            body(R"("NodeNameToMetaVictims":{"node-a":{"Pods":[{"UID":"x"},{}]}})"),
                            "NodeNameToMetaVictims[node-a].Pods[1].UID: missing"},
                    BadCase{"victim_pod_without_uid", kPreempt,
                            body(R"("NodeNameToVictims":{"node-a":{"Pods":[{"metadata":{}}]}})"),
                            "NodeNameToVictims[node-a].Pods[0].metadata.uid: missing"},
                    BadCase{"violations_text", kPreempt,
                            body(R"("NodeNameToMetaVictims":{"a":{"NumPDBViolations":"0"}})"),
                            "NodeNameToMetaVictims[a].NumPDBViolations: not an integer"}),
    [](const auto& one) { return one.param.name; });

TEST(Reader, ErrorsStayShort) {
  const std::string key(100'000, 'x');
  const std::string text =
      error_of(kPreempt, body(R"("NodeNameToMetaVictims":{")" + key + R"(":1})"));
  EXPECT_THAT(text, AllOf(HasSubstr("not an object"), HasSubstr("xxx")));
  EXPECT_LT(text.size(), 300U);
}

}  // namespace
}  // namespace pinion::cluster::wire
