// By which nodes a policy cuts a job: those that its pods may use now.
#include <gtest/gtest.h>

#include "cluster/extender/jobs/decision.h"
#include "cluster/extender/scheduling/node_facts.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster::jobs {
namespace {

constexpr const char* kNodes[] = {"a", "b", "c", "d"};

class ChooseTest : public testing::Test {
 protected:
  ChooseTest() {
    for (const char* name : kNodes) {
      EXPECT_TRUE(scheduler_.report(report_of(name, paper_machine(), kPaperReserved), 0));
      says(name, {}, {});
    }
  }
  void says(const std::string& name, std::vector<Taint> taints,
            const std::map<std::string, std::string>& labels) {
    NodeView view;
    view.name = name;
    view.taints = std::move(taints);
    view.labels = labels;
    view.allocatable = {.milli_cpus = 8000, .memory = 64 << 20, .members = 110};
    facts_.told(view, 0);
  }
  // Of 8 tasks, for which `scale` takes a worker a node; 0: none.
  int nodes_of(const NodeDemand& where) {
    const Choose choose = choose_by([this](const auto& see) {
      see({.fleet = scheduler_.fleet(),
           .allowed = [this](const NodeDemand& demand) { return facts_.allowed(demand); }});
    });
    const auto chosen = choose({.tasks = 8, .profile = Profile::kCpu}, Policy::kScale, 0, where);
    return chosen ? chosen->nodes : 0;
  }

  Scheduler scheduler_{SchedulerSettings()};
  NodeFacts facts_{scheduler_};
};

TEST_F(ChooseTest, NodesThatTheJobMayNotUseDoNotCount) {
  EXPECT_EQ(nodes_of({}), 4);
  says("a", {{.key = "node.kubernetes.io/unschedulable", .value = {}, .effect = "NoSchedule"}}, {});
  EXPECT_EQ(nodes_of({}), 3) << "one is cordoned";
  says("b", {{.key = "gpu", .value = {}, .effect = "NoSchedule"}}, {{"zone", "z1"}});
  EXPECT_EQ(nodes_of({}), 2) << "one has a taint, too";
  NodeDemand where;
  where.tolerations = {{.key = "gpu", .op = "Exists", .value = {}, .effect = {}}};
  EXPECT_EQ(nodes_of(where), 3) << "which it tolerates";
  where.selector = {{"zone", "z1"}};
  EXPECT_EQ(nodes_of(where), 1);
  where.selector = {{"zone", "z2"}};
  EXPECT_EQ(nodes_of(where), 0);
}

}  // namespace
}  // namespace pinion::cluster::jobs
