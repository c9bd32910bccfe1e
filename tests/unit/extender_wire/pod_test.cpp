// Pods by way of a filter body, as that is how they come.
#include "cluster/extender/wire/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cluster/extender/wire/reader.h"

namespace pinion::cluster::wire {
namespace {

using policy::Qos;
using Kind = ContainerView::Kind;
using testing::ElementsAre;
using testing::Field;
using testing::Pair;

// A pod with this spec and this status.
Result<PodSpecView> pod_with(const std::string& spec, const std::string& status = "{}",
                             const std::string& metadata = "") {
  Reader reader;
  auto ask =
      reader.filter(R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u")" + metadata +
                    R"(},"spec":)" + spec + R"(,"status":)" + status + R"(},"NodeNames":[]})");
  if (!ask) return failure(ask.error());
  return std::move(ask->pod);
}

std::string container(const std::string& name, const std::string& resources,
                      const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":)" + resources + more + "}";
}

constexpr auto kExact =
    R"({"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}})";

TEST(Pod, HasAmountsOfEachContainer) {
  const auto pod = pod_with(
      R"({"containers":[)" + container("main", kExact) + R"(],"initContainers":[)" +
      container("init", R"({"limits":{"cpu":"500m","nvidia.com/gpu":"1"}})") + "," +
      container("proxy", R"({"requests":{"memory":"100M"}})", R"(,"restartPolicy":"Always")") +
      "]}");
  ASSERT_TRUE(pod) << pod.error().text;
  const ContainerView init{"init", Kind::kInit, {{}, {.cpu_milli = 500, .memory_bytes = {}}}};
  const ContainerView proxy{
      "proxy", Kind::kSidecar, {{.cpu_milli = {}, .memory_bytes = 100'000'000}, {}}};
  const Amounts exact{.cpu_milli = 2000, .memory_bytes = 1 << 30};
  const ContainerView main{"main", Kind::kMain, {exact, exact}};
  EXPECT_THAT(pod->containers, ElementsAre(init, proxy, main));
}

TEST(Pod, RestartPolicyMakesNoSidecarOfAMainContainer) {
  const auto pod = pod_with(R"({"containers":[{"name":"c","restartPolicy":"Always"}]})");
  EXPECT_EQ(pod->containers.at(0).kind, Kind::kMain);
}

TEST(Pod, AmountsMayBeNumbers) {
  const auto pod = pod_with(R"({"containers":[)" +
                            container("c", R"({"requests":{"cpu": 2 ,"memory":1e9}})") + "]}");
  ASSERT_TRUE(pod) << pod.error().text;
  const Amounts expected{.cpu_milli = 2000, .memory_bytes = 1'000'000'000};
  EXPECT_EQ(pod->containers.at(0).resources.requests, expected);
}

TEST(Pod, HasItsSchedulingGates) {
  struct Case {
    const char* name;
    const char* gates;
    bool ours;
    bool others;
  };
  for (const Case& one :
       {Case{"none", "", false, false}, Case{"null", R"("schedulingGates":null,)", false, false},
        Case{"empty", R"("schedulingGates":[],)", false, false},
        Case{"ours", R"("schedulingGates":[{"name":"pinion.dev/gang"}],)", true, false},
        Case{"another", R"("schedulingGates":[{"name":"example.com/g"}],)", false, true},
        Case{"both", R"("schedulingGates":[{"name":"example.com/g"},{"name":"pinion.dev/gang"}],)",
             true, true}}) {
    const auto pod = pod_with(std::string("{") + one.gates + R"("containers":[]})");
    ASSERT_TRUE(pod) << one.name << ": " << pod.error().text;
    EXPECT_EQ(pod->gang_gate, one.ours) << one.name;
    EXPECT_EQ(pod->other_gates, one.others) << one.name;
  }
  EXPECT_FALSE(pod_with(R"({"schedulingGates":[{"name":7}]})"));
}

TEST(Pod, NamesItsSchedulingGroup) {
  struct Case {
    const char* name;
    const char* group;
    const char* expected;
  };
  for (const Case& one : {Case{"none", "", ""}, Case{"null", R"("schedulingGroup":null,)", ""},
                          Case{"empty", R"("schedulingGroup":{},)", ""},
                          Case{"a null name", R"("schedulingGroup":{"podGroupName":null},)", ""},
                          Case{"named", R"("schedulingGroup":{"podGroupName":"g"},)", "g"},
                          Case{"beside what is not known",
                               R"("schedulingGroup":{"other":7,"podGroupName":"g"},)", "g"}}) {
    const auto pod = pod_with(std::string("{") + one.group + R"("containers":[]})");
    ASSERT_TRUE(pod) << one.name << ": " << pod.error().text;
    EXPECT_EQ(pod->scheduling_group, one.expected) << one.name;
  }
  EXPECT_FALSE(pod_with(R"({"schedulingGroup":{"podGroupName":7}})"));
  EXPECT_FALSE(pod_with(R"({"schedulingGroup":"g"})"));
}

TEST(Pod, HasTheTimeOfItsCreation) {
  const auto created = [](const std::string& time) {
    const auto pod = pod_with("{}", "{}", R"(,"creationTimestamp":)" + time);
    return pod ? pod->created_ms : -1;
  };
  EXPECT_EQ(created(R"("2026-11-24T15:21:31Z")"), 1'795'533'691'000);
  EXPECT_EQ(created("null"), 0);
  EXPECT_EQ(created(R"("")"), 0);
  EXPECT_EQ(created(R"("yesterday")"), 0);
  EXPECT_EQ(created(R"("2026-11-24T15:21:31Z and more")"), 0);
  EXPECT_EQ(created("7"), -1);
}

TEST(Pod, SaysHowLongItRunsAtMost) {
  struct Case {
    const char* spec;
    const char* status;
    std::int32_t deadline_s;
    std::int32_t grace_s;
    std::int64_t started_ms;
  };
  for (const Case& one :
       {Case{"{}", "{}", 0, 0, 0},
        Case{R"({"activeDeadlineSeconds":90,"terminationGracePeriodSeconds":30})",
             R"({"startTime":"2026-11-24T15:21:31Z"})", 90, 30, 1'795'533'691'000},
        Case{R"({"activeDeadlineSeconds":null,"terminationGracePeriodSeconds":null})",
             R"({"startTime":null})", 0, 0, 0},
        Case{R"({"activeDeadlineSeconds":-1,"terminationGracePeriodSeconds":-9223372036854775808})",
             R"({"startTime":"soon"})", 0, 0, 0},
        Case{R"({"activeDeadlineSeconds":9223372036854775807})", "{}", 2'147'483'647, 0, 0}}) {
    const auto pod = pod_with(one.spec, one.status);
    ASSERT_TRUE(pod) << one.spec << ": " << pod.error().text;
    EXPECT_EQ(pod->active_deadline_s, one.deadline_s) << one.spec;
    EXPECT_EQ(pod->termination_grace_s, one.grace_s) << one.spec;
    EXPECT_EQ(pod->started_ms, one.started_ms) << one.status;
  }
  EXPECT_FALSE(pod_with(R"({"activeDeadlineSeconds":"90"})"));
  EXPECT_FALSE(pod_with(R"({"activeDeadlineSeconds":1.5})"));
}

TEST(Pod, IsApartIfItKeepsAwayFromItsOwnLabels) {
  const auto apart = [](const std::string& term, const std::string& kind = "podAntiAffinity",
                        const std::string& when = "required") {
    const auto pod = pod_with(R"({"affinity":{")" + kind + R"(":{")" + when +
                                  R"(DuringSchedulingIgnoredDuringExecution":[)" + term + "]}}}",
                              "{}", R"(,"labels":{"app":"wind","pinion.dev/job":"j"})");
    EXPECT_TRUE(pod) << term << ": " << pod.error().text;
    return pod && pod->apart;
  };
  const auto term = [](const std::string& selector, const std::string& more = "",
                       const std::string& key = "kubernetes.io/hostname") {
    return R"({"labelSelector":)" + selector + R"(,"topologyKey":")" + key + R"(")" + more + "}";
  };
  const std::string own = R"({"matchLabels":{"app":"wind"}})";
  const auto expression = [](const std::string& text) {
    return R"({"matchExpressions":[)" + text + "]}";
  };
  EXPECT_TRUE(apart(term(own)));
  EXPECT_TRUE(apart(term("{}"))) << "of all pods";
  EXPECT_TRUE(apart(term(R"({"matchLabels":{"app":"rain"}})") + "," + term(own)));
  EXPECT_TRUE(apart(term(expression(R"({"key":"app","operator":"In","values":["x","wind"]})"))));
  EXPECT_TRUE(apart(term(expression(R"({"key":"app","operator":"Exists"})"))));
  EXPECT_TRUE(apart(term(expression(R"({"key":"gpu","operator":"DoesNotExist"})"))));
  EXPECT_TRUE(apart(term(expression(R"({"key":"app","operator":"NotIn","values":["x"]})"))));
  EXPECT_TRUE(apart(term(own, R"(,"namespaces":["o","n"])")));
  EXPECT_TRUE(apart(term(own, R"(,"namespaces":[],"namespaceSelector":null)")));
  EXPECT_TRUE(apart(term(own, R"(,"namespaceSelector":{})"))) << "in all namespaces";
  EXPECT_TRUE(apart(term(own, R"(,"namespaces":["o"],"namespaceSelector":{"matchLabels":{}})")));
  EXPECT_FALSE(apart(term("null"))) << "of none";
  EXPECT_FALSE(apart(term(R"({"matchLabels":{"app":"wind","pinion.dev/job":"k"}})")));
  EXPECT_FALSE(apart(term(expression(R"({"key":"app","operator":"NotIn","values":["wind"]})"))));
  EXPECT_FALSE(apart(term(expression(R"({"key":"app","operator":"Like","values":["wind"]})"))));
  EXPECT_FALSE(apart(term(own, "", "topology.kubernetes.io/zone")));
  EXPECT_FALSE(apart(term(own, R"(,"namespaces":["o"])")));
  EXPECT_FALSE(apart(term(own, R"(,"namespaceSelector":{"matchLabels":{"team":"a"}})")));
  EXPECT_FALSE(apart(term(own), "podAffinity"));
  EXPECT_FALSE(apart(term(own), "podAntiAffinity", "preferred"));
}

TEST(Pod, HasWhatElseIsRead) {
  const auto pod = pod_with(
      R"({"priority":-7,"schedulerName":"s","runtimeClassName":"kata","nodeName":"node-1","resources":{"limits":{"cpu":"3"}}})",
      R"({"phase":"Running"})",
      R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[)"
      R"({"kind":"Other","name":"o","uid":"1"},{"kind":"Job","name":"j","uid":"2","controller":true}])");
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_EQ(pod->uid, "u");
  EXPECT_EQ(pod->name_space, "n");
  EXPECT_EQ(pod->name, "p");
  EXPECT_EQ(pod->priority, -7);
  EXPECT_EQ(pod->scheduler_name, "s");
  EXPECT_EQ(pod->runtime_class, "kata");
  EXPECT_EQ(pod->node_name, "node-1");
  EXPECT_EQ(pod->phase, "Running");
  EXPECT_TRUE(pod->deleting);
  EXPECT_EQ(pod->controller, (Controller{.kind = "Job", .name = "j", .uid = "2"}));
  EXPECT_EQ(pod->pod_level->limits.cpu_milli, 3000);
}

std::string waits(const std::string& message) {
  return R"({"state":{"waiting":{"reason":"CreateContainerError","message":")" + message +
         R"("}}})";
}

TEST(Pod, HasWhatItsAgentSaid) {
  const std::string why = "pinion refuses container c of pod n/p: no room";
  struct Case {
    const char* name;
    std::string status;
    std::string refused;
  };
  const std::vector<Case> cases = {
      {"of a container", R"({"containerStatuses":[)" + waits("rpc error: " + why) + "]}", why},
      {"of an init container", R"({"initContainerStatuses":[)" + waits(why) + "]}", why},
      {"of the second one",
       R"({"containerStatuses":[)" + waits("image not found") + "," + waits(why) + "]}", why},
      {"somebody else's", R"({"containerStatuses":[)" + waits("image not found") + "]}", ""},
      {"one that has run",
       R"({"containerStatuses":[{"lastState":{"waiting":{"message":")" + why +
           R"("}},"state":{"running":{"message":")" + why + R"("}}}]})",
       ""},
      {"a long one", R"({"containerStatuses":[)" + waits(why + std::string(5000, 'x')) + "]}",
       (why + std::string(5000, 'x')).substr(0, 700)}};
  for (const Case& one : cases) {
    const auto pod = pod_with("null", one.status);
    ASSERT_TRUE(pod) << one.name << ": " << pod.error().text;
    EXPECT_EQ(pod->refused, one.refused) << one.name;
  }
}

TEST(Pod, IsUnschedulableOrInitializedWhereItsConditionsSaySo) {
  struct Case {
    const char* name;
    const char* conditions;
    bool unschedulable;
    bool initialized = false;
  };
  for (const Case& one : {
           Case{"refused", R"([{"type":"Initialized","status":"True"},
                {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no"}])",
                true, true},
           Case{"its init containers run",
                R"([{"type":"Initialized","status":"False","reason":"ContainersNotInitialized"}])",
                false},
           Case{"at a gate", R"([{"type":"PodScheduled","reason":"SchedulingGated"}])", false},
           Case{"another condition", R"([{"type":"Ready","reason":"Unschedulable"}])", false},
           Case{"bound", R"([{"type":"PodScheduled","status":"True"}])", false},
           Case{"none", "null", false},
       }) {
    const auto pod = pod_with("null", R"({"conditions":)" + std::string(one.conditions) + "}");
    ASSERT_TRUE(pod) << one.name << ": " << pod.error().text;
    EXPECT_EQ(pod->unschedulable, one.unschedulable) << one.name;
    EXPECT_EQ(pod->initialized, one.initialized) << one.name;
  }
}

TEST(Pod, HasNothingOfWhatIsNotStated) {
  const auto pod =
      pod_with("null", "null", R"(,"deletionTimestamp":null,"labels":null,"ownerReferences":null)");
  ASSERT_TRUE(pod) << pod.error().text;
  PodSpecView expected;
  expected.uid = "u";
  expected.name_space = "n";
  expected.name = "p";
  EXPECT_EQ(*pod, expected);
}

TEST(Pod, KeepsTheLabelsAndAnnotationsOfJobsAndOurs) {
  const auto pod =
      pod_with("{}", "{}",
               R"(,"labels":{"app":"x","pinion.dev/job":"j","batch.kubernetes.io/job-name":"b",)"
               R"("pinion.device/no":"1"},"annotations":{"pinion.dev/cpus":"exclusive",)"
               R"("pinion.dev/text":"a\"\u00e9\ud83d\ude00","other":"x"})");
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_THAT(pod->labels,
              ElementsAre(Pair("batch.kubernetes.io/job-name", "b"), Pair("pinion.dev/job", "j")));
  EXPECT_THAT(pod->annotations, ElementsAre(Pair("pinion.dev/cpus", "exclusive"),
                                            Pair("pinion.dev/text", "a\"\u00e9\U0001F600")));
}

// Agents do so, and a job has one name everywhere.
TEST(Pod, CleansAnnotationsWhereTheyEnter) {
  const auto pod =
      pod_with("{}", "{}", R"(,"annotations":{"pinion.dev/job":"a\nb\u007fc","pinion.dev/t":""})");
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_THAT(pod->annotations,
              ElementsAre(Pair("pinion.dev/job", "a\uFFFDb\uFFFDc"), Pair("pinion.dev/t", "")));
}

TEST(Pod, TheLastOfTwoEqualKeysCounts) {
  const auto pod =
      pod_with(R"({"containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"c"}],)"
               R"("priority":1,"priority":2})");
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_THAT(pod->containers, ElementsAre(Field(&ContainerView::name, "c")));
  EXPECT_EQ(pod->priority, 2);
}

// --- the QoS class, with the cases of pkg/apis/core/v1/helper/qos
// --------------------------------------------------------------------

struct QosCase {
  const char* name;
  std::string spec;
  Qos qos;
};

class QosByResources : public testing::TestWithParam<QosCase> {};

TEST_P(QosByResources, IsWhatKubernetesComputes) {
  const auto pod = pod_with(GetParam().spec);
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_EQ(pod->qos, GetParam().qos);
}

std::string mains(const std::string& one, const std::string& other = "") {
  return R"({"containers":[)" + container("a", one) +
         (other.empty() ? "" : "," + container("b", other)) + "]}";
}

std::string with_init(const std::string& resources, const std::string& more = "") {
  return R"({"containers":[)" + container("a", kExact) + R"(],"initContainers":[)" +
         container("i", resources, more) + "]}";
}

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, QosByResources,
    testing::Values(
        QosCase{"nothing", mains("{}"), Qos::kBestEffort},
        QosCase{"zeros", mains(R"({"requests":{"cpu":"0","memory":"0"},"limits":{"cpu":"0"}})"),
                Qos::kBestEffort},
        QosCase{"other_resources_only", mains(R"({"limits":{"nvidia.com/gpu":"1"}})"),
                Qos::kBestEffort},
        QosCase{"exact", mains(kExact), Qos::kGuaranteed},
        QosCase{
            "exact_in_other_words",
            mains(
                R"({"requests":{"cpu":"2000m","memory":"1024Mi"},"limits":{"cpu":"2","memory":"1Gi"}})"),
            Qos::kGuaranteed},
        QosCase{"cpu_alone", mains(R"({"requests":{"cpu":"1"},"limits":{"cpu":"1"}})"),
                Qos::kBurstable},
        QosCase{"requests_alone", mains(R"({"requests":{"cpu":"1","memory":"1"}})"),
                Qos::kBurstable},
        QosCase{
            "less_than_the_limit",
            mains(R"({"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}})"),
            Qos::kBurstable},
        QosCase{"one_of_two", mains(kExact, "{}"), Qos::kBurstable},
        QosCase{"both", mains(kExact, kExact), Qos::kGuaranteed},
        QosCase{"zero_limit_is_none",
                mains(R"({"requests":{"cpu":"1"},"limits":{"cpu":"1","memory":"0"}})"),
                Qos::kBurstable},
        QosCase{"init_without", with_init("{}"), Qos::kBurstable},
        QosCase{"init_exact", with_init(kExact), Qos::kGuaranteed},
        QosCase{"sidecar_without", with_init("{}", R"(,"restartPolicy":"Always")"),
                Qos::kBurstable},
        QosCase{
            "pod_level_exact",
            R"({"resources":{"requests":{"cpu":"1","memory":"1"},"limits":{"cpu":"1","memory":"1"}},)"
            R"("containers":[{"name":"a"}]})",
            Qos::kGuaranteed},
        QosCase{"pod_level_of_nothing",
                R"({"resources":{},"containers":[)" + container("a", kExact) + "]}",
                Qos::kGuaranteed},
        QosCase{"pod_level_goes_first",
                R"({"resources":{"requests":{"cpu":"1"}},"containers":[)" + container("a", kExact) +
                    "]}",
                Qos::kBurstable}),
    [](const auto& one) { return one.param.name; });

TEST(Pod, TheClassInItsStatusGoesFirst) {
  EXPECT_EQ(pod_with(mains(kExact), R"({"qosClass":"Burstable"})")->qos, Qos::kBurstable);
  EXPECT_EQ(pod_with(mains(kExact), R"({"qosClass":"Whatever"})")->qos, Qos::kGuaranteed);
}

// --- errors
// --------------------------------------------------------------------------------------

// The API server takes them, so no node is good enough and nobody is refused for it.
TEST(Pod, AmountsAreCapped) {
  const auto most = std::numeric_limits<std::int64_t>::max();
  for (const char* cpu : {"1Ei", "9e18", "1e30", "99999999999999999999"}) {
    const std::string amounts = std::string(R"({"cpu":")") + cpu + R"(","memory":"8Ei"})";
    const auto pod = pod_with(mains(R"({"requests":)" + amounts + R"(,"limits":)" + amounts + "}"));
    ASSERT_TRUE(pod) << pod.error().text;
    const Resources& resources = pod->containers.at(0).resources;
    EXPECT_EQ(resources.requests, (Amounts{.cpu_milli = most, .memory_bytes = most})) << cpu;
    EXPECT_EQ(pod->qos, Qos::kGuaranteed) << cpu;
  }
}

struct Bad {
  const char* name;
  std::string spec;
  const char* says;
};

class BadPod : public testing::TestWithParam<Bad> {};

TEST_P(BadPod, IsRefusedAndSaysWhere) {
  const auto pod = pod_with(GetParam().spec);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, Errc::kInvalid);
  EXPECT_THAT(pod.error().text, testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Specs, BadPod,
    testing::Values(
        Bad{"no_object", "[]", "Pod.spec: not an object"},
        Bad{"containers_no_list", R"({"containers":{}})", "Pod.spec.containers: not a list"},
        Bad{"container_no_object", R"({"containers":[{"name":"a"},7]})",
            "Pod.spec.containers[1]: not an object"},
        Bad{"container_without_name", R"({"initContainers":[{}]})",
            "Pod.spec.initContainers[0].name: missing"},
        Bad{"name_no_string", R"({"containers":[{"name":["a"]}]})",
            "Pod.spec.containers[0].name: not a string"},
        Bad{"quantity", mains(R"({"limits":{"cpu":"a lot"}})"),
            "Pod.spec.containers[0].resources.limits[cpu]: quantity 'a lot': no digits"},
        Bad{"quantity_no_text", mains(R"({"requests":{"memory":true}})"),
            "Pod.spec.containers[0].resources.requests[memory]: not a string"},
        Bad{"negative_amount", mains(R"({"requests":{"cpu":"-1"}})"),
            "Pod.spec.containers[0].resources.requests[cpu]: a negative amount"},
        Bad{"priority_of_text", R"({"priority":"1"})", "Pod.spec.priority: not an integer"},
        Bad{"priority_of_33_bits", R"({"priority":4294967296})",
            "Pod.spec.priority: not an integer of 32 bits"},
        Bad{"priority_of_65_bits", R"({"priority":99999999999999999999})",
            "Pod.spec.priority: not an integer of 64 bits"},
        Bad{"priority_with_a_point", R"({"priority":1.5})", "Pod.spec.priority: not an integer"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace pinion::cluster::wire
