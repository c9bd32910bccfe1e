// Which nodes a pod may use by its own word.
#include "cluster/extender/scheduling/node_demand.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

TEST(Labels, AreFoundByTheirWholeKey) {
  const Labels labels(
      {{"a", ""}, {"zone", "z1"}, {"zone/x", "2"}, {"longer-zone", "z3"}, {"k8s.io/n", "=odd"}});
  EXPECT_EQ(labels.find("zone"), "z1");
  EXPECT_EQ(labels.find("zone/x"), "2");
  EXPECT_EQ(labels.find("a"), "");
  EXPECT_EQ(labels.find("k8s.io/n"), "=odd");
  EXPECT_EQ(labels.find("one"), std::nullopt);
  EXPECT_EQ(labels.find("zon"), std::nullopt);
  EXPECT_EQ(Labels().find("zone"), std::nullopt);
}

struct TaintCase {
  const char* name;
  std::vector<Toleration> tolerations;
  Taint taint;
  bool tolerated;
};
const Taint kGpu{.key = "gpu", .value = "a100", .effect = "NoSchedule"};
const TaintCase kTaints[] = {
    {"nothing", {}, kGpu, false},
    {"equal", {{.key = "gpu", .op = "Equal", .value = "a100", .effect = "NoSchedule"}}, kGpu, true},
    {"equal_by_default", {{.key = "gpu", .op = {}, .value = "a100", .effect = {}}}, kGpu, true},
    {"another_value", {{.key = "gpu", .op = {}, .value = "h100", .effect = {}}}, kGpu, false},
    {"another_key", {{.key = "fpga", .op = "Exists", .value = {}, .effect = {}}}, kGpu, false},
    {"another_effect",
     {{.key = "gpu", .op = "Exists", .value = {}, .effect = "NoExecute"}},
     kGpu,
     false},
    {"any_value",
     {{.key = "gpu", .op = "Exists", .value = {}, .effect = "NoSchedule"}},
     kGpu,
     true},
    {"everything", {{.key = {}, .op = "Exists", .value = {}, .effect = {}}}, kGpu, true},
    {"no_key_and_no_operator", {{.key = {}, .op = {}, .value = "a100", .effect = {}}}, kGpu, false},
    {"the_second_of_two",
     {{.key = "fpga", .op = "Exists", .value = {}, .effect = {}},
      {.key = "gpu", .op = "Exists", .value = {}, .effect = {}}},
     kGpu,
     true},
};

TEST(NodeDemand, ToleratesTaintsAsTheSchedulerDoes) {
  for (const TaintCase& one : kTaints) {
    NodeDemand demand;
    demand.tolerations = one.tolerations;
    EXPECT_EQ(tolerates(demand, {one.taint}), one.tolerated) << one.name;
    EXPECT_TRUE(tolerates(demand, {})) << one.name;
    EXPECT_FALSE(tolerates(demand, {one.taint, {.key = "b", .value = {}, .effect = "NoExecute"}}) &&
                 one.name != std::string("everything"))
        << one.name << ": each of the taints";
  }
}

struct SelectCase {
  const char* name;
  NodeDemand demand;
  bool selected;
};
NodeDemand with_terms(std::vector<NodeTerm> terms) {
  NodeDemand demand;
  demand.affinity = std::move(terms);
  return demand;
}
NodeDemand with_label(const std::string& key, const std::string& op,
                      std::vector<std::string> values = {}) {
  return with_terms(
      {{.labels = {{.key = key, .op = op, .values = std::move(values)}}, .fields = {}}});
}

TEST(NodeDemand, SelectsNodesAsTheSchedulerDoes) {
  NodeDemand both;
  both.selector = {{"zone", "z1"}, {"disk", "ssd"}};
  NodeDemand one_of_both = both;
  one_of_both.selector["disk"] = "hdd";
  NodeDemand and_term = both;
  and_term.affinity = with_label("size", "Gt", {"9"}).affinity;
  const SelectCase cases[] = {
      {"nothing", {}, true},
      {"selector", both, true},
      {"selector, one of two", one_of_both, false},
      {"selector and affinity", and_term, false},
      {"In", with_label("zone", "In", {"z0", "z1"}), true},
      {"In, another", with_label("zone", "In", {"z0"}), false},
      {"In, absent", with_label("rack", "In", {"z0"}), false},
      {"NotIn", with_label("zone", "NotIn", {"z0"}), true},
      {"NotIn, it is", with_label("zone", "NotIn", {"z1"}), false},
      {"NotIn, absent", with_label("rack", "NotIn", {"z1"}), true},
      {"Exists", with_label("zone", "Exists"), true},
      {"Exists, absent", with_label("rack", "Exists"), false},
      {"DoesNotExist", with_label("rack", "DoesNotExist"), true},
      {"DoesNotExist, it does", with_label("zone", "DoesNotExist"), false},
      {"Gt", with_label("size", "Gt", {"7"}), true},
      {"Gt, equal", with_label("size", "Gt", {"8"}), false},
      {"Gt, absent", with_label("rack", "Gt", {"1"}), false},
      {"Gt, no number", with_label("zone", "Gt", {"1"}), false},
      {"Lt", with_label("size", "Lt", {"10"}), true},
      {"Lt, not", with_label("size", "Lt", {"8"}), false},
      {"an operator of tomorrow", with_label("zone", "Near", {"x"}), true},
      {"its name", with_terms({{.labels = {}, .fields = {{"metadata.name", "In", {"n1"}}}}}), true},
      {"another name", with_terms({{.labels = {}, .fields = {{"metadata.name", "In", {"n2"}}}}}),
       false},
      {"a term without requirements", with_terms({{.labels = {}, .fields = {}}}), false},
      {"no term", with_terms({}), false},
      {"the second of two terms",
       with_terms({{.labels = {{"rack", "Exists", {}}}, .fields = {}},
                   {.labels = {{"zone", "Exists", {}}}, .fields = {}}}),
       true},
      {"all of a term",
       with_terms({{.labels = {{"zone", "Exists", {}}, {"rack", "Exists", {}}}, .fields = {}}}),
       false},
  };
  const Labels labels({{"zone", "z1"}, {"disk", "ssd"}, {"size", "8"}});
  for (const SelectCase& one : cases) {
    EXPECT_EQ(selects(one.demand, "n1", labels), one.selected) << one.name;
  }
}

}  // namespace
}  // namespace pinion::cluster
