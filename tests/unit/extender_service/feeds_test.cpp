#include "cluster/extender/program/feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinion::cluster {
namespace {

using kube::Change;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

json agent_pod(const std::string& uid, const std::string& node, const std::string& host) {
  json pod = {{"metadata", {{"name", "agent-" + uid}, {"namespace", "kube-system"}, {"uid", uid}}},
              {"spec", json::object()},
              {"status", {{"phase", "Running"}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  if (!host.empty()) pod["status"]["podIP"] = host;
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

  agent::Log log_{"error", agent::LogFormat::kText};
  std::vector<Agents> told_;
  AgentPodFeed feed_{9465, [this](const Agents& agents) { told_.push_back(agents); }, log_};
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

TEST_F(AgentPods, TwoOfOneNodeAreOneAgentUntilOneEnds) {
  see(Change::kAdded, a_);
  feed_.on_synced(1);
  const json next = agent_pod("9", "a", "192.0.2.9");
  see(Change::kAdded, next);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.1:9465"}));
  see(Change::kDeleted, a_);
  EXPECT_THAT(told_.back(), ElementsAre(AgentAddress{"a", "192.0.2.9:9465"}));
}

}  // namespace
}  // namespace pinion::cluster
