// A cluster, by what kubectl prints of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <set>

#include "ctl/common/kubectl.h"
#include "ctl/doctor/check_cluster.h"
#include "ctl/doctor/cluster_objects.h"
#include "ctl/doctor/read_cluster.h"
#include "tests/unit/ctl/doctor/cases.h"

namespace pinion::ctl::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// Made by "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=ca -days 36500".
constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBcTCCARegAwIBAgIUfaBMguqvO7M6mRLKQBrkgUfLKuowCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI0MjAxMjE0WhgPMjEyNjEwMzEyMDEyMTRa
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/RAJrQ4N
Njye0HfHMZy/j4h1yd9WdgNSxOdvVdBJsoBIlP8Ye0fjg90R1Rg5972VH/XY77oh
1Q2oh/ra0nOBJaNTMFEwHQYDVR0OBBYEFHi1wGZ6clq3L52bNl0AfAaQ77meMB8G
A1UdIwQYMBaAFHi1wGZ6clq3L52bNl0AfAaQ77meMA8GA1UdEwEB/wQFMAMBAf8w
CgYIKoZIzj0EAwIDSAAwRQIgMtC6rCjBycTrMN22xlT1Tq1K14FnkIfuemNB6hps
BmACIQCxTKmjvs2Eh2MeNUiG4yD2DV9hD76AsHpf0y8dHNqM+A==
-----END CERTIFICATE-----
)";
constexpr std::int64_t kNow = 2'000'000'000;  // the certificate is valid then

// Two nodes with an agent each, two extenders of which one leads.
struct Cluster : ClusterFacts {
  Cluster() {
    nodes = std::vector<ClusterNode>{{.name = "a", .linux = true, .ready = true},
                                     {.name = "b", .linux = true, .ready = true},
                                     {.name = "w", .linux = false, .ready = true}};
    pods = std::vector<ClusterPod>{
        pod("pinion-agent", "agent-a", "a"), pod("pinion-agent", "agent-b", "b"),
        pod("pinion-extender", "extender-1", "a"), pod("pinion-extender", "extender-2", "b")};
    (*pods)[2].leads = true;
    webhooks = std::vector<Webhook>{
        {.name = "pods.pinion.dev", .ca_bundle = kCertificate, .failure_policy = "Ignore"}};
    renewals = std::map<std::string, std::int64_t>{{"a", kNow - 9}, {"b", kNow + 1}};
    leader = Result<Series>(
        Series{{"pinion_extender_agents_connected", 2},
               {"pinion_extender_nodes{state=\"live\"}", 2},
               {"pinion_extender_nodes{state=\"stale\"}", 0},
               {"pinion_extender_http_calls_total{verb=\"filter\",result=\"ok\"}", 1}});
    now = kNow;
  }

  static ClusterPod pod(const char* program, const char* name, const char* node) {
    return {.name_space = "pinion-system",
            .name = name,
            .program = program,
            .node = node,
            .ready = true,
            .leads = false,
            .web_port = 10271,
            .waiting = ""};
  }
};

TEST(DoctorOfACluster, FindsNothingInAGoodOne) {
  const Findings findings = check_cluster(Cluster());
  EXPECT_THAT(findings, Each(Field(&Finding::severity, Severity::kGood)));
  std::set<std::string> ids;
  for (const Finding& each : findings) ids.insert(each.id);
  EXPECT_EQ(ids, documented_ids("a cluster"));
  EXPECT_THAT(ids, SizeIs(6));
}

class DoctorFindsInACluster : public testing::TestWithParam<Spoiled<Cluster>> {};

TEST_P(DoctorFindsInACluster, WhatIsWrong) {
  expect_found(GetParam(), Cluster(), [](const Cluster& c) { return check_cluster(c); });
}

INSTANTIATE_TEST_SUITE_P(
    Cluster, DoctorFindsInACluster,
    testing::Values(
        Spoiled<Cluster>{
            "NodeWithoutAgent",
            [](Cluster& c) { c.nodes->push_back({.name = "c", .linux = true, .ready = true}); },
            Severity::kWarning, "agents", "1 of 4 nodes have no agent: c", "tolerations"},
        Spoiled<Cluster>{"AgentNotReady",
                         [](Cluster& c) {
                           (*c.pods)[1].ready = false;
                           (*c.pods)[1].waiting = "CrashLoopBackOff";
                         },
                         Severity::kError, "agents", "agent-b on b (CrashLoopBackOff)",
                         "kubectl logs"},
        Spoiled<Cluster>{
            "AgentSilent", [](Cluster& c) { (**c.leader)["pinion_extender_agents_connected"] = 1; },
            Severity::kError, "agents-silent", "hears 1 of 2 agents", "agentServerName"},
        Spoiled<Cluster>{
            "AgentStale",
            [](Cluster& c) { (**c.leader)["pinion_extender_nodes{state=\"stale\"}"] = 1; },
            Severity::kError, "agents-silent", "1 node(s) have an agent that is silent",
            "pinionctl doctor"},
        Spoiled<Cluster>{
            "SchedulerNotConfigured",
            [](Cluster& c) {
              (**c.leader)["pinion_extender_http_calls_total{verb=\"filter\",result=\"ok\"}"] = 0;
              (**c.leader)["pinion_extender_http_calls_total{verb=\"bind\",result=\"ok\"}"] = 5;
            },
            Severity::kWarning, "scheduler", "no scheduler has asked",
            "KubeSchedulerConfiguration"},
        Spoiled<Cluster>{"ExtenderNotReady", [](Cluster& c) { (*c.pods)[3].ready = false; },
                         Severity::kError, "extender", "not ready: extender-2", "kubectl logs"},
        Spoiled<Cluster>{"NobodyLeads",
                         [](Cluster& c) {
                           (*c.pods)[2].leads = false;
                           c.leader.reset();
                         },
                         Severity::kError, "extender", "0 extenders lead", "Lease"},
        Spoiled<Cluster>{"TwoLead", [](Cluster& c) { (*c.pods)[3].leads = true; }, Severity::kError,
                         "extender", "2 extenders lead", "Lease"},
        Spoiled<Cluster>{"LeaderUnread",
                         [](Cluster& c) {
                           c.leader = Result<Series>(failure(
                               Error{.code = Errc::kDenied, .text = "pods/proxy: Forbidden"}));
                         },
                         Severity::kUnknown, "scheduler", "pods/proxy", "let who asks"},
        Spoiled<Cluster>{"NoWebhook", [](Cluster& c) { c.webhooks->clear(); }, Severity::kError,
                         "webhook", "no webhook is registered", "helm upgrade"},
        Spoiled<Cluster>{"NoCaBundle", [](Cluster& c) { (*c.webhooks)[0].ca_bundle.clear(); },
                         Severity::kError, "webhook", "pods.pinion.dev has no caBundle",
                         "cainjector"},
        Spoiled<Cluster>{"BrokenCaBundle", [](Cluster& c) { (*c.webhooks)[0].ca_bundle = "x"; },
                         Severity::kError, "webhook", "caBundle is none", "cainjector"},
        Spoiled<Cluster>{"ExpiredCaBundle",
                         [](Cluster& c) {
                           c.now = 9'000'000'000;
                           for (auto& [node, time] : *c.renewals) time = c.now;
                         },
                         Severity::kError, "webhook", "has expired", "renew"},
        Spoiled<Cluster>{"ClockAhead", [](Cluster& c) { (*c.renewals)["b"] = kNow + 3; },
                         Severity::kWarning, "clocks", "b (3 s ahead)", "NTP"},
        Spoiled<Cluster>{"ClockBehind", [](Cluster& c) { (*c.renewals)["a"] = kNow - 41; },
                         Severity::kWarning, "clocks", "a (41 s behind)", "NTP"},
        Spoiled<Cluster>{"LeasesUnread",
                         [](Cluster& c) {
                           c.renewals =
                               failure(Error{.code = Errc::kDenied, .text = "leases: Forbidden"});
                         },
                         Severity::kUnknown, "clocks", "leases", "let who asks"}),
    [](const auto& one) { return one.param.name; });

TEST(DoctorOfACluster, ASilentNodesClockIsNotJudged) {
  Cluster cluster;
  (*cluster.renewals)["a"] = kNow - 1000;
  (*cluster.nodes)[0].ready = false;
  EXPECT_THAT(check_clocks(cluster), ElementsAre(finding(Severity::kGood, "clocks", "", "")));
}

TEST(DoctorOfACluster, AgentsAloneAreEnough) {
  Cluster cluster;
  cluster.pods->resize(2);
  cluster.webhooks->clear();
  cluster.leader.reset();
  EXPECT_THAT(check_cluster(cluster), Each(Field(&Finding::severity, Severity::kGood)));
}

TEST(DoctorOfACluster, NothingReadIsNothingGood) {
  ClusterFacts facts;
  facts.webhooks = failure(Errc::kDenied, "forbidden");
  EXPECT_THAT(check_cluster(facts),
              AllOf(SizeIs(4), Each(Field(&Finding::severity, Severity::kUnknown))));
}

TEST(DoctorOfACluster, AnApiServerThatIsNotReachedIsSaidOnce) {
  const Error why{Errc::kUnavailable, 0, "kubectl: the connection was refused"};
  ClusterFacts facts;
  facts.nodes = failure(why);
  facts.pods = failure(why);
  facts.webhooks = failure(why);
  facts.renewals = failure(why);
  EXPECT_THAT(check_cluster(facts), AllOf(SizeIs(1), Each(Field(&Finding::what, why.text))));
}

TEST(ClusterObjects, NodesAreRead) {
  const auto nodes = read_nodes(R"({"items": [
    {"metadata": {"name": "a", "labels": {"kubernetes.io/os": "linux"}},
     "status": {"conditions": [{"type": "DiskPressure", "status": "False"},
                               {"type": "Ready", "status": "True"}]}},
    {"metadata": {"name": "w", "labels": {"kubernetes.io/os": "windows"}},
     "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
    {"metadata": {"name": "c"}}]})");
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(ClusterNode{.name = "a", .linux = true, .ready = true},
                                  ClusterNode{.name = "w", .linux = false, .ready = false},
                                  ClusterNode{.name = "c", .linux = true, .ready = false}));
}

TEST(ClusterObjects, PodsAreReadButThoseThatGo) {
  const auto pods = read_pods(R"({"items": [
    {"metadata": {"namespace": "n", "name": "x", "labels":
        {"app.kubernetes.io/name": "pinion-extender", "pinion.dev/leader": "true"}},
     "spec": {"nodeName": "a", "containers": [{"ports": [
        {"name": "scheduler", "containerPort": 1}, {"name": "web", "containerPort": 2}]}]},
     "status": {"conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"state": {"running": {}}}]}},
    {"metadata": {"name": "gone", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    {"metadata": {"namespace": "n", "name": "y", "labels": {"app.kubernetes.io/name": "pinion-agent"}},
     "status": {"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}]})");
  ASSERT_TRUE(pods);
  EXPECT_THAT(*pods, ElementsAre(ClusterPod{.name_space = "n",
                                            .name = "x",
                                            .program = "pinion-extender",
                                            .node = "a",
                                            .ready = true,
                                            .leads = true,
                                            .web_port = 2,
                                            .waiting = ""},
                                 ClusterPod{.name_space = "n",
                                            .name = "y",
                                            .program = "pinion-agent",
                                            .node = "",
                                            .ready = false,
                                            .leads = false,
                                            .web_port = 10271,
                                            .waiting = "CrashLoopBackOff"}));
}

TEST(ClusterObjects, WebhooksAreReadWithTheirBundles) {
  const auto webhooks = read_webhooks(R"({"items": [{"webhooks": [
    {"name": "one", "failurePolicy": "Fail", "clientConfig": {"caBundle": "YWJjZA=="}},
    {"name": "two", "clientConfig": {}}, {"name": "three", "clientConfig": {"caBundle": "?"}}]},
    {"webhooks": 1}]})");
  ASSERT_TRUE(webhooks);
  EXPECT_THAT(*webhooks,
              ElementsAre(Webhook{.name = "one", .ca_bundle = "abcd", .failure_policy = "Fail"},
                          Webhook{.name = "two", .ca_bundle = "", .failure_policy = ""},
                          Webhook{.name = "three", .ca_bundle = "", .failure_policy = ""}));
}

TEST(ClusterObjects, RenewalsAreRead) {
  const auto renewals = read_renewals(R"({"items": [
    {"metadata": {"name": "a"}, "spec": {"renewTime": "2001-09-09T01:46:40.900000Z"}},
    {"metadata": {"name": "b"}, "spec": {"renewTime": "today"}}, {"metadata": {"name": "c"}}]})");
  ASSERT_TRUE(renewals);
  EXPECT_THAT(*renewals, ElementsAre(Pair("a", 1'000'000'000)));
}

TEST(ClusterObjects, SeriesAreRead) {
  const auto series = read_series(
      "# HELP x of it\nx 2\ny{state=\"a b\"} 1.5e3 1700000000\nz{le=\"+Inf\"} NaN\n\nlast 1");
  ASSERT_TRUE(series);
  EXPECT_THAT(*series, ElementsAre(Pair("last", 1), Pair("x", 2), Pair("y{state=\"a b\"}", 1500)));
  EXPECT_FALSE(read_series("<html>"));
  EXPECT_FALSE(read_series("x y\n"));
}

TEST(ClusterObjects, WhatIsNoListIsSaid) {
  for (const char* text : {"", "[]", "{}", R"({"items": 1})", "Error from server"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(read_nodes(text));
    EXPECT_FALSE(read_pods(text));
    EXPECT_FALSE(read_webhooks(text));
    EXPECT_FALSE(read_renewals(text));
  }
}

// kubectl that knows a few questions.
TEST(DoctorReadsACluster, ByAFewCalls) {
  std::vector<std::string> asked;
  const auto kubectl = [&asked](const std::vector<std::string>& arguments) -> Result<std::string> {
    EXPECT_EQ(arguments.at(0), "get");
    const std::string what = arguments.at(1) == "--raw" ? arguments.at(2) : arguments.at(1);
    asked.push_back(what);
    if (what == "nodes") return R"({"items": [{"metadata": {"name": "a"}}]})";
    if (what == "pods") {
      return R"({"items": [{"metadata": {"namespace": "n", "name": "x", "labels":
        {"app.kubernetes.io/name": "pinion-extender", "pinion.dev/leader": "true"}}}]})";
    }
    if (what == "leases") return failure(Errc::kDenied, "Forbidden");
    if (what.find("/proxy/") != std::string::npos) return "x 1\n";
    return "none";
  };
  const ClusterFacts facts = read_cluster(kubectl, [] { return kNow; });
  EXPECT_THAT(asked, ElementsAre("nodes", "pods", "mutatingwebhookconfigurations", "leases",
                                 "/api/v1/namespaces/n/pods/https:x:10271/proxy/metrics"));
  ASSERT_TRUE(facts.nodes);
  EXPECT_THAT(*facts.nodes, SizeIs(1));
  ASSERT_FALSE(facts.webhooks);
  EXPECT_THAT(facts.webhooks.error().text, HasSubstr("kubectl get mutatingwebhookconfigurations"));
  ASSERT_FALSE(facts.renewals);
  EXPECT_EQ(facts.renewals.error().code, Errc::kDenied);
  ASSERT_TRUE(facts.leader);
  ASSERT_TRUE(*facts.leader);
  EXPECT_THAT(**facts.leader, ElementsAre(Pair("x", 1)));
  EXPECT_EQ(facts.now, kNow);
}

TEST(Kubectl, GivesWhatTheProgramPrints) {
  EXPECT_EQ(run_kubectl("/bin/sh", {"-c", "echo out; echo noise >&2"}), "out\n");
  // More than a pipe holds, on both.
  const auto much =
      run_kubectl("/bin/sh", {"-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"});
  ASSERT_TRUE(much);
  EXPECT_EQ(much->size(), 300000U);
}

TEST(Kubectl, SaysWhyItFailed) {
  struct Case {
    const char* name;
    const char* program;
    const char* script;
    Errc code;
    const char* text;
  };
  for (const Case& one :
       {Case{"missing", "/nonexistent/kubectl", "", Errc::kNotFound, "/nonexistent/kubectl"},
        Case{"forbidden", "/bin/sh", "echo 'Error from server (Forbidden): no' >&2; exit 1",
             Errc::kDenied, "Forbidden"},
        Case{"refused", "/bin/sh", "echo 'connection refused' >&2; exit 1", Errc::kUnavailable,
             "connection refused"},
        Case{"the last of several lines", "/bin/sh",
             "echo 'E1128 memcache.go:265' >&2; echo 'connection refused' >&2; exit 1",
             Errc::kUnavailable, "/bin/sh: connection refused"},
        Case{"silent", "/bin/sh", "exit 3", Errc::kUnavailable, "failed"},
        Case{"killed", "/bin/sh", "kill -9 $$", Errc::kUnavailable, "failed"}}) {
    SCOPED_TRACE(one.name);
    const auto output = run_kubectl(one.program, {"-c", one.script});
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, one.code);
    EXPECT_THAT(output.error().text, HasSubstr(one.text));
  }
}

}  // namespace
}  // namespace pinion::ctl::doctor
