// While the gate is closed nobody decides, and the scheduler is told why.
#include "cluster/extender/service/gate.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

class Counting : public Callbacks {
 public:
  wire::FilterAnswer filter(const wire::FilterAsk&) override {
    ++asked;
    return {.nodes = {0}};
  }
  wire::PrioritizeAnswer prioritize(const wire::FilterAsk&) override {
    ++asked;
    return {.scores = {7}};
  }
  wire::BindAnswer bind(const wire::BindAsk&) override {
    ++asked;
    return {};
  }
  wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) override {
    ++asked;
    return {.nodes = ask.nodes};
  }
  void stopping() override { ++stopped; }

  int asked = 0;
  int stopped = 0;
};

TEST(Gate, ClosedAnswersErrorsAndAsksNobody) {
  Counting inner;
  std::string why = "another replica leads";
  Gate gate(inner, [&] { return why; });
  const std::string text = "Pinion's extender cannot decide now: another replica leads";
  wire::PreemptAsk preemption;
  preemption.nodes = {{.node = "a", .uids = {"u"}}};
  EXPECT_EQ(gate.filter({}).error, text);
  EXPECT_TRUE(gate.prioritize({}).scores.empty());
  EXPECT_EQ(gate.bind({}).error, text);
  EXPECT_TRUE(gate.preempt(preemption).nodes.empty()) << "nobody is evicted on a guess";
  EXPECT_EQ(inner.asked, 0);

  why.clear();
  EXPECT_EQ(gate.filter({}).nodes.size(), 1U);
  EXPECT_EQ(gate.prioritize({}).scores.size(), 1U);
  EXPECT_EQ(gate.bind({}).error, "");
  EXPECT_EQ(gate.preempt(preemption).nodes.size(), 1U);
  EXPECT_EQ(inner.asked, 4);
  gate.stopping();
  EXPECT_EQ(inner.stopped, 1) << "those that are held are let go at the end, open or not";
}

}  // namespace
}  // namespace pinion::cluster
