// Elastic jobs of any kind under each policy: never more processors than there are, sizes as the
// jobs allow, gaps kept, everybody runs once; under ours nobody starves.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "cluster/sim/elastic_machine.h"
#include "cluster/sim/job_list.h"
#include "cluster/sim/simulation.h"
#include "tests/support/machine.h"

namespace pinion::sim {
namespace {

using cluster::Change;
using cluster::ElasticPolicy;

constexpr int kMostElastic = 32;  // processors
constexpr int kElasticPriorities = 4;

// What is decided begins when the shrinks before it have ended.
constexpr Ms kMostBegin = 5700;

std::shared_ptr<const Elastic> random_elastic(int& tasks) {
  auto elastic = std::make_shared<Elastic>();
  elastic->min = *rc::gen::inRange(1, kMostElastic / 2);
  elastic->max = elastic->min + *rc::gen::inRange(0, kMostElastic);
  tasks = *rc::gen::inRange(elastic->min, elastic->max + 1);
  elastic->change = *rc::gen::element(Change::kMoldable, Change::kMalleable, Change::kMalleable);
  elastic->launcher = *rc::gen::element(0, 1);
  elastic->gap = *rc::gen::element(-1, 0, 20'000);
  elastic->restart = *rc::gen::element(0, 500, 5000);
  elastic->rebalance = *rc::gen::element(0, 700);
  elastic->speed_up = cluster::SpeedUp(*rc::gen::element(0.0, 0.05, 0.5, 1.0), tasks);
  const int wishes = *rc::gen::element(0, 0, 1, 3);
  for (int i = 0; i < wishes; ++i) {
    const int workers = *rc::gen::inRange(elastic->min, elastic->max + 1);
    elastic->wishes.push_back(
        {.after = i * 20'000, .workers = *rc::gen::element(workers, workers, 0)});
  }
  return elastic;
}

std::vector<Job> random_elastic_jobs() {
  std::vector<Job> jobs(static_cast<std::size_t>(*rc::gen::inRange(1, 60)));
  Ms now = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    now += *rc::gen::element(0, 0, 1000, 5000, 20'000);
    job.number = static_cast<std::int64_t>(i) + 1;
    job.submit = now;
    job.run = *rc::gen::inRange(0, 200'000);
    job.request = job.run + *rc::gen::element(0, 0, 7000, 100'000);
    job.shape.tasks = *rc::gen::inRange(1, kMostElastic + 2);
    if (*rc::gen::element(true, true, false)) job.elastic = random_elastic(job.shape.tasks);
    job.priority = *rc::gen::inRange(0, kElasticPriorities);
  }
  return jobs;
}

ElasticRules random_rules(ElasticPolicy policy) {
  ElasticRules rules{.policy = policy, .gap = *rc::gen::element(0, 1000, 60'000)};
  rules.told = *rc::gen::element(true, false);
  rules.knobs.ageing_ms = *rc::gen::element(1000, 30'000, 600'000);
  rules.knobs.patience_ms = *rc::gen::element(0, 60'000, 3'600'000);
  rules.knobs.strict_ms = *rc::gen::element(0, 120'000, 604'800'000);
  rules.knobs.rescale_percent = *rc::gen::element(5, 50, 100);
  return rules;
}

// Between two of its changes. random_elastic()'s rescales take as long with any number of workers;
// a policy that is not told takes a kind that it has not seen yet to last as long as the default.
Ms least_gap(const Elastic& elastic, const ElasticRules& rules) {
  cluster::ElasticJob seen;
  seen.gap_ms = elastic.gap >= 0 ? elastic.gap : rules.gap;
  if (rules.policy != ElasticPolicy::kOurs) return seen.gap_ms;
  const double takes = static_cast<double>(elastic.rescale_takes(0)) / 1000;
  const double cost = rules.told ? takes : std::min(takes, cluster::expected_cost_s({}));
  seen.shrink_cost_s = seen.expand_cost_s = cost;
  return cluster::effective_gap_ms(seen, rules.knobs);
}

// What a job went through is what it may.
void check_record(const JobRecord& record, const Job& asked, const ElasticRules& rules) {
  RC_ASSERT(record.start >= asked.submit);
  RC_ASSERT(record.end >= record.start);
  if (!asked.elastic) {
    RC_ASSERT(record.end >= record.start + asked.run);
    RC_ASSERT(record.end == record.start + asked.run || asked.kind == "stream");
    RC_ASSERT(record.sizes.empty());
    return;
  }
  const Ms gap = least_gap(*asked.elastic, rules);
  const bool wishes = !asked.elastic->wishes.empty();
  RC_ASSERT(record.rescales() == 0 || asked.elastic->change == Change::kMalleable);
  for (std::size_t i = 0; i < record.sizes.size(); ++i) {
    const auto& [from, workers, decided] = record.sizes[i];
    RC_ASSERT(decided <= from);
    RC_ASSERT(workers >= asked.elastic->min && workers <= asked.elastic->max);
    if (i == 0) continue;
    RC_ASSERT(workers != record.sizes[i - 1].workers);
    RC_ASSERT(wishes || decided - record.sizes[i - 1].decided >= gap);
  }
}

struct PlayedElastic {
  std::vector<JobRecord> records;
  std::size_t refused = 0;
  bool failed = false;
};

PlayedElastic play_elastic(const std::vector<Job>& jobs, ElasticMachine& machine,
                           const SimulationSettings& settings = {.check = true}) {
  PlayedElastic played;
  const std::int64_t processors = machine.processors();
  JobList source(jobs);
  Simulation simulation(source, machine, settings);
  simulation.on_end = [&](const JobRecord& record) { played.records.push_back(record); };
  simulation.on_refused = [&](const Job&, const std::string&) { ++played.refused; };
  simulation.on_moment = [&](Ms, std::int64_t busy) { RC_ASSERT(busy <= processors); };
  played.failed = !simulation.run();
  return played;
}

PlayedElastic play_counted(const std::vector<Job>& jobs, std::int64_t processors,
                           const ElasticRules& rules) {
  ElasticMachine machine(processors, rules);
  return play_elastic(jobs, machine);
}

// Nodes of two NUMA nodes with 8 CPUs to give each; jobs disturb each other.
PlayedElastic play_on_nodes(const std::vector<Job>& jobs, std::int64_t count,
                            const ElasticRules& rules) {
  static const auto topology = std::make_shared<const topology::Topology>(test_support::machine(
      {.packages = 2, .cores_per_l3 = 9, .memory_per_node = 64 * test_support::kGiB}));
  auto nodes = std::make_unique<NodeMachine>(NodeRules{.queue = QueueRule::kFcfs, .search = 20});
  for (std::int64_t i = 0; i < count; ++i) {
    cluster::NodeReport report;
    report.name = "node-" + std::to_string(i);
    report.topology = topology;
    report.reserved = topology::CpuSet{0, 9};
    RC_ASSERT(nodes->add(std::move(report)).has_value());
  }
  const Model model{.bandwidth = 0.3, .kinds = {{"stream", {.memory = 0.8, .split = 1.5}}}};
  Contention contention(model, nodes->fleet(), true);
  ElasticMachine machine(std::move(nodes), rules);
  return play_elastic(
      jobs, machine,
      {.check = true, .contention = &contention, .start = rules.start, .release = rules.release});
}

void check_policy(ElasticPolicy policy, bool on_nodes = false) {
  auto jobs = random_elastic_jobs();
  auto rules = random_rules(policy);
  const std::int64_t many = on_nodes ? *rc::gen::inRange(1, 4) : *rc::gen::inRange(1, kMostElastic);
  if (on_nodes) {
    rules.start = *rc::gen::element(0, 2000);
    rules.release = *rc::gen::element(0, 5000);
    for (Job& job : jobs) {
      job.shape.cpus_per_task = *rc::gen::element(1, 1, 2, 3, 10);
      job.kind = *rc::gen::element("", "stream");
    }
  }
  const auto play = on_nodes ? play_on_nodes : play_counted;
  const PlayedElastic played = play(jobs, many, rules);
  RC_ASSERT(!played.failed);
  RC_ASSERT(played.records.size() + played.refused == jobs.size());
  std::int64_t rescales = 0;
  for (const JobRecord& record : played.records) {
    check_record(record, jobs[static_cast<std::size_t>(record.job.number) - 1], rules);
    rescales += record.rescales();
  }
  RC_CLASSIFY(rescales > 0, "with rescales");
  const PlayedElastic again = play(jobs, many, rules);
  RC_ASSERT(again.records.size() == played.records.size());
  for (std::size_t i = 0; i < again.records.size(); ++i) {
    RC_ASSERT(again.records[i].handle == played.records[i].handle);
    RC_ASSERT(again.records[i].end == played.records[i].end);
    RC_ASSERT(again.records[i].sizes.size() == played.records[i].sizes.size());
  }
}

RC_GTEST_PROP(ElasticPolicies, MinHoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kMin);
}
RC_GTEST_PROP(ElasticPolicies, MaxHoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kMax);
}
RC_GTEST_PROP(ElasticPolicies, MoldableHoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kMoldable);
}
RC_GTEST_PROP(ElasticPolicies, ElasticHoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kElastic);
}
RC_GTEST_PROP(ElasticPolicies, ElasticFig2HoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kElasticFig2);
}
RC_GTEST_PROP(ElasticPolicies, OursHoldsWhatItHas, ()) {
  check_policy(ElasticPolicy::kOurs);
}

// The machine's books are checked after every event: no CPU is held twice, as many are on nodes as
// are counted.
RC_GTEST_PROP(ElasticPolicies, MinHoldsOnNodes, ()) {
  check_policy(ElasticPolicy::kMin, true);
}
RC_GTEST_PROP(ElasticPolicies, MaxHoldsOnNodes, ()) {
  check_policy(ElasticPolicy::kMax, true);
}
RC_GTEST_PROP(ElasticPolicies, MoldableHoldsOnNodes, ()) {
  check_policy(ElasticPolicy::kMoldable, true);
}
RC_GTEST_PROP(ElasticPolicies, ElasticHoldsOnNodes, ()) {
  check_policy(ElasticPolicy::kElastic, true);
}
RC_GTEST_PROP(ElasticPolicies, OursHoldsOnNodes, ()) {
  check_policy(ElasticPolicy::kOurs, true);
}

// Who waits is passed, once it has waited for its patience and a step of ageing for each priority,
// by nobody who came a step for each priority after it. A wish of one that runs may be met first,
// but nobody starts past it for that.
RC_GTEST_PROP(ElasticPolicies, UnderOursNobodyStarves, ()) {
  auto jobs = random_elastic_jobs();
  auto rules = random_rules(ElasticPolicy::kOurs);
  rules.knobs.strict_ms = 0;  // else some may pass for so long for each that is first
  const bool on_nodes = *rc::gen::element(true, false);
  if (on_nodes) {
    for (Job& job : jobs) job.shape.cpus_per_task = *rc::gen::element(1, 1, 2, 3, 7);
  }
  const PlayedElastic played = on_nodes
                                   ? play_on_nodes(jobs, *rc::gen::inRange(1, 4), rules)
                                   : play_counted(jobs, *rc::gen::inRange(1, kMostElastic), rules);
  const Ms steps = kElasticPriorities * rules.knobs.ageing_ms;
  for (const JobRecord& first : played.records) {
    for (const JobRecord& later : played.records) {
      if (later.job.submit <= first.job.submit + steps) continue;
      if (later.start <= first.job.submit + rules.knobs.patience_ms + steps + kMostBegin) continue;
      RC_ASSERT(first.start <= later.start);
    }
  }
}

cluster::ElasticJob random_seen(std::uint64_t id, std::int64_t& slots, std::int64_t now) {
  cluster::ElasticJob job;
  job.id = id;
  job.priority = *rc::gen::inRange(-2, 3);
  job.submitted_ms = *rc::gen::inRange<std::int64_t>(0, now + 1);
  job.min_workers = *rc::gen::inRange(1, 8);
  job.max_workers = job.min_workers + *rc::gen::inRange(0, 20);
  job.slots_per_worker = *rc::gen::inRange(1, 4);
  job.other_slots = *rc::gen::inRange(0, 3);
  job.change = *rc::gen::element(Change::kMoldable, Change::kMalleable);
  job.gap_ms = *rc::gen::element(0, 1000, 100'000);
  job.wished = *rc::gen::element(true, false, false);
  job.speed_up = cluster::SpeedUp(*rc::gen::element(0.0, 0.1, 1.0));
  job.rest = *rc::gen::element(cluster::kNotStated, 0.0, 10.0, 5000.0);
  job.shrink_cost_s = *rc::gen::element(cluster::kNotStated, 0.0, 2.0);
  job.expand_cost_s = *rc::gen::element(cluster::kNotStated, 0.0, 2.0);
  job.is_new = *rc::gen::element(true, false);
  job.declined_until_ms = *rc::gen::element(std::int64_t{0}, std::int64_t{0}, now, now + 1);
  job.room = *rc::gen::element(cluster::kAnyRoom, std::int64_t{0}, std::int64_t{1}, std::int64_t{5},
                               std::int64_t{20});
  const int workers = *rc::gen::inRange(job.min_workers, job.max_workers + 1);
  job.kept_workers = *rc::gen::element(0, job.max_workers, (job.min_workers + workers) / 2);
  if (*rc::gen::element(true, false) && job.slots(workers) <= slots) {
    job.workers = workers;
    job.is_new = false;
    job.changing = *rc::gen::element(true, false, false);
    job.changed_ms = *rc::gen::inRange<std::int64_t>(0, now + 1);
    slots -= job.slots(workers);
  }
  return job;
}

// One decision on any state: each step is one that the job allows now, and no beginning of them
// needs more than there is.
RC_GTEST_PROP(ElasticPolicies, EachStepIsAllowedAndThereIsRoomForIt, ()) {
  const auto policy =
      *rc::gen::element(ElasticPolicy::kMin, ElasticPolicy::kMax, ElasticPolicy::kMoldable,
                        ElasticPolicy::kElastic, ElasticPolicy::kElasticFig2, ElasticPolicy::kOurs);
  const std::int64_t now = 200'000;
  const std::int64_t slots = *rc::gen::inRange(1, 200);
  std::int64_t free = slots;
  std::map<std::uint64_t, cluster::ElasticJob> jobs;
  std::vector<cluster::ElasticJob> seen;
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 1; i <= count; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    const auto job = random_seen(id, free, now);
    jobs.emplace(id, job);
    seen.push_back(job);
  }
  const cluster::ElasticView view{
      .jobs = seen, .slots = slots, .now_ms = now, .freed = *rc::gen::element(true, false)};
  const auto knobs = random_rules(policy).knobs;
  const auto decision = cluster::decide(policy, view, knobs);
  const bool shrinks = std::any_of(decision.steps.begin(), decision.steps.end(),
                                   [](const auto& step) { return step.workers < step.from; });
  for (const auto& step : decision.steps) {
    cluster::ElasticJob& job = jobs.at(step.job);
    if (policy == ElasticPolicy::kOurs && !shrinks) {
      RC_ASSERT(step.workers - step.from <= job.room);
    }
    RC_ASSERT(step.from == job.workers);
    RC_ASSERT(step.workers != step.from);
    RC_ASSERT(step.workers >= job.min_workers && step.workers <= job.max_workers);
    RC_ASSERT(!job.changing);
    // Adapters leave it out under the others.
    if (policy == ElasticPolicy::kOurs) RC_ASSERT(now >= job.declined_until_ms);
    if (step.workers < step.from && step.workers < job.kept_workers) {
      const cluster::ElasticJob& other = jobs.at(step.for_job);
      const bool impatient =
          policy == ElasticPolicy::kOurs && now - other.submitted_ms >= knobs.patience_ms;
      RC_ASSERT(impatient || other.priority > job.priority);
    }
    if (job.workers > 0) {
      const Ms gap =
          policy == ElasticPolicy::kOurs ? cluster::effective_gap_ms(job, knobs) : job.gap_ms;
      RC_ASSERT(now - job.changed_ms >= gap);
      RC_ASSERT(job.change == Change::kMalleable);
      RC_ASSERT(policy >= ElasticPolicy::kElastic);
    }
    free += job.slots(job.workers) - job.slots(step.workers);
    RC_ASSERT(free >= 0);
    job.workers = step.workers;
    job.changing = true;  // named once
  }
  RC_ASSERT(!decision.look_again_ms || *decision.look_again_ms > now);
  RC_ASSERT(cluster::decide(policy, view, knobs).steps == decision.steps);
}

// One that has waited for long starts no later because others have come behind it, where all last
// as long as is known and rescales take no time.
RC_GTEST_PROP(ElasticPolicies, UnderOursNobodyDelaysTheFirst, ()) {
  std::vector<Job> jobs;
  const auto add = [&](Ms submit, int most) {
    Job job;
    job.number = static_cast<std::int64_t>(jobs.size()) + 1;
    job.submit = submit;
    job.run = job.request = *rc::gen::inRange(1, 200) * 1000;
    job.shape.tasks = *rc::gen::inRange(1, most + 1);
    if (*rc::gen::element(true, false)) {
      auto elastic = std::make_shared<Elastic>();
      elastic->min = *rc::gen::inRange(1, job.shape.tasks + 1);
      elastic->max = job.shape.tasks;
      elastic->change = Change::kMalleable;
      elastic->gap = *rc::gen::element(0, 20'000, 100'000);
      elastic->speed_up = cluster::SpeedUp(*rc::gen::element(0.0, 0.5, 1.0), job.shape.tasks);
      job.elastic = elastic;
    }
    jobs.push_back(std::move(job));
  };
  const int many = *rc::gen::inRange(8, kMostElastic);
  const int running = *rc::gen::inRange(1, 6);
  for (int i = 0; i < running; ++i) add(0, many / 2);
  Job first;
  first.number = static_cast<std::int64_t>(jobs.size()) + 1;
  first.submit = 1000;
  first.run = first.request = 1000;
  first.priority = 100;
  first.shape.tasks = *rc::gen::inRange(many / 2, many + 1);
  jobs.push_back(first);
  ElasticRules rules{.policy = ElasticPolicy::kOurs, .gap = 0};
  rules.knobs.patience_ms = 0;
  const auto start = [&](const PlayedElastic& played) {
    const auto found =
        std::find_if(played.records.begin(), played.records.end(),
                     [&](const auto& one) { return one.job.number == first.number; });
    return found->start;
  };
  const Ms alone = start(play_counted(jobs, many, rules));
  const int behind = *rc::gen::inRange(1, 10);
  Ms now = first.submit;
  for (int i = 0; i < behind; ++i) {
    now += *rc::gen::inRange(0, 20) * 1000;
    add(now, many / 2);
  }
  const PlayedElastic played = play_counted(jobs, many, rules);
  const bool passed = std::any_of(
      played.records.begin(), played.records.end(),
      [&](const auto& one) { return one.job.number > first.number && one.start < start(played); });
  RC_CLASSIFY(passed, "somebody starts before it");
  RC_ASSERT(start(played) <= alone + 10);  // rounding of each change of pace
}

}  // namespace
}  // namespace pinion::sim
