// The run-time model on cases computed by hand.
#include "cluster/sim/contention.h"

#include <memory>

#include "cluster/sim/model_file.h"
#include "cluster/sim/node_machine.h"
#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

constexpr const char* kModel = R"(
bandwidth: 0.25
nic: 0.5
start: 2
release: 3
kinds:
  stream: {seconds: 100, memory: 1, loose: 1.5}
  half: {memory: 0.5}
  ring: {traffic: 1}
  chat: {traffic: 0.05}
  tight: {crowded: 3}
  near: {loose: 2, split: 1.5}
)";

// One or two nodes of two NUMA nodes with 8 usable CPUs each.
class World {
 public:
  World(int count, bool pinned, bool delays = false) : machine_({.queue = QueueRule::kFcfs}) {
    auto model = parse_model_file(kModel);
    EXPECT_TRUE(model) << model.error().text;
    model_ = *model;
    if (!delays) model_.start = model_.release = 0;
    for (int node = 0; node < count; ++node) EXPECT_TRUE(machine_.add(node_report(node)));
    contention_.emplace(model_, machine_.fleet(), pinned);
  }

  std::map<std::int64_t, std::pair<int, int>> times(std::vector<Job> jobs) {
    return play(std::move(jobs), machine_,
                {.check = true,
                 .contention = &*contention_,
                 .start = static_cast<Ms>(1000 * model_.start),
                 .release = static_cast<Ms>(1000 * model_.release)})
        .times;
  }

 private:
  Model model_;
  NodeMachine machine_;
  std::optional<Contention> contention_;
};

using Times = std::map<std::int64_t, std::pair<int, int>>;

Job kind_of(Job job, const std::string& kind, int workers = 1) {
  job.kind = kind;
  job.shape.workers = workers;
  return job;
}

TEST(Contention, ABusyNumaNodeStretchesTheMemoryPart) {
  // 8 processes want 2 of 1.
  EXPECT_EQ(World(1, true).times({kind_of(job_of(1, 0, 100, 8), "stream")}),
            (Times{{1, {0, 200}}}));
  // They want 1 of 1: half of the time waits for memory, of which half is wanted.
  EXPECT_EQ(World(1, true).times({kind_of(job_of(1, 0, 100, 8), "half")}), (Times{{1, {0, 100}}}));
  EXPECT_EQ(World(1, true).times({kind_of(job_of(1, 0, 100, 4), "stream")}),
            (Times{{1, {0, 100}}}));
}

TEST(Contention, AnEndMovesAsNeighboursComeAndGo) {
  // On one NUMA node 4 and 4 want 2 of 1. 1 alone 0-50, both half as fast from then: 1 ends at 150,
  // when 2 has 50 of 100 left.
  auto jobs = std::vector{kind_of(job_of(1, 0, 100, 4), "stream"),
                          kind_of(job_of(2, 50, 100, 4), "stream")};
  EXPECT_EQ(World(1, true).times(jobs), (Times{{1, {0, 150}}, {2, {50, 200}}}));
}

TEST(Contention, WhoIsNotPinnedUsesAllNumaNodes) {
  // 4 on each of two NUMA nodes: no crowd, but half as long again for roaming.
  EXPECT_EQ(World(1, false).times({kind_of(job_of(1, 0, 100, 8), "stream")}),
            (Times{{1, {0, 150}}}));
}

TEST(Contention, AWorkerInTwoNumaNodesIsSlower) {
  struct Case {
    const char* name;
    const char* kind;
    int tasks;
    int workers;
    bool pinned;
    int seconds;
  };
  for (const Case& c :
       {Case{"in one", "near", 8, 1, true, 100}, Case{"in two", "near", 12, 1, true, 150},
        Case{"a worker in each", "near", 12, 2, true, 100},
        Case{"roaming costs what it costs", "near", 12, 1, false, 200},
        Case{"of another kind", "half", 12, 1, true, 100}}) {
    EXPECT_EQ(World(1, c.pinned).times({kind_of(job_of(1, 0, 100, c.tasks), c.kind, c.workers)}),
              (Times{{1, {0, c.seconds}}}))
        << c.name;
  }
}

TEST(Contention, TheNetworkIsSharedEqually) {
  // Two workers of 8 on one node talk inside it. On two nodes each process sends 8 of 15 parts of
  // its 1 GB/s out: 8 * 8 / 15 of 0.5.
  EXPECT_EQ(World(1, true).times({kind_of(job_of(1, 0, 15, 16), "ring", 2)}),
            (Times{{1, {0, 15}}}));
  const auto apart = [](int number, const std::string& kind) {
    return kind_of(job_of(number, 0, 15, 24), kind, 3);
  };
  // 16 on one node and 8 on the other: 16 * 8 / 23 = 5.565 GB/s.
  EXPECT_EQ(World(2, true).times({apart(1, "ring")}), (Times{{1, {0, 166}}}));
}

// Two who do not know of each other give the same 16 CPUs away.
TEST(Contention, ProcessesWithoutACpuEachWait) {
  const auto model = parse_model_file(kModel);
  ASSERT_TRUE(model);
  cluster::Fleet fleet;
  ASSERT_TRUE(fleet.report(node_report(0), 0));
  Contention contention(*model, fleet, false);
  const auto add = [&](Handle handle, const std::string& kind, int tasks) {
    contention.add(handle, kind_of(job_of(1, 0, 1, tasks), kind),
                   {{.node = 0, .tasks = tasks, .cpus = {}}});
  };
  using Changes = std::vector<std::pair<Handle, double>>;
  add(1, "tight", 16);
  EXPECT_EQ(contention.changes(), (Changes{{1, 1}}));
  // 24 CPUs wanted of 16: half as long again, and thrice that for who waits for its others.
  add(2, "plain", 8);
  EXPECT_EQ(contention.changes(), (Changes{{1, 2.5}, {2, 1.5}}));
  // 28 wanted. Would 6 run at all times in each NUMA node, they would want 1.5 of its bandwidth.
  contention.remove(2);
  add(3, "stream", 12);
  EXPECT_EQ(contention.changes(), (Changes{{1, 3.25}, {3, 1.5 * 1.75}}));
  contention.remove(3);
  EXPECT_EQ(contention.changes(), (Changes{{1, 1}}));
}

TEST(Contention, DelaysOfTheMachineryCount) {
  const auto jobs =
      std::vector{kind_of(job_of(1, 0, 10, 16), "", 2), kind_of(job_of(2, 1, 10, 16), "", 2)};
  // Decided at 0 it runs from 2 to 12; its CPUs are free at 15, and 2 runs from 17.
  EXPECT_EQ(World(1, true, true).times(jobs), (Times{{1, {2, 12}}, {2, {17, 27}}}));
}

TEST(Contention, AJobDrawsNothingBeforeItRuns) {
  // Alone from 2 to 52, where half is done and the other one begins; both half as fast until 152.
  auto jobs = std::vector{kind_of(job_of(1, 0, 100, 4), "stream"),
                          kind_of(job_of(2, 50, 100, 4), "stream")};
  EXPECT_EQ(World(1, true, true).times(jobs), (Times{{1, {2, 152}}, {2, {52, 202}}}));
}

TEST(ModelFile, IsWrittenAsItIsRead) {
  const auto model = parse_model_file(kModel);
  ASSERT_TRUE(model);
  const auto again = parse_model_file(to_yaml(*model));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(to_yaml(*again), to_yaml(*model));
  EXPECT_DOUBLE_EQ(again->kind("stream").loose, 1.5);
  EXPECT_DOUBLE_EQ(again->kind("tight").crowded, 3);
  EXPECT_DOUBLE_EQ(again->kind("near").split, 1.5);
  EXPECT_DOUBLE_EQ(again->kind("unknown").loose, 1);
}

TEST(ModelFile, SaysWhatIsWrongAndWhere) {
  for (const char* bad :
       {"- 5", "bandwidth: 2", "speed: 1", "kinds: 5", "kinds: {a: 5}", "kinds: {a: {loose: 0.5}}",
        "kinds: {a: {crowded: 0.5}}", "kinds: {a: {split: 0.9}}", "kinds: ["}) {
    const auto model = parse_model_file(bad);
    ASSERT_FALSE(model) << bad;
    EXPECT_EQ(model.error().text.substr(0, 7), "line 1:") << model.error().text;
  }
}

}  // namespace
}  // namespace pinion::sim
