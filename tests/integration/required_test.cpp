// A runtime that makes no container without the agent (docs/install.md, "Nothing without the
// agent"): containerd 2.2 and later.
#include <gmock/gmock.h>

#include "tests/integration/node.h"
#include "tests/lab/containerd_config.h"

namespace pinion::integration {
namespace {

using testing::HasSubstr;

class Root_Containerd_Required : public NodeTest {
 protected:
  Result<std::shared_ptr<lab::ContainerdLab>> open_lab(const lab::LabOptions& options) override {
    lab::LabOptions requiring = options;
    requiring.required_plugin = "pinion";
    return NodeTest::open_lab(requiring);
  }

  // Nothing is made of a rank, nor of a shared container.
  void expect_refused() {
    for (const lab::PodSpec& spec :
         {rank_spec("early-rank"), lab::best_effort_pod("early", lab::spin(1))}) {
      const auto early = run(spec);
      ASSERT_FALSE(early) << spec.name;
      EXPECT_THAT(early.error().text, HasSubstr("pinion")) << spec.name;
    }
  }
};

TEST_P(Root_Containerd_Required, WithoutTheAgentOnlyPodsThatTolerateItStart) {
  ASSERT_NO_FATAL_FAILURE(expect_refused());
  lab::PodSpec tolerant = lab::best_effort_pod("network", lab::spin(1));
  tolerant.annotations[lab::kTolerated] = "true";
  const auto network = run(tolerant);
  ASSERT_TRUE(ok(network));
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_TRUE(is_pinned(*rank, {*network}));
}

TEST_P(Root_Containerd_Required, AKilledAgentLeavesItsRankPinnedAndNobodyStartsBesideIt) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(*rank);
  agent().kill();
  ASSERT_NO_FATAL_FAILURE(expect_refused());
  EXPECT_EQ(file(*rank), own);
  ASSERT_TRUE(ok(start_agent()));
  const auto late = run_best_effort("late");
  ASSERT_TRUE(ok(late));
  EXPECT_TRUE(is_pinned(*rank, {*late}));
}

INSTANTIATE_TEST_SUITE_P(Newest, Root_Containerd_Required, testing::Values("2.4"), version_name);

}  // namespace
}  // namespace pinion::integration
