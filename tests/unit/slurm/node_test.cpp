#include "cluster/slurm/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool fit(const char* constraint) {
  const auto fit = fits(constraint, {"gpu", "ib", "x86-64"});
  EXPECT_TRUE(fit) << constraint;
  return fit && *fit;
}

TEST(Constraint, IsFeaturesWithAndAndOr) {
  EXPECT_TRUE(fit(""));
  EXPECT_TRUE(fit("gpu"));
  EXPECT_FALSE(fit("gp"));
  EXPECT_TRUE(fit("gpu&x86-64"));
  EXPECT_FALSE(fit("gpu&fpga"));
  EXPECT_TRUE(fit("fpga|gpu"));
  EXPECT_FALSE(fit("fpga|gpu&fpga")) << "from left to right, as Slurm does";
  EXPECT_TRUE(fit("gpu|fpga&ib"));
  EXPECT_TRUE(fit("gpu|(fpga&none)"));
  EXPECT_FALSE(fit("(gpu|ib)&fpga"));
}

TEST(Constraint, OfAllNodesTogetherIsRefused) {
  for (const char* text : {"[gpu|ib]", "gpu*2", "[gpu*1&ib*1]", "(gpu", "gpu)", "gpu&", "&gpu",
                           "()", "gpu&&ib", "((((((((((gpu))))))))))"}) {
    EXPECT_FALSE(fits(text, {"gpu", "ib"})) << text;
  }
  EXPECT_FALSE(fits(std::string(1025, 'a'), {"gpu"}));
}

std::vector<Node> four() {
  return {{.name = "n4", .out = "", .features = {"gpu"}, .partitions = {"main"}},
          {.name = "n1", .out = "", .features = {}, .partitions = {"main", "night"}},
          {.name = "n2", .out = "DOWN (x)", .features = {"gpu"}, .partitions = {"main"}},
          {.name = "n3", .out = "", .features = {"gpu"}, .partitions = {"night"}}};
}

TEST(ChooseNodes, TakesThoseWhereSlurmStartsJobs) {
  const Choice all = choose_nodes({}, "", four());
  EXPECT_THAT(all.nodes, ElementsAre("n1", "n3", "n4"));
  EXPECT_EQ(all.others, "n2 is DOWN (x)");
  Job job;
  job.constraint = "gpu";
  job.excluded = {"n4"};
  const Choice few = choose_nodes(job, "main", four());
  EXPECT_THAT(few.nodes, IsEmpty());
  EXPECT_EQ(few.others, "n2 is DOWN (x), 1 lack gpu, 1 are not in partition main, 1 are excluded");
  EXPECT_EQ(choose_nodes({}, "", {four()[0]}), (Choice{.nodes = {"n4"}, .others = ""}));
}

TEST(ChooseNodes, OfAPartitionThatIsNotThereTakesNone) {
  EXPECT_EQ(choose_nodes({}, "none", four()).others, "4 are not in partition none");
}

TEST(ChooseNodes, NamesAFewOfManyThatAreOut) {
  std::vector<Node> nodes;
  for (int i = 0; i < 9; ++i) {
    nodes.push_back(
        {.name = "n" + std::to_string(i), .out = "DOWN", .features = {}, .partitions = {}});
  }
  EXPECT_EQ(choose_nodes({}, "", nodes).others,
            "n0 is DOWN, n1 is DOWN, n2 is DOWN, 6 more are out of service");
  Job job;
  job.constraint = "[a|b]";
  EXPECT_THAT(choose_nodes(job, "", nodes).others,
              HasSubstr("--constraint=[a|b] cannot be placed"));
}

}  // namespace
}  // namespace pinion::slurm
