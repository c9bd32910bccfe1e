#include "agent/api/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/api/samples.h"

namespace pinion::agent::api {
namespace {

using testing::HasSubstr;

v1::PlanRequest::Request asked(const std::string& id, std::uint32_t cpus) {
  v1::PlanRequest::Request wish;
  wish.set_id(id);
  wish.set_cpus(cpus);
  wish.set_smt("pack");
  return wish;
}

v1::PlanRequest plan_of(const std::vector<v1::PlanRequest::Request>& wishes) {
  v1::PlanRequest plan;
  for (const auto& wish : wishes) *plan.add_requests() = wish;
  return plan;
}

TEST(PlanFromTheWire, ReadsEveryField) {
  v1::PlanRequest::Request wish = asked("a", 3);
  wish.set_align("l3");
  wish.set_strength("preferred");
  wish.set_smt("one-per-core");
  wish.set_memory_policy("any");
  wish.set_memory(77);
  wish.set_near_device("eth0");
  wish.set_job("j");
  wish.set_task_group("g");
  wish.set_profile("network");
  wish.set_use_isolated(true);
  const auto requests = requests_of(plan_of({wish}));
  ASSERT_TRUE(requests) << requests.error().text;
  const topology::Request& request = requests->at(0);
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.cpus, 3);
  EXPECT_EQ(request.align, topology::Align::kL3);
  EXPECT_EQ(request.strength, topology::Strength::kPreferred);
  EXPECT_EQ(request.smt, topology::Smt::kOnePerCore);
  EXPECT_EQ(request.memory_policy, topology::MemoryPolicy::kAny);
  EXPECT_EQ(request.memory, 77U);
  EXPECT_EQ(request.near_device, "eth0");
  EXPECT_EQ(request.job, "j");
  EXPECT_EQ(request.task_group, "g");
  EXPECT_EQ(request.profile, topology::Profile::kNetwork);
  EXPECT_TRUE(request.use_isolated);
}

TEST(PlanFromTheWire, EmptyWordsAreTheDefaultsOfTheProto) {
  v1::PlanRequest::Request wish = asked("a", 1);
  wish.clear_smt();
  const auto requests = requests_of(plan_of({wish}));
  ASSERT_TRUE(requests);
  const topology::Request& request = requests->at(0);
  EXPECT_EQ(request.align, topology::Align::kNuma);
  EXPECT_EQ(request.strength, topology::Strength::kRequired);
  EXPECT_EQ(request.smt, topology::Smt::kPreferFull);
  EXPECT_FALSE(request.use_isolated);
  EXPECT_EQ(request.memory_policy, topology::MemoryPolicy::kBind);
  EXPECT_EQ(request.profile, topology::Profile::kNone);
}

TEST(PlanFromTheWire, ErrorsNameTheRequestAndTheField) {
  struct Case {
    void (*spoil)(v1::PlanRequest::Request&);
    const char* text;
  };
  const Case cases[] = {
      {[](auto& wish) { wish.set_id(""); }, "requests[1]: id must not be empty"},
      {[](auto& wish) { wish.set_id("a"); }, "requests[1] 'a': id is given twice"},
      {[](auto& wish) { wish.set_cpus(0); }, "requests[1] 'b': cpus must be from 1 to 4096, not 0"},
      {[](auto& wish) { wish.set_cpus(4'000'000'000U); }, "requests[1] 'b': cpus must be"},
      {[](auto& wish) { wish.set_align("core"); },
       "requests[1] 'b': align 'core' is unknown, use one of: l3, numa, socket, none"},
      {[](auto& wish) { wish.set_strength("x"); }, "requests[1] 'b': strength 'x'"},
      {[](auto& wish) { wish.set_smt("x"); }, "requests[1] 'b': smt 'x'"},
      {[](auto& wish) { wish.set_memory_policy("x"); }, "requests[1] 'b': memory_policy 'x'"},
      {[](auto& wish) { wish.set_profile("x"); }, "requests[1] 'b': profile 'x'"},
  };
  for (const Case& test : cases) {
    v1::PlanRequest plan = plan_of({asked("a", 1), asked("b", 1)});
    test.spoil(*plan.mutable_requests(1));
    const auto requests = requests_of(plan);
    ASSERT_FALSE(requests) << test.text;
    EXPECT_EQ(requests.error().code, Errc::kInvalid);
    EXPECT_THAT(requests.error().text, HasSubstr(test.text));
  }
}

TEST(PlanFromTheWire, ErrorsAreShortWhateverTheyName) {
  v1::PlanRequest::Request wish = asked(std::string(100'000, 'x'), 1);
  wish.set_align("\u202E" + std::string(100'000, 'y'));
  const auto requests = requests_of(plan_of({wish}));
  ASSERT_FALSE(requests);
  EXPECT_LT(requests.error().text.size(), 500U);
  EXPECT_THAT(requests.error().text, HasSubstr("xx': align '\uFFFDyy"));
}

TEST(PlanFromTheWire, IsBounded) {
  v1::PlanRequest plan;
  for (int i = 0; i < kMaxPlanned; ++i) *plan.add_requests() = asked(std::to_string(i), 1);
  EXPECT_TRUE(requests_of(plan));
  *plan.add_requests() = asked("one too many", 1);
  EXPECT_THAT(requests_of(plan).error().text, HasSubstr("the most is 1024"));
}

v1::PlanResponse run(const NodeView& view, const v1::PlanRequest& plan) {
  const auto requests = requests_of(plan);
  EXPECT_TRUE(requests);
  return response_of(view, *requests, dry_run(view, *requests));
}

TEST(Plan, DecidesOneAfterAnotherAndChangesNothing) {
  NodeView view = empty_view(test_support::two_core_vm(), {});
  view.generation = 9;
  const topology::Ledger before = view.ledger;
  const v1::PlanResponse response = run(view, plan_of({asked("a", 1), asked("b", 1)}));
  EXPECT_EQ(response.generation(), 9U);
  ASSERT_EQ(response.outcomes_size(), 2);
  EXPECT_EQ(response.outcomes(0).id(), "a");
  EXPECT_EQ(response.outcomes(0).placement().cpus(), "0");
  EXPECT_EQ(response.outcomes(0).placement().claim(), "0");
  EXPECT_EQ(response.outcomes(0).placement().mems(), "0");
  EXPECT_THAT(response.outcomes(0).placement().why(), HasSubstr("numa 0"));
  EXPECT_EQ(response.outcomes(1).id(), "b");
  EXPECT_EQ(response.outcomes(1).rejection().reason(), "last-shared");
  EXPECT_EQ(response.outcomes(1).rejection().need(), 1U);
  EXPECT_FALSE(response.outcomes(1).rejection().text().empty());
  EXPECT_EQ(response.largest().at("numa"), 0U);
  EXPECT_EQ(view.ledger, before);
}

TEST(Plan, LeavesACpuThatOthersMayRunOn) {
  NodeView view = empty_view(test_support::two_core_vm(), {0});
  EXPECT_TRUE(run(view, plan_of({asked("a", 1)})).outcomes(0).has_placement());
  view = empty_view(test_support::two_core_vm(), {0}, true);
  const v1::PlanResponse response = run(view, plan_of({asked("a", 1)}));
  EXPECT_EQ(response.outcomes(0).rejection().reason(), "last-shared");
}

TEST(Plan, WhatAnnotationsMayNotAskIsRefused) {
  NodeView view = empty_view();
  v1::PlanRequest::Request wish = asked("a", 2);
  wish.set_smt("one-per-core");
  const v1::PlanResponse response = run(view, plan_of({wish, asked("b", 1)}));
  EXPECT_EQ(response.outcomes(0).id(), "a");
  EXPECT_EQ(response.outcomes(0).rejection().reason(), "annotation");
  EXPECT_EQ(response.outcomes(0).rejection().need(), 2U);
  EXPECT_THAT(response.outcomes(0).rejection().text(),
              HasSubstr("this node's allowedPrivileges does not have 'one-per-core'"));
  EXPECT_TRUE(response.outcomes(1).has_placement());
  view.privileges = {policy::Privilege::kOnePerCore};
  EXPECT_TRUE(run(view, plan_of({wish})).outcomes(0).has_placement());
}

TEST(Plan, OfAContainerThatIsThereIsAResize) {
  NodeView view = empty_view();
  ASSERT_TRUE(place(view, request("a", 1)));
  const std::string had = view.containers[0].decided.cpus.to_string();
  const v1::PlanResponse response = run(view, plan_of({asked("a", 2)}));
  const auto grown =
      topology::CpuSet::parse(response.outcomes(0).placement().cpus()).value_or(topology::CpuSet{});
  EXPECT_EQ(grown.count(), 2);
  EXPECT_TRUE(view.containers[0].decided.cpus.is_subset_of(grown)) << "it had " << had;
}

}  // namespace
}  // namespace pinion::agent::api
