#include "cluster/extender/scheduling/demand.h"

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

struct DemandCase {
  const char* name;
  Pod pod;
  Demand::Kind kind;
  const char* text;
};

TEST(Demand, OfAPod) {
  Pod burstable = pod_of("p", 2);
  burstable.qos = policy::Qos::kBurstable;
  Pod insists = burstable;
  insists.annotations["pinion.dev/cpus"] = "exclusive";
  Pod part = pod_of("p", 1);
  part.containers[0].milli_cpus = 1500;
  Pod no_limit = pod_of("p", 1);
  no_limit.containers[0].milli_cpus.reset();
  Pod two = member_of("j", 0, 2, 2);
  two.containers.push_back(two.containers[0]);
  two.containers[1].name = "other";
  Pod beside = member_of("j", 0, 2, 2);
  beside.containers.push_back({.name = "sidecar", .milli_cpus = 500, .memory = 0});
  Pod guest = pod_of("p", 2);
  guest.runtime_class = "kata-qemu";
  const std::vector<DemandCase> cases{
      {"in a virtual machine", guest, Demand::Kind::kNone, ""},
      {"guaranteed, whole", pod_of("p", 2), Demand::Kind::kSingle, ""},
      {"burstable", burstable, Demand::Kind::kNone, ""},
      {"burstable, insists", insists, Demand::Kind::kRefused, "Guaranteed"},
      {"a part of a CPU", part, Demand::Kind::kNone, ""},
      {"no limit", no_limit, Demand::Kind::kNone, ""},
      {"opts out", pod_of("p", 2, {{"cpus", "shared"}}), Demand::Kind::kNone, ""},
      {"a job alone", pod_of("p", 2, {{"job", "j"}}), Demand::Kind::kSingle, ""},
      {"a member", member_of("j", 0, 2, 2), Demand::Kind::kMember, ""},
      {"a member with a sidecar", beside, Demand::Kind::kMember, ""},
      {"a member of two ranks", two, Demand::Kind::kMember, ""},
      {"a gang without a job", pod_of("p", 2, {{"gang-size", "2"}}), Demand::Kind::kRefused,
       "without pinion.dev/job"},
      {"no number", pod_of("p", 2, {{"job", "j"}, {"gang-size", "2x"}}), Demand::Kind::kRefused,
       "not a number from 1 to 1000"},
      {"none", member_of("j", 0, 0, 2), Demand::Kind::kRefused, "not a number"},
      {"negative", member_of("j", 0, -3, 2), Demand::Kind::kRefused, "not a number"},
      {"an unknown placement", pod_of("p", 2, {{"placement", "best"}}), Demand::Kind::kRefused,
       "pinion.dev/placement: none of holes"},
      {"the cluster's for services", pod_of("p", 2, {{"placement", "fill"}}),
       Demand::Kind::kRefused, "pinion.dev/placement: none of holes"},
      {"no nodes", pod_of("p", 2, {{"nodes", "0"}}), Demand::Kind::kRefused,
       "pinion.dev/nodes: not a number from 1"},
      {"an unknown class", pod_of("p", 2, {{"class", "batch"}}), Demand::Kind::kRefused,
       "use one of: hpc, service"},
      {"an unknown class, without cores", pod_of("p", 2, {{"class", "batch"}, {"cpus", "shared"}}),
       Demand::Kind::kRefused, "use one of: hpc, service"},
      {"too many", member_of("j", 0, 1001, 2), Demand::Kind::kRefused, "not a number"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const Demand demand = demand_of(test.pod, policy::Defaults());
    EXPECT_EQ(demand.kind, test.kind);
    EXPECT_NE(demand.text.find(test.text), std::string::npos) << demand.text;
    if (demand.kind == Demand::Kind::kMember) {
      EXPECT_EQ(demand.gang, "default/j");
      EXPECT_EQ(demand.size, 2);
    }
    EXPECT_FALSE(demand.placement);
    if (demand.kind == Demand::Kind::kSingle) {
      EXPECT_EQ(demand.requests.at(0).id, "p/main");
      EXPECT_EQ(demand.requests[0].cpus, 2);
      EXPECT_EQ(demand.requests[0].memory, kGiB);
    }
  }
}

TEST(DemandTest, AJobNamesHowManyNodesItMayUse) {
  EXPECT_EQ(demand_of(pod_of("p", 2, {{"nodes", "3"}}), policy::Defaults()).nodes, 3);
  EXPECT_EQ(demand_of(pod_of("p", 2), policy::Defaults()).nodes, 0);
}

TEST(DemandTest, WhatTheOperatorDoesNotAllowIsRefused) {
  const Pod pod = pod_of("p", 2, {{"smt", "one-per-core"}});
  policy::Defaults defaults;
  const Demand refused = demand_of(pod, defaults);
  EXPECT_EQ(refused.kind, Demand::Kind::kRefused);
  EXPECT_NE(refused.text.find("allowedPrivileges does not have 'one-per-core'"), std::string::npos)
      << refused.text;
  defaults.privileges.insert(policy::Privilege::kOnePerCore);
  EXPECT_EQ(demand_of(pod, defaults).kind, Demand::Kind::kSingle);
}

TEST(DemandTest, AJobNamesItsPlacement) {
  const Pod pod = pod_of("p", 2, {{"placement", "least-loaded"}});
  EXPECT_EQ(demand_of(pod, policy::Defaults()).placement, PlacementPolicy::kLeastLoaded);
}

TEST(DemandTest, AServiceIsOneByItsClassOrByItsTarget) {
  const auto service = [](std::map<std::string, std::string> annotations) {
    return demand_of(pod_of("p", 2, std::move(annotations)), policy::Defaults()).service;
  };
  EXPECT_FALSE(service({}));
  EXPECT_FALSE(service({{"class", "hpc"}}));
  EXPECT_TRUE(service({{"class", "service"}}));
  EXPECT_TRUE(service({{"class", "service"}, {"cpus", "shared"}}));
  EXPECT_TRUE(service({{"service-metric", "up"}}));
  EXPECT_FALSE(service({{"service-metric", "up"}, {"class", "hpc"}})) << "its own word counts";
}

}  // namespace
}  // namespace pinion::cluster
