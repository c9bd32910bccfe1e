#include "cluster/extender/program/feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cluster/extender/pods/node_of.h"
#include "cluster/extender/pods/pod_group.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/program/config.h"
#include "cluster/extender/program/server_name.h"
#include "tests/support/no_cluster.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using kube::Change;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Ready, unless it has no address.
json agent_pod(const std::string& uid, const std::string& node, const std::string& host) {
  json pod = {{"metadata",
               {{"name", "agent-" + uid},
                {"namespace", "kube-system"},
                {"uid", uid},
                {"creationTimestamp", "2026-11-23T12:00:00Z"}}},
              {"spec", json::object()},
              {"status", {{"phase", "Running"}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  if (!host.empty()) {
    pod["status"]["podIP"] = host;
    pod["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "True"}},
                                   {{"type", "Ready"}, {"status", "True"}}};
  }
  return pod;
}

json created(json pod, const std::string& time) {
  pod["metadata"]["creationTimestamp"] = time;
  return pod;
}

// A deletion that was missed is told of with the names alone.
json without_content(const json& pod) {
  return {{"metadata", pod.at("metadata")}};
}

class AgentPods : public testing::Test {
 protected:
  using Agents = std::vector<AgentAddress>;

  void see(Change change, const json& pod) { feed_.on_object(change, pod); }

  Log log_{"error", LogFormat::kText};
  std::vector<Agents> told_;
  AgentPodFeed feed_{{.port = 9465, .server_name = ""},
                     [this](const Agents& agents) { told_.push_back(agents); },
                     log_};
  const json a_ = agent_pod("1", "a", "192.0.2.1");
  const json b_ = agent_pod("2", "b", "192.0.2.2");
};

// Half a list would end the streams of the agents in the other half.
TEST_F(AgentPods, AreToldOnceTheListIsComplete) {
  see(Change::kAdded, a_);
  see(Change::kAdded, b_);
  EXPECT_THAT(told_, IsEmpty());
  feed_.on_synced(1);
  EXPECT_THAT(told_, ElementsAre(UnorderedElementsAre(AgentAddress{"a", "192.0.2.1:9465"},
                                                      AgentAddress{"b", "192.0.2.2:9465"})));
}

TEST_F(AgentPods, ThatAreNoneAreToldToo) {
  feed_.on_synced(1);
  EXPECT_THAT(told_, ElementsAre(IsEmpty()));
}

TEST_F(AgentPods, CountFromWhenTheyHaveANodeAndAnAddress) {
  feed_.on_synced(1);
  told_.clear();
  see(Change::kAdded, agent_pod("1", "", ""));
  see(Change::kModified, agent_pod("1", "a", ""));
  EXPECT_THAT(told_, IsEmpty());
  see(Change::kModified, a_);
  see(Change::kModified, a_);
  EXPECT_THAT(told_, ElementsAre(ElementsAre(AgentAddress{"a", "192.0.2.1:9465"})))
      << "once, as nothing has changed";
}

TEST_F(AgentPods, AreFollowedToOtherAddresses) {
  see(Change::kAdded, a_);
  feed_.on_synced(1);
  see(Change::kModified, agent_pod("1", "a", "192.0.2.7"));
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.7:9465"}));
  see(Change::kModified, agent_pod("1", "a", ""));
  EXPECT_THAT(told_.back(), IsEmpty()) << "it has lost its address";
}

TEST_F(AgentPods, OfVersionSixAreWrittenInBrackets) {
  see(Change::kAdded, agent_pod("1", "a", "2001:db8::1"));
  feed_.on_synced(1);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "[2001:db8::1]:9465"}));
}

TEST_F(AgentPods, GoWithTheirDeletion) {
  see(Change::kAdded, a_);
  see(Change::kAdded, b_);
  feed_.on_synced(1);
  see(Change::kDeleted, a_);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"b", "192.0.2.2:9465"}));
  see(Change::kDeleted, without_content(b_));
  EXPECT_THAT(told_.back(), IsEmpty());
  EXPECT_THAT(told_, SizeIs(3));
  see(Change::kDeleted, b_);
  EXPECT_THAT(told_, SizeIs(3)) << "nobody knows it";
}

TEST_F(AgentPods, TheNewestOfANodeSpeaksForIt) {
  see(Change::kAdded, a_);
  feed_.on_synced(1);
  const json newer = created(agent_pod("0", "a", "192.0.2.9"), "2026-11-23T12:00:01Z");
  see(Change::kAdded, newer);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"}));
  see(Change::kModified, created(agent_pod("1", "a", "192.0.2.7"), "2026-11-23T12:00:00Z"));
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"})) << "still";
  see(Change::kDeleted, newer);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.7:9465"}));
}

TEST_F(AgentPods, OfTwoThatAreEquallyOldItIsTheSameOneInAnyOrder) {
  const json other = agent_pod("9", "a", "192.0.2.9");
  see(Change::kAdded, a_);
  see(Change::kAdded, other);
  feed_.on_synced(1);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"}));
  see(Change::kDeleted, a_);
  see(Change::kAdded, a_);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"}));
}

struct NotReady {
  const char* name;
  std::function<void(json& pod)> change;
};
void PrintTo(const NotReady& one, std::ostream* out) {
  *out << one.name;
}

class AgentPodsThatDoNotCount : public AgentPods, public testing::WithParamInterface<NotReady> {};

TEST_P(AgentPodsThatDoNotCount, SpeakForNoNodeAndSilenceNobody) {
  see(Change::kAdded, a_);
  feed_.on_synced(1);
  json newer = created(agent_pod("2", "a", "192.0.2.9"), "2026-11-23T13:00:00Z");
  const json ready = newer;
  GetParam().change(newer);
  see(Change::kAdded, newer);
  EXPECT_THAT(told_, SizeIs(1));
  see(Change::kModified, ready);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"}));
  see(Change::kModified, newer);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.1:9465"}));
}

INSTANTIATE_TEST_SUITE_P(
    Table, AgentPodsThatDoNotCount,
    testing::Values(
        NotReady{"not_ready",
                 [](json& pod) { pod["status"]["conditions"][1]["status"] = "False"; }},
        NotReady{"no_conditions", [](json& pod) { pod["status"].erase("conditions"); }},
        NotReady{"conditions_are_none", [](json& pod) { pod["status"]["conditions"] = "Ready"; }},
        NotReady{"not_running", [](json& pod) { pod["status"]["phase"] = "Pending"; }},
        NotReady{"being_deleted",
                 [](json& pod) { pod["metadata"]["deletionTimestamp"] = "2026-11-23T13:01:00Z"; }}),
    [](const auto& one) { return one.param.name; });

// One that is ready again is a new one to whoever follows, who tries it without a pause.
TEST_F(AgentPods, AreToldAgainWhenTheyAreReadyAgain) {
  see(Change::kAdded, a_);
  feed_.on_synced(1);
  json unready = a_;
  unready["status"]["conditions"][1]["status"] = "False";
  see(Change::kModified, unready);
  see(Change::kModified, a_);
  const Agents one{{"a", "192.0.2.1:9465"}};
  EXPECT_THAT(told_, ElementsAre(one, Agents{}, one));
}

TEST_F(AgentPods, HaveTheNodeAndThePodInTheNameOfTheirCertificates) {
  AgentPodFeed feed(
      {.port = 1, .server_name = "{pod}.{node}.test"},
      [this](const Agents& agents) { told_.push_back(agents); }, log_);
  feed.on_object(Change::kAdded, a_);
  feed.on_synced(1);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.1:1", "agent-1.a.test"}));
}

class Pods : public testing::Test {
 protected:
  void see(Change change, const json& pod) { see(change, "u1", pod.dump()); }
  void see(Change change, std::string_view uid, const std::string& text) {
    EXPECT_TRUE(feed_.on_raw(
        change, {.name_space = "n", .name = "p", .uid = uid, .version = "1", .json = text}));
  }
  std::size_t pods() {
    return placing_.look([](const PodScheduler& scheduler) { return scheduler.pods(); });
  }

  Log log_{"error", LogFormat::kText};
  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  NoCluster cluster_;
  Placing placing_{cluster_, {}, {}, [] { return 0; }, [](const Note&) {}};
  JobFollower jobs_{
      *api_,
      log_,
      {.may_act = [] { return false; }, .sized = {}, .started = {}, .lacks_members = {}}};
  RefusedPods refused_{*api_, log_, [] { return false; }, {}};
  std::vector<std::string> looked_;
  PodFeed feed_{placing_, jobs_, refused_,
                [this](Change change, const kube::RawObject& object, const PodFeed::View& pod) {
                  looked_.push_back(std::to_string(static_cast<int>(change)) +
                                    std::string(object.uid) + (pod ? "" : pod.error().text));
                },
                log_};
  const json pod_ = {
      {"metadata", {{"namespace", "n"}, {"name", "p"}, {"uid", "u1"}}},
      {"spec",
       {{"containers",
         {{{"name", "c"}, {"resources", {{"limits", {{"cpu", "2"}, {"memory", "1Gi"}}}}}}}}}},
      {"status", {{"qosClass", "Guaranteed"}}}};
};

TEST_F(Pods, AreKnownUntilTheyAreDeleted) {
  see(Change::kAdded, pod_);
  EXPECT_EQ(pods(), 1U);
  see(Change::kModified, pod_);
  EXPECT_EQ(pods(), 1U);
  see(Change::kDeleted, without_content(pod_));
  EXPECT_EQ(pods(), 0U);
  EXPECT_THAT(looked_, ElementsAre("0u1", "1u1", "2u1"));
}

// To list them anew would not help.
TEST_F(Pods, ThatMakeNoSenseAreNotKnown) {
  see(Change::kAdded, "u2", R"({"metadata":{"name":3}})");
  EXPECT_EQ(pods(), 0U);
  see(Change::kDeleted, "u2", "{");
  EXPECT_THAT(looked_, ElementsAre("0u2metadata.name: not a string",
                                   testing::StartsWith("2u2body: broken JSON")));
}

struct GroupKind {
  const char* name;
  PodGroupApi api;
  json spec;  // of a group of two
};

class PodGroupsOfTheServer : public testing::TestWithParam<GroupKind> {
 protected:
  // The PodGroup default/g of two.
  void exists() {
    feed_.on_object(Change::kAdded, {{"metadata", {{"name", "g"}, {"namespace", "default"}}},
                                     {"spec", GetParam().spec}});
  }
  void refused(Errc code) {
    feed_.on_trouble(Error{.code = code, .text = "no"}, std::chrono::milliseconds(1));
  }
  // Whether the group's label means something: then a pod of it does not go alone.
  bool served() {
    Pod pod;
    pod.uid = "p" + std::to_string(++pods_);
    pod.name_space = "default";
    pod.group = "g";
    pod.group_api = GetParam().api;
    pod.qos = policy::Qos::kGuaranteed;
    pod.containers = {{.name = "main", .milli_cpus = 1000, .memory = 1}};
    const std::string why = placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
      const auto answer = scheduler.filter(pod, {"a"}, now);
      scheduler.gone(pod.uid, now);
      return answer.why;
    });
    if (why == "no Pinion agent speaks for the node") return false;
    EXPECT_EQ(why, "1 of 2 pods of its gang exist");
    return true;
  }

  Log log_{"error", LogFormat::kText};
  NoCluster cluster_;
  Placing placing_{cluster_, {}, {}, [] { return 0; }, [](const Note&) {}};
  PodGroupFeed feed_{GetParam().api, placing_, log_};
  int pods_ = 0;
};

TEST_P(PodGroupsOfTheServer, StayWhenAWatchIsRefused) {
  feed_.on_synced(1);
  exists();
  for (const Errc code : {Errc::kDenied, Errc::kNotFound, Errc::kUnavailable}) {
    refused(code);
    EXPECT_TRUE(served());
  }
}

TEST_P(PodGroupsOfTheServer, AreNoneWhereTheFirstListIsRefusedUntilOneIsNot) {
  exists();
  for (const Errc code : {Errc::kUnavailable, Errc::kDenied, Errc::kNotFound}) {
    feed_.on_list_failed({.code = code, .text = "no"});
    EXPECT_EQ(feed_.complete(), code != Errc::kUnavailable);
    EXPECT_FALSE(served());
  }
  feed_.on_synced(1);
  EXPECT_TRUE(served());
}

// As after a watch that is too old (410), while the API server starts.
TEST_P(PodGroupsOfTheServer, StayWhenALaterListIsRefusedUntilThatLasts) {
  feed_.on_synced(1);
  exists();
  for (const Errc code : {Errc::kDenied, Errc::kNotFound}) {
    for (int lists = 1; lists < PodGroupFeed::kRefusedLists; ++lists) {
      feed_.on_list_failed({.code = code, .text = "no"});
      feed_.on_list_failed({.code = Errc::kUnavailable, .text = "no answer"});
      EXPECT_TRUE(served()) << lists;
    }
    feed_.on_list_failed({.code = code, .text = "no"});
    EXPECT_FALSE(served());
    feed_.on_synced(2);
    EXPECT_TRUE(served());
  }
}

INSTANTIATE_TEST_SUITE_P(Apis, PodGroupsOfTheServer,
                         testing::Values(GroupKind{"Sigs", PodGroupApi::kSigs, {{"minMember", 2}}},
                                         GroupKind{"Native",
                                                   PodGroupApi::kNative,
                                                   {{"schedulingPolicy",
                                                     {{"gang", {{"minCount", 2}}}}}}}),
                         [](const auto& one) { return one.param.name; });

TEST(PodGroupOf, SaysHowManyStartTogether) {
  struct Case {
    const char* name;
    PodGroupApi api;
    const char* spec;
    std::optional<std::int64_t> members;
  };
  constexpr auto sigs = PodGroupApi::kSigs;
  constexpr auto native = PodGroupApi::kNative;
  for (const Case& one : {
           Case{"sigs", sigs, R"({"minMember":3})", 3},
           Case{"sigs without a size", sigs, "{}", 0},
           Case{"a gang", native, R"({"schedulingPolicy":{"gang":{"minCount":4}}})", 4},
           Case{"basic", native, R"({"schedulingPolicy":{"basic":{}}})", std::nullopt},
           Case{"no policy", native, "{}", std::nullopt},
           Case{"null", native, R"({"schedulingPolicy":{"gang":null,"basic":{}}})", std::nullopt},
           Case{"no number", native, R"({"schedulingPolicy":{"gang":{"minCount":"4"}}})", 0},
           Case{"of the other API", native, R"({"minMember":3})", std::nullopt},
       }) {
    const json object = {{"metadata", {{"name", "g"}, {"namespace", "n"}}},
                         {"spec", json::parse(one.spec)}};
    const PodGroupView group = pod_group_of(one.api, object);
    EXPECT_EQ(group.members, one.members) << one.name;
    EXPECT_EQ(group.key, one.api == sigs ? "n/g" : "native:n/g") << one.name;
  }
}

// Which PodGroup a pod is of.
TEST(PodOf, NamesItsPodGroup) {
  struct Case {
    const char* name;
    const char* label;
    const char* field;
    const char* group;
    PodGroupApi api;
  };
  for (const Case& one : {Case{"none", "", "", "", PodGroupApi::kSigs},
                          Case{"by its label", "a", "", "a", PodGroupApi::kSigs},
                          Case{"by its spec", "", "b", "b", PodGroupApi::kNative},
                          Case{"by both", "a", "b", "b", PodGroupApi::kNative}}) {
    wire::PodSpecView view;
    if (*one.label != 0) view.labels["scheduling.x-k8s.io/pod-group"] = one.label;
    view.scheduling_group = one.field;
    const Pod pod = pod_of(view);
    EXPECT_EQ(pod.group, one.group) << one.name;
    EXPECT_EQ(pod.group_api, one.api) << one.name;
  }
}

TEST(ServerName, HasNodeAndPodInPlaceOfTheirWords) {
  EXPECT_EQ(server_name("{node}.pinion-agent", "a.b", ""), "a.b.pinion-agent");
  EXPECT_EQ(server_name("{pod}.{node}.{node}", "a", "p"), "p.a.a");
  EXPECT_EQ(server_name("agent.test", "a", "p"), "agent.test");
  EXPECT_EQ(server_name("", "a", "p"), "");
  EXPECT_TRUE(names_pod("x{pod}"));
  EXPECT_FALSE(names_pod("{node}"));
  for (const char* good : {"", "agent.test", "{node}", "{pod}.{node}"}) {
    EXPECT_TRUE(check_server_name(good)) << good;
  }
  for (const char* bad : {"{Node}", "{nod}", "{node", "node}", "{{node}}"}) {
    const Status refused = check_server_name(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().text,
              "'" + std::string(bad) + "': only {node} and {pod} stand for something");
  }
}

TEST(ServerName, IsCheckedWithTheSettings) {
  Config config;
  const auto table = settings_of(config);
  EXPECT_TRUE(settings::read_yaml("agentServerName: '{node}.test'\n", table));
  EXPECT_EQ(config.agent_server_name, "{node}.test");
  EXPECT_FALSE(settings::read_yaml("agentServerName: '{host}.test'\n", table));
}

TEST(NodeOf, KeepsWhatDecidesWhoMayGoThere) {
  const NodeView view = node_of(json::parse(R"({"metadata":{"name":"n1","labels":{"zone":"z1"}},
      "spec":{"unschedulable":true,"taints":[
        {"key":"gpu","value":"a","effect":"NoSchedule"},
        {"key":"soft","effect":"PreferNoSchedule"},
        {"key":"out","effect":"NoExecute"}]},
      "status":{"allocatable":{"cpu":"7500m","memory":"60Gi","pods":"110"}}})"));
  EXPECT_EQ(view.name, "n1");
  EXPECT_THAT(view.taints, ElementsAre(Taint{.key = "gpu", .value = "a", .effect = "NoSchedule"},
                                       Taint{.key = "out", .value = "", .effect = "NoExecute"},
                                       Taint{.key = "node.kubernetes.io/unschedulable",
                                             .value = "",
                                             .effect = "NoSchedule"}));
  EXPECT_EQ(view.labels.at("zone"), "z1");
  EXPECT_EQ(view.allocatable,
            (ResourceList{.milli_cpus = 7500, .memory = std::int64_t{60} << 30, .members = 110}));
}

TEST(NodeOf, WhatIsMissingLimitsNothing) {
  const NodeView view = node_of(json::parse(R"({"metadata":{"name":"n1","labels":3},
      "spec":{"taints":"x"},"status":{"allocatable":{"cpu":"many","memory":-1}}})"));
  EXPECT_THAT(view.taints, IsEmpty());
  EXPECT_EQ(view.allocatable, kPlenty);
}

struct RequestsCase {
  const char* name;
  const char* spec;
  std::int64_t milli_cpus;
  std::int64_t memory;
};
const RequestsCase kRequests[] = {
    {"containers together",
     R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}},
                       {"name":"b","resources":{"requests":{"cpu":"500m","memory":"5"}}}]})",
     1500, 15},
    {"limits where no requests are stated",
     R"({"containers":[{"name":"a","resources":{"limits":{"cpu":"2","memory":"7"}}}]})", 2000, 7},
    {"a large init container",
     R"({"initContainers":[{"name":"i","resources":{"requests":{"cpu":"4"}}}],
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
     4000, 0},
    {"an init container beside the sidecar before it",
     R"({"initContainers":[
           {"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},
           {"name":"i","resources":{"requests":{"cpu":"4"}}}],
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
     6000, 0},
    {"overhead",
     R"({"overhead":{"cpu":"250m","memory":"3"},
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1"}}}]})",
     1250, 4},
    {"the pod's own amounts",
     R"({"resources":{"requests":{"cpu":"3"}},
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1"}}}]})",
     3000, 1},
    {"nothing", R"({"containers":[{"name":"a"}]})", 0, 0},
};

Pod pod_with(const std::string& spec, const std::string& phase = "Running") {
  auto view = wire::Reader().pod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":)" +
                                 spec + R"(,"status":{"phase":")" + phase + R"("}})");
  EXPECT_TRUE(view) << view.error().text;
  return pod_of(*view);
}

TEST(PodOf, RequestsAsTheSchedulerCountsThem) {
  for (const RequestsCase& one : kRequests) {
    EXPECT_EQ(pod_with(one.spec).requests,
              (ResourceList{.milli_cpus = one.milli_cpus, .memory = one.memory, .members = 1}))
        << one.name;
    EXPECT_EQ(pod_with(one.spec, "Succeeded").requests, ResourceList()) << one.name;
  }
}

TEST(PodOf, SaysWhichNodesItMayUse) {
  const Pod pod = pod_with(R"({"nodeSelector":{"zone":"z1"},
      "affinity":{"podAffinity":{},"nodeAffinity":{
        "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],
        "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
          {"matchExpressions":[{"key":"rack","operator":"In","values":["r1","r2"]}],
           "matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},
          {"matchExpressions":[{"key":"gpu","operator":"Exists"}]}]}}},
      "tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"},
        {"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
         "tolerationSeconds":300},
        {"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute",
         "tolerationSeconds":300}]})");
  EXPECT_EQ(pod.nodes.selector.at("zone"), "z1");
  ASSERT_TRUE(pod.nodes.affinity);
  EXPECT_THAT(
      *pod.nodes.affinity,
      ElementsAre(
          NodeTerm{.labels = {{.key = "rack", .op = "In", .values = {"r1", "r2"}}},
                   .fields = {{.key = "metadata.name", .op = "In", .values = {"n1"}}}},
          NodeTerm{.labels = {{.key = "gpu", .op = "Exists", .values = {}}}, .fields = {}}));
  EXPECT_THAT(
      pod.nodes.tolerations,
      ElementsAre(Toleration{.key = "gpu", .op = "Exists", .value = "", .effect = "NoSchedule"}));
  EXPECT_TRUE(
      pod_with(R"({"affinity":null,"nodeSelector":null,"tolerations":null})").nodes.empty());
}

TEST(PodOf, AnMpiJobIsToldApartByItsUid) {
  wire::PodSpecView worker;
  worker.labels = {{"training.kubeflow.org/job-name", "wind"}};
  worker.controller = wire::Controller{.kind = "MPIJob", .name = "wind", .uid = "mpi"};
  EXPECT_EQ(pod_of(worker).owner, "mpi");
  EXPECT_FALSE(owner_is_unknown(worker));
  wire::PodSpecView launcher = worker;
  launcher.controller = wire::Controller{.kind = "Job", .name = "wind-launcher", .uid = "j"};
  EXPECT_EQ(pod_of(launcher).owner, "");
  EXPECT_TRUE(owner_is_unknown(launcher));
  launcher.annotations["pinion.dev/owner-uid"] = "mpi";
  EXPECT_EQ(pod_of(launcher).owner, "mpi");
  EXPECT_FALSE(owner_is_unknown(launcher));
  wire::PodSpecView other;
  other.controller = wire::Controller{.kind = "Job", .name = "j", .uid = "j"};
  EXPECT_FALSE(owner_is_unknown(other));
}

}  // namespace
}  // namespace pinion::cluster
