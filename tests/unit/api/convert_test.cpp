#include "agent/api/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/api/samples.h"

namespace pinion::agent::api {
namespace {

using metrics::Event;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 2 packages of 1 node, 4 cores, 8 CPUs each.
NodeView two_nodes() {
  return empty_view(
      test_support::machine({.packages = 2, .cores_per_l3 = 4, .threads_per_core = 2}));
}

TEST(NodeOnTheWire, SaysWhoAndHow) {
  NodeView view = two_nodes();
  view.generation = 7;
  view.ledger = topology::Ledger({0}, true);
  view.ledger.set_shared_memory(5);
  view.refusals.push_back({.unix_ms = 12,
                           .name_space = "ns",
                           .pod = "p",
                           .container = "c",
                           .reason = "cpus",
                           .text = "too few"});
  const v1::NodeState node = node_of({"host", "1.2", "abc"}, view, nullptr);
  EXPECT_EQ(node.name(), "host");
  EXPECT_EQ(node.version(), "1.2");
  EXPECT_EQ(node.instance(), "abc");
  EXPECT_EQ(node.generation(), 7U);
  EXPECT_TRUE(node.synchronized());
  EXPECT_EQ(node.runtime().name(), "containerd");
  EXPECT_EQ(node.runtime().version(), "2.1");
  EXPECT_EQ(node.runtime().phase(), "synchronized");
  EXPECT_EQ(node.fence(), "leaf");
  EXPECT_TRUE(node.strict_reservation());
  EXPECT_EQ(node.shared_memory(), 5U);
  ASSERT_EQ(node.refusals_size(), 1);
  EXPECT_EQ(node.refusals(0).unix_ms(), 12);
  EXPECT_EQ(node.refusals(0).namespace_(), "ns");
  EXPECT_EQ(node.refusals(0).pod(), "p");
  EXPECT_EQ(node.refusals(0).container(), "c");
  EXPECT_EQ(node.refusals(0).reason(), "cpus");
  EXPECT_EQ(node.refusals(0).text(), "too few");
  EXPECT_EQ(node.events_size(), 0);
}

TEST(NodeOnTheWire, HasTheSetsAndWhatIsFreeWhere) {
  NodeView view = two_nodes();
  topology::Request wish = request("a", 3);
  wish.memory = 5 * test_support::kGiB;
  wish.preferred = {4, 5, 12};
  ASSERT_TRUE(place(view, wish));
  const v1::NodeState node = node_of({}, view, nullptr);
  EXPECT_EQ(node.sets().online(), "0-15");
  EXPECT_EQ(node.sets().reserved(), "0");
  EXPECT_EQ(node.sets().exclusive(), "4-5,12");
  EXPECT_EQ(node.sets().shared(), "0-3,6-11,13-15");
  EXPECT_EQ(node.sets().free(), "1-3,6-11,13-15");
  EXPECT_EQ(node.sets().isolated(), "");
  ASSERT_EQ(node.numa_nodes_size(), 2);
  EXPECT_EQ(node.numa_nodes(0).free(), "1-3,8-11");
  EXPECT_EQ(node.numa_nodes(0).memory_promised(), 0U);
  EXPECT_EQ(node.numa_nodes(1).id(), 1U);
  EXPECT_EQ(node.numa_nodes(1).cpus(), "4-7,12-15");
  EXPECT_EQ(node.numa_nodes(1).free(), "6-7,13-15");
  EXPECT_EQ(node.numa_nodes(1).memory(), 16 * test_support::kGiB);
  EXPECT_EQ(node.numa_nodes(1).memory_promised(), 5 * test_support::kGiB);
  ASSERT_EQ(node.l3s_size(), 2);
  EXPECT_EQ(node.l3s(1).cpus(), "4-7,12-15");
  EXPECT_EQ(node.l3s(1).free(), "6-7,13-15");
  EXPECT_EQ(node.largest().at("l3"), 7U);
  EXPECT_EQ(node.largest().at("numa"), 7U);
  EXPECT_EQ(node.largest().at("socket"), 7U);
  EXPECT_EQ(node.largest().at("none"), 12U);
}

TEST(NodeOnTheWire, SaysWhichEventsAreCounted) {
  metrics::Sample now = sample(1, {});
  now.events = {{.event = Event::kL3Misses,
                 .availability = metrics::Availability::kNoSuchPmu,
                 .detail = "a guest without PMU"}};
  const v1::NodeState node = node_of({}, two_nodes(), &now);
  ASSERT_EQ(node.events_size(), 1);
  EXPECT_EQ(node.events(0).event(), "l3-misses");
  EXPECT_EQ(node.events(0).availability(), "no such PMU");
  EXPECT_EQ(node.events(0).detail(), "a guest without PMU");
}

// Node 1 is not there, as where a package is unplugged or hidden from a guest.
TEST(ContainersOnTheWire, PromisedMemoryNamesTheKernelsNode) {
  topology::Facts facts = test_support::facts_of({.packages = 2, .cores_per_l3 = 4});
  facts.memories[1].node = 2;
  for (auto& thread : facts.threads) thread.node *= 2;
  NodeView view = empty_view(test_support::machine(facts));
  topology::Request wish = request("a", 2);
  wish.memory = test_support::kGiB;
  wish.preferred = {4, 5};
  ASSERT_TRUE(place(view, wish));
  const auto containers = snapshot_of({}, view, nullptr).containers();
  ASSERT_EQ(containers.size(), 1U);
  EXPECT_EQ(containers[0].mems(), "2");
  ASSERT_EQ(containers[0].promised_size(), 1);
  EXPECT_EQ(containers[0].promised(0).node(), 2U);
}

TEST(ContainersOnTheWire, SayAllThatIsKnownOfThem) {
  NodeView view = two_nodes();
  topology::Request wish = request("a", 2);
  wish.smt = topology::Smt::kOnePerCore;
  wish.memory = test_support::kGiB;
  wish.job = "wind";
  wish.task_group = "wind-0";
  wish.profile = topology::Profile::kMemory;
  wish.preferred = {4, 5};
  ASSERT_TRUE(place(view, wish));
  view.containers[0].applied->cpus = {9};
  view.containers[0].trouble = "drift";
  const auto containers = snapshot_of({}, view, nullptr).containers();
  ASSERT_EQ(containers.size(), 1U);
  const v1::Container& container = containers[0];
  EXPECT_EQ(container.id(), "a");
  EXPECT_EQ(container.namespace_(), "default");
  EXPECT_EQ(container.pod(), "pod-a");
  EXPECT_EQ(container.name(), "c");
  EXPECT_EQ(container.pod_uid(), "uid-a");
  EXPECT_EQ(container.qos(), "Guaranteed");
  EXPECT_TRUE(container.exclusive());
  EXPECT_TRUE(container.started());
  EXPECT_FALSE(container.finished());
  EXPECT_EQ(container.cpus(), "4-5");
  EXPECT_EQ(container.claim(), "4-5,12-13");
  EXPECT_EQ(container.mems(), "1");
  ASSERT_EQ(container.promised_size(), 1);
  EXPECT_EQ(container.promised(0).node(), 1U);
  EXPECT_EQ(container.promised(0).bytes(), test_support::kGiB);
  EXPECT_EQ(container.job(), "wind");
  EXPECT_EQ(container.task_group(), "wind-0");
  EXPECT_EQ(container.profile(), "memory");
  EXPECT_THAT(container.why(), HasSubstr("numa 1"));
  EXPECT_EQ(container.told(), "4-5");
  EXPECT_EQ(container.applied(), "9");
  EXPECT_EQ(container.trouble(), "drift");
  EXPECT_FALSE(container.has_figures());
  EXPECT_FALSE(container.has_rates());
}

TEST(ContainersOnTheWire, SayWhoRunsOnLentCores) {
  NodeView view = two_nodes();
  topology::Request wish = request("a", 2);
  wish.preferred = {4, 5};
  ASSERT_TRUE(place(view, wish));
  ContainerView& lender = view.containers[0];
  lender.lent = lender.decided.cpus;
  lender.decided.cpus = {0, 1};
  lender.lent_to = "vc-0/slurm";
  ContainerView borrower = shared_container("b");
  borrower.borrowed = {4, 5};
  add(view, borrower);
  ContainerView idle = shared_container("c");
  idle.with_pod = true;
  idle.not_lent = engine::NoLoan::kSeveral;
  add(view, idle);
  const auto containers = snapshot_of({}, view, nullptr).containers();
  ASSERT_EQ(containers.size(), 3U);
  EXPECT_EQ(containers[0].cpus(), "0-1");
  EXPECT_EQ(containers[0].claim(), "4-5") << "by which others know that they are not free";
  EXPECT_EQ(containers[0].lent_to(), "vc-0/slurm");
  EXPECT_EQ(containers[0].not_lent(), "");
  EXPECT_EQ(containers[1].borrowed(), "4-5");
  EXPECT_FALSE(containers[1].with_pod());
  EXPECT_TRUE(containers[2].with_pod());
  EXPECT_EQ(containers[2].not_lent(), "several");
  EXPECT_EQ(containers[2].not_lent_why(), "several containers on this node have that name");
}

TEST(ContainersOnTheWire, CarryFiguresAndRates) {
  NodeView view = two_nodes();
  add(view, shared_container("a"));
  metrics::ContainerFigures measured = figures("a");
  measured.cpu_user_ns = 250'000'000;
  measured.memory = {{.node = 1, .bytes = 4096}};
  set(measured, Event::kMigrations, 0);
  const metrics::Sample first = sample(1, {measured});
  EXPECT_FALSE(snapshot_of({}, view, &first).containers()[0].has_rates())
      << "one reading gives none";
  measured.rates.cpus = 0.25;
  const metrics::Sample now = sample(2, {measured});
  const auto containers = snapshot_of({}, view, &now).containers();
  ASSERT_EQ(containers.size(), 1U);
  const v1::Figures& numbers = containers[0].figures();
  EXPECT_EQ(numbers.cpu_user_ns(), 250'000'000U);
  EXPECT_TRUE(numbers.has_migrations()) << "counted, and none";
  EXPECT_FALSE(numbers.has_cycles()) << "not counted";
  EXPECT_EQ(numbers.memory().at(1), 4096U);
  EXPECT_EQ(containers[0].rates().cpus(), 0.25);
  EXPECT_FALSE(containers[0].rates().has_migrations_per_second());
}

TEST(ContainersOnTheWire, ThoseThatAreGoneAreFinished) {
  NodeView view = two_nodes();
  add(view, shared_container("b"));
  metrics::ContainerFigures gone = figures("a", "4-5");
  auto who = std::make_shared<metrics::Identity>(*gone.who);
  who->qos = "Guaranteed";
  gone.who = who;
  gone.finished = true;
  gone.threads = 0;
  // The sample is a little older than the view: it does not know yet that "c" has gone.
  const metrics::Sample now = sample(2, {gone, figures("b"), figures("c")});
  const auto containers = snapshot_of({}, view, &now).containers();
  ASSERT_EQ(containers.size(), 3U);
  EXPECT_EQ(containers[0].id(), "a");
  EXPECT_TRUE(containers[0].finished());
  EXPECT_EQ(containers[0].cpus(), "4-5");
  EXPECT_EQ(containers[0].pod(), "pod-a");
  EXPECT_EQ(containers[0].qos(), "Guaranteed");
  EXPECT_EQ(containers[0].claim(), "");
  EXPECT_TRUE(containers[0].has_figures());
  EXPECT_FALSE(containers[0].has_rates());
  EXPECT_EQ(containers[1].id(), "b");
  EXPECT_FALSE(containers[1].finished());
  EXPECT_EQ(containers[2].id(), "c");
  EXPECT_TRUE(containers[2].finished());
}

// Every figure has a place of its own: each is set to its position and found again.
TEST(ContainersOnTheWire, FiguresAreNotMixedUp) {
  metrics::ContainerFigures from = figures("a");
  from.cpu_user_ns = 1;
  from.cpu_system_ns = 2;
  set(from, Event::kContextSwitches, 3);
  from.voluntary_switches = 4;
  from.involuntary_switches = 5;
  set(from, Event::kMigrations, 6);
  set(from, Event::kPageFaults, 7);
  from.run_queue_wait_ns = 8;
  from.throttled_periods = 9;
  from.throttled_ns = 10;
  from.intrusion_ns = 11;
  set(from, Event::kCycles, 12);
  set(from, Event::kInstructions, 13);
  set(from, Event::kL3Misses, 14);
  set(from, Event::kLocalDram, 15);
  set(from, Event::kRemoteDram, 16);
  from.threads = 17;
  from.memory_pressure_some_ns = 19;
  const v1::Figures to = figures_of(from);
  const google::protobuf::Descriptor& type = *v1::Figures::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    // The numbers above are those of the fields.
    EXPECT_EQ(to.GetReflection()->GetUInt64(to, &field), static_cast<unsigned>(field.number()))
        << field.name();
  }
}

TEST(RatesOnTheWire, AreNotMixedUp) {
  const metrics::Rates from{.cpus = 1,
                            .instructions_per_cycle = 2,
                            .l3_misses_per_second = 3,
                            .l3_misses_per_kilo_instruction = 4,
                            .migrations_per_second = 5,
                            .switches_per_second = 6,
                            .involuntary_per_second = 7,
                            .remote_share = 8,
                            .intrusion_share = 9,
                            .wait_share = 10,
                            .throttled_share = 11};
  const v1::Rates to = rates_message(from);
  const google::protobuf::Descriptor& type = *v1::Rates::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    EXPECT_EQ(to.GetReflection()->GetDouble(to, type.field(i)), type.field(i)->number())
        << type.field(i)->name();
  }
}

TEST(Counters, AreToldByName) {
  NodeView view = two_nodes();
  view.counters.drift = 3;
  view.counters.refused["cpus"] = 2;
  view.nri.connects = 4;
  view.compares_files = true;
  const v1::NodeState node = node_of({"host", "1", "i"}, view, nullptr);
  EXPECT_EQ(node.counters().at("drift"), 3U);
  EXPECT_EQ(node.counters().at("refused.cpus"), 2U);
  EXPECT_EQ(node.counters().at("connects"), 4U);
  EXPECT_EQ(node.counters().at("repairs"), 0U);
  EXPECT_TRUE(node.compares_files());
  EXPECT_EQ(node.sets().pool(), view.pool.to_string());
}

TEST(SnapshotAsJson, HasTheNamesOfTheProtoAndNoEmptyFields) {
  NodeView view = two_nodes();
  ASSERT_TRUE(place(view, request("a", 1)));
  const std::string json = snapshot_json(snapshot_of({"host", "1", "i"}, view, nullptr));
  EXPECT_THAT(json, HasSubstr("\"numa_nodes\""));
  EXPECT_THAT(json, HasSubstr("\"pod_uid\":\"uid-a\""));
  EXPECT_THAT(json, Not(HasSubstr("\"trouble\"")));
  EXPECT_THAT(json, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace pinion::agent::api
