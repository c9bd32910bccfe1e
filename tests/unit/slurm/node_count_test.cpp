#include "cluster/slurm/node_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Phase = Placeholder::Phase;

TEST(Wishes, AreNumbersThatTheExtenderTakes) {
  EXPECT_THAT(*wishes_in("elastic priority=-5,rescale-gap-seconds=0 run-seconds=60 other=x"),
              ElementsAre(Pair("priority", "-5"), Pair("rescale-gap-seconds", "0"),
                          Pair("run-seconds", "60")));
  EXPECT_THAT(*wishes_in("elastic"), IsEmpty());
  for (const char* wrong : {"priority=high", "priority=1.5", "priority=1000000001",
                            "rescale-gap-seconds=-1", "run-seconds=0"}) {
    const auto wishes = wishes_in(wrong);
    ASSERT_FALSE(wishes) << wrong;
    EXPECT_THAT(wishes.error().text, HasSubstr("is to be a number from ")) << wrong;
  }
}

// Placeholders as "N" and their node, in the order of their index; a small letter: it does not run
// yet; "-": it has no node; "!": it is lost.
std::vector<Placeholder> pods(const std::vector<std::string>& nodes) {
  std::vector<Placeholder> all;
  for (const std::string& node : nodes) {
    Placeholder pod;
    pod.index = static_cast<int>(all.size());
    pod.name = std::to_string(pod.index);
    pod.cpus = 2;
    pod.phase = Phase::kRunning;
    pod.node = node;
    if (node == "-") {
      pod.phase = Phase::kWaiting;
      pod.node = "";
    } else if (node.front() == '!') {
      pod.phase = Phase::kLost;
      pod.node = node.substr(1);
    } else if (node.front() == 'n') {
      pod.phase = Phase::kWaiting;
      pod.node.front() = 'N';
    }
    all.push_back(pod);
  }
  return all;
}

struct Case {
  const char* name;
  std::vector<std::string> on;  // the first is the batch host
  std::vector<std::string> pods;
  int nodes;
  std::vector<std::string> keep;  // by index
  std::vector<std::string> drop;
  std::vector<std::string> leave_to;
  std::string take;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class FitOf : public testing::TestWithParam<Case> {};

TEST_P(FitOf, Is) {
  Job job;
  job.on = GetParam().on;
  if (!job.on.empty()) job.batch_host = job.on.front();
  const std::vector<Placeholder> all = pods(GetParam().pods);
  std::vector<const Placeholder*> pointers;
  for (const Placeholder& pod : all) pointers.push_back(&pod);
  const Fit fit = fit_of(job, pointers, GetParam().nodes, 2);
  const auto names = [](const std::vector<const Placeholder*>& some) {
    std::vector<std::string> some_names;
    for (const Placeholder* pod : some) some_names.push_back(pod->name);
    return some_names;
  };
  EXPECT_EQ(names(fit.keep), GetParam().keep);
  EXPECT_EQ(names(fit.drop), GetParam().drop);
  EXPECT_EQ(fit.leave_to, GetParam().leave_to);
  EXPECT_EQ(fit.take == nullptr ? "" : fit.take->name, GetParam().take);
}

INSTANTIATE_TEST_SUITE_P(
    Resizes, FitOf,
    testing::Values(
        Case{"nothing_yet", {}, {}, 3, {}, {}, {}, ""},
        Case{"before_its_start_those_that_run_stay",
             {},
             {"-", "n1", "N2", "N3"},
             2,
             {"2", "3"},
             {"1", "0"},
             {},
             "2"},
        Case{"as_many_as_wanted", {"N1", "N2"}, {"N2", "N1"}, 2, {"1", "0"}, {}, {}, ""},
        Case{"the_batch_host_stays",
             {"N3", "N1", "N2"},
             {"N1", "N2", "N3"},
             1,
             {"2"},
             {},
             {"N3"},
             ""},
        Case{"beside_it_those_with_the_lowest_index",
             {"N3", "N1", "N2"},
             {"N1", "N2", "N3"},
             2,
             {"2", "0"},
             {},
             {"N1", "N3"},
             ""},
        Case{"what_it_has_left_goes", {"N3"}, {"N1", "N2", "N3"}, 1, {"2"}, {"0", "1"}, {}, ""},
        Case{"a_new_one_that_runs_is_taken_in",
             {"N1"},
             {"N1", "-", "n2", "N3"},
             4,
             {"0", "3", "2", "1"},
             {},
             {},
             "3"},
        Case{"new_ones_go_first",
             {"N1", "N2"},
             {"N1", "N2", "N3", "-"},
             2,
             {"0", "1"},
             {"2", "3"},
             {},
             ""},
        Case{"a_lost_one_is_of_no_use", {"N1"}, {"N1", "!N2"}, 2, {"0"}, {"1"}, {}, ""},
        Case{"nor_is_a_second_one_on_a_node", {"N1"}, {"N1", "N1"}, 2, {"0"}, {"1"}, {}, ""}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(FitOf, ThoseWithOtherCpusAreOfNoUse) {
  const std::vector<Placeholder> all = pods({"N1"});
  EXPECT_THAT(fit_of(Job(), {all.data()}, 1, 3).drop, ElementsAre(all.data()));
}

TEST(NodeCount, AsksUntilItIsAnswered) {
  NodeCount count;
  count.suspended = false;
  count.stated = 3;
  EXPECT_FALSE(count.asks());
  EXPECT_EQ(count.target(), 3);
  count.wanted = 1;
  EXPECT_TRUE(count.asks());
  EXPECT_EQ(count.target(), 1);
  count.acknowledged = 1;
  EXPECT_FALSE(count.asks());
  count.acknowledged = 3;
  EXPECT_FALSE(count.asks()) << "declined";
  count.wanted = 4;
  EXPECT_FALSE(count.asks()) << "nobody waits for more";
}

}  // namespace
}  // namespace pinion::slurm
