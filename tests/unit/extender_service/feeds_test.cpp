#include "cluster/extender/program/feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cluster/extender/program/config.h"
#include "cluster/extender/program/server_name.h"

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

}  // namespace
}  // namespace pinion::cluster
