// Owners of jobs, nodes' agents and an adapter that starts what is placed play against the core in
// random order: members come late or never, starts are lost, land late or are told twice, jobs are
// made again under the same name, nodes fall silent, vanish and come back; another scheduler starts
// members and strangers where it likes. Invariants hold after each event, and whoever calls the
// core only when it has said that something is due has the same as who calls it at each moment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "cluster/core/scheduler.h"
#include "tests/support/machine.h"

namespace pinion::cluster {
namespace {

using State = Member::State;

constexpr int kNodes = 6;
constexpr int kCpus = 8;  // of a node; CPU 0 is reserved

// When the adapter calls tick() and run() while time passes: each millisecond, or when next_ms()
// says so.
enum class Calls { kAlways, kWhenDue };

class World {
 public:
  World(const SchedulerSettings& settings, std::uint64_t seed, Calls calls)
      : scheduler_(settings), calls_(calls), backfill_(settings.backfill), random_(seed) {
    for (int node = 0; node < kNodes; ++node) report(node);
  }

  void step() {
    switch (below(17)) {
      case 0:
      case 1:
        make_job();
        break;
      case 2:
      case 3:
      case 4:
        make_member();
        break;
      case 5:
      case 6:
      case 7:
        scheduler_.run(now_);
        break;
      case 8:
      case 9:
        start_one();
        break;
      case 10:
        answer_one();
        break;
      case 11:
        finish_one();
        break;
      case 12:
        report(below(kNodes));
        break;
      case 13:
        rare();
        break;
      case 14:
        place_one();
        break;
      case 15:
        another_scheduler();
        break;
      default:
        pass(below(500), one_in(2));
    }
    for (const JobNews& news : scheduler_.take_news()) check(news);
    check();
  }

  // All ends: nothing is left.
  void end() {
    while (!starting_.empty()) answer_one();
    const auto jobs = scheduler_.book().jobs();
    for (const auto& [id, job] : jobs) scheduler_.end(id, now_);
    agents_.clear();
    for (int node = 0; node < kNodes; ++node) report(node);
    ASSERT_EQ(scheduler_.fleet().promises(), 0U);
    ASSERT_EQ(scheduler_.queue().size(), 0U);
    ASSERT_EQ(scheduler_.book().members(), 0U);
    ASSERT_FALSE(scheduler_.head_room());
    topology::Request one;
    one.cpus = 1;
    ASSERT_EQ(scheduler_.fleet().room_at_most(one), kNodes * (kCpus - 1));
  }

  [[nodiscard]] std::uint64_t placed() const { return scheduler_.counters().placed; }
  // Calls that were made while time passed.
  [[nodiscard]] std::uint64_t called() const { return called_; }

  // All that anybody may see of the core.
  [[nodiscard]] std::string picture() const {
    std::string text;
    for (const auto& [id, job] : scheduler_.book().jobs()) {
      text += id + (job.started ? " started " : " ") + job.why + (job.refused ? " refused" : "") +
              (scheduler_.queue().contains(id) ? " queued" : "");
      for (const auto& [name, member] : job.members) {
        text += " " + name + ":" + std::to_string(static_cast<int>(member.state)) + "@" +
                member.node + "," + std::to_string(member.since_ms);
      }
      text += "\n";
    }
    for (const auto& [name, index] : scheduler_.fleet().by_name()) {
      const FleetNode& node = scheduler_.fleet().node(index);
      text += name + (node.stale ? " stale" : "");
      for (const auto& [id, claim] : node.ledger.claims()) {
        text += " " + id + "=" + claim.cpus.to_string();
      }
      text += "\n";
    }
    const auto& counters = scheduler_.counters();
    const auto& head = scheduler_.head_room();
    return text + "placed " + std::to_string(counters.placed) + " refused " +
           std::to_string(counters.refused) + " promises " +
           std::to_string(scheduler_.fleet().promises()) + " head " +
           (head ? head->job + " " + std::to_string(head->from_ms) : "");
  }

 private:
  void pass(int span_ms, bool runs) {
    const std::int64_t end_ms = now_ + span_ms;
    while (now_ < end_ms) {
      std::int64_t next_ms = now_ + 1;
      if (calls_ == Calls::kWhenDue && !(runs && scheduler_.has_changed())) {
        next_ms = std::max(next_ms, scheduler_.next_ms().value_or(kNeverDue));
      }
      now_ = std::min(next_ms, end_ms);
      if (now_ < next_ms) return;
      ++called_;
      scheduler_.tick(now_);
      if (runs) scheduler_.run(now_);
    }
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  static std::string name_of(int node) { return "node-" + std::to_string(node); }

  const Job* some_job() {
    const auto& jobs = scheduler_.book().jobs();
    if (jobs.empty()) return nullptr;
    return &std::next(jobs.begin(), below(static_cast<int>(jobs.size())))->second;
  }
  MemberId some_member(State state) {
    std::vector<MemberId> found;
    for (const auto& [id, job] : scheduler_.book().jobs()) {
      for (const auto& [name, member] : job.members) {
        if (member.state == state) found.push_back(name);
      }
    }
    return found.empty() ? MemberId() : found[random_() % found.size()];
  }

  void make_job() {
    if (scheduler_.book().jobs().size() > 12) return;
    JobSpec spec;
    // Few names, so that jobs have the same.
    spec.owner = {.name_space = one_in(2) ? "a" : "b", .kind = "Job", .name = "wind"};
    spec.priority = below(3);
    spec.size = 1 + below(6);
    spec.task_groups = one_in(3) ? 1 + below(spec.size) : 0;
    spec.nodes = one_in(3) ? 1 + below(3) : 0;
    if (one_in(3)) spec.placement = static_cast<PlacementPolicy>(below(6));
    scheduler_.submit("job-" + std::to_string(made_++), spec, now_);
  }

  void make_member() {
    const Job* job = some_job();
    // Some never get all of theirs, some more.
    if (job == nullptr || static_cast<int>(job->members.size()) > job->spec.size) return;
    if (static_cast<int>(job->members.size()) == job->spec.size && !one_in(4)) return;
    const MemberId id = "pod-" + std::to_string(made_++);
    std::vector<topology::Request> requests(1);
    requests.front().id = id + "/main";
    requests.front().cpus = one_in(40) ? 9 : 1 + below(4);
    if (job->spec.size == 1 && one_in(4)) {
      requests.push_back(requests.front());
      requests.back().id = id + "/side";
    }
    const bool apart = job->spec.priority == 2 && job->spec.task_groups == 0;
    const std::int64_t run_ms = one_in(2) ? 1000 * (1 + below(20)) : 0;
    ASSERT_TRUE(scheduler_.join(job->id, id, requests, now_, {.apart = apart, .run_ms = run_ms}));
    ASSERT_FALSE(scheduler_.join(job->id, id, requests, now_));
  }

  void place_one() {
    const Job* job = some_job();
    if (job == nullptr) return;
    std::vector<NodeIndex> among;
    for (int node = 0; node < kNodes; ++node) {
      const NodeIndex index = scheduler_.fleet().find(name_of(node));
      if (index >= 0 && !one_in(4)) among.push_back(index);
    }
    const bool fits = among.size() == kNodes && scheduler_.would_place(job->id, now_);
    const PlaceAnswer answer = scheduler_.place(job->id, &among, now_);
    ASSERT_NE(answer.placed, !answer.why.empty());
    // A plan that is not searched may fail where one that is would not, never the other way round.
    ASSERT_TRUE(!fits || answer.placed || job->started || job->spec.placement) << answer.why;
    place_by_member(among);
    const MemberId member = some_member(State::kWaiting);
    if (member.empty() || scheduler_.book().job_of(member)->spec.size > 1) return;
    scheduler_.place_at(member, name_of(below(kNodes)), now_);
  }

  // As kube-scheduler asks: about one, with wishes, and again where it does not take it there.
  void place_by_member(const std::vector<NodeIndex>& among) {
    const MemberId member = some_member(static_cast<State>(below(2)));
    if (member.empty()) return;
    scheduler_.prefer(member, one_in(2) ? name_of(below(kNodes)) : std::string());
    const bool reserved = scheduler_.book().member(member)->state == State::kReserved;
    const PlaceAnswer answer = reserved && one_in(3)
                                   ? scheduler_.place_anew({member}, &among, "not there", now_)
                                   : scheduler_.place_member(member, &among, now_);
    ASSERT_EQ(answer.placed, scheduler_.book().member(member)->state != State::kWaiting);
  }

  // The adapter sees the reservation; the answer comes later, or never.
  void start_one() {
    const MemberId member = some_member(State::kReserved);
    if (member.empty()) return;
    const std::string node = scheduler_.book().member(member)->node;
    ASSERT_TRUE(scheduler_.start(member, now_));
    ASSERT_FALSE(scheduler_.start(member, now_));
    starting_.emplace_back(member, node);
  }

  void answer_one() {
    if (starting_.empty()) return;
    std::swap(starting_[random_() % starting_.size()], starting_.back());
    const auto [member, node] = starting_.back();
    starting_.pop_back();
    const bool landed = !one_in(5);
    const bool told = !one_in(4);
    if (told || !landed) scheduler_.started(member, landed, now_);
    if (told && one_in(8)) scheduler_.started(member, landed, now_);
    if (!landed || scheduler_.book().member(member) == nullptr) return;
    // What landed is seen there, by the owner's system and by the agent, in any order.
    if (scheduler_.book().member(member)->node != node) {
      scattered_.insert(scheduler_.book().job_of(member)->id);
    }
    if (!told || one_in(2)) scheduler_.runs(member, node, now_);
    run_there(member, node);
  }

  void run_there(const MemberId& member, const std::string& node) {
    const auto agent = agents_.find(node);
    if (agent == agents_.end()) return;
    const NodeIndex index = scheduler_.fleet().find(node);
    if (index < 0) return;
    for (const auto& request : scheduler_.book().member(member)->requests) {
      const topology::Claim* claim = scheduler_.fleet().node(index).ledger.find(request.id);
      if (claim == nullptr || agent->second.find(request.id) != nullptr) continue;
      if (claim->cpus.intersects(agent->second.exclusive())) continue;  // the agent refuses it
      agent->second.commit(*claim);
    }
  }

  void finish_one() {
    const MemberId member = some_member(static_cast<State>(below(4)));
    if (member.empty()) return;
    for (auto& [node, ledger] : agents_) {
      for (const auto& request : scheduler_.book().member(member)->requests) {
        ledger.release(request.id);
      }
    }
    ASSERT_TRUE(scheduler_.leave(member, now_));
    ASSERT_FALSE(scheduler_.leave(member, now_));
  }

  void rare() {
    const Job* job = some_job();
    if (job == nullptr || one_in(3)) return;
    if (one_in(3)) {
      const JobId id = job->id;
      for (const auto& [name, member] : job->members) {
        for (auto& [node, ledger] : agents_) {
          for (const auto& request : member.requests) ledger.release(request.id);
        }
      }
      scheduler_.end(id, now_);
    } else if (one_in(2)) {
      JobSpec spec = job->spec;
      spec.size = 1 + below(6);
      spec.priority = below(3);
      if (one_in(2)) {
        spec.nodes = below(4);
        scattered_.insert(job->id);  // of fewer nodes than it is on already
      }
      scheduler_.submit(job->id, spec, now_);
    } else if (one_in(4)) {
      const int node = below(kNodes);
      agents_.erase(name_of(node));
      scheduler_.lost(name_of(node), now_);
      if (one_in(2)) scheduler_.exists(name_of(node), true, now_);
    } else {
      scheduler_.withdraw(job->id, "for the test", now_);
    }
  }

  // It starts a member, or a container that nobody here knows; or one of those ends.
  void another_scheduler() {
    const std::string name = name_of(below(kNodes));
    const auto agent = agents_.find(name);
    if (agent == agents_.end() || one_in(2)) return;
    for (const auto& [id, claim] : agent->second.claims()) {
      if (!id.starts_with("stranger") || one_in(2)) continue;
      agent->second.release(id);
      return;
    }
    const MemberId member = some_member(State::kWaiting);
    std::vector<topology::Request> requests(1);
    requests.front().id = "stranger-" + std::to_string(made_++);
    requests.front().cpus = 1 + below(4);
    if (!member.empty() && one_in(2)) requests = scheduler_.book().member(member)->requests;
    const bool is_member = !requests.front().id.starts_with("stranger");
    topology::Ledger ledger = agent->second;
    for (const auto& request : requests) {
      const auto outcome = topology::allocate(*machine_, ledger, request);
      const auto* decision = std::get_if<topology::Decision>(&outcome);
      if (decision == nullptr || ledger.find(request.id) != nullptr) return;
      ledger.commit(decision->claim);
    }
    agent->second = ledger;
    if (!is_member) return;
    scattered_.insert(scheduler_.book().job_of(member)->id);
    scheduler_.runs(member, name, now_);
  }

  void report(int node) {
    const std::string name = name_of(node);
    const auto agent = agents_.try_emplace(name, topology::Ledger(topology::CpuSet{0})).first;
    NodeReport report;
    report.name = name;
    report.instance = "agent";
    report.generation = ++generation_;
    if (scheduler_.fleet().find(name) < 0 || one_in(10)) {
      report.topology = machine_;
      report.reserved = topology::CpuSet{0};
    }
    for (const auto& [id, claim] : agent->second.claims()) report.claims.push_back(claim);
    const auto lost = scheduler_.report(std::move(report), now_);
    ASSERT_TRUE(bool(lost)) << lost.error().text;
  }

  // Whoever is in need of room, a job that has begun to start comes to have all of its members.
  void check(const JobNews& news) const {
    if (news.why != "a more urgent job needs its room") return;
    const Job& job = *scheduler_.book().find(news.job);
    ASSERT_TRUE(job.fixed() == 0 || job.fixed() >= job.spec.size) << news.job;
  }

  void check() const {
    const auto& fleet = scheduler_.fleet();
    std::size_t with_cpus = 0;
    for (const auto& [id, job] : scheduler_.book().jobs()) {
      const int reserved = job.count(State::kReserved);
      if (!job.started) {
        ASSERT_TRUE(reserved == 0 || job.fixed() + reserved >= job.spec.size)
            << id << " holds " << reserved << " of " << job.spec.size << " beside " << job.fixed();
      }
      ASSERT_LE(reserved == 0 ? 0 : job.fixed() + reserved,
                std::max(job.spec.size, static_cast<int>(job.members.size())));
      check_nodes(job);
      bool waits = false;
      for (const auto& [name, member] : job.members) {
        waits = waits || member.state == State::kWaiting;
        for (const auto& request : member.requests) {
          if (fleet.promised(request.id)) {
            ++with_cpus;
            ASSERT_NE(member.state, State::kWaiting) << name << " has CPUs and waits";
          }
          if (member.state != State::kReserved) continue;
          const NodeIndex node = fleet.find(member.node);
          ASSERT_GE(node, 0) << name << " is to start on a node that is no more";
          ASSERT_NE(fleet.node(node).ledger.find(request.id), nullptr)
              << name << " is to start without CPUs";
        }
      }
      if (scheduler_.queue().contains(id)) {
        ASSERT_TRUE(job.complete() && waits) << id;
        ASSERT_TRUE(job.never.empty() || job.started) << id << " never fits";
      }
    }
    ASSERT_EQ(fleet.promises(), with_cpus) << "a promise without a member";
    const auto& head = scheduler_.head_room();
    if (!head) return;
    ASSERT_TRUE(backfill_);
    ASSERT_TRUE(scheduler_.queue().contains(head->job)) << head->job;
    // What of its room is free is held: nobody behind it can take that.
    for (const auto& [node, cpus] : head->cpus) {
      ASSERT_TRUE((cpus - fleet.node(node).ledger.exclusive()).empty()) << head->job;
    }
  }

  // Nobody is to start on one node more than the job may use, unless others have started its
  // members elsewhere.
  void check_nodes(const Job& job) const {
    std::set<std::string> nodes;
    for (const auto& [name, member] : job.members) {
      if (!member.node.empty()) nodes.insert(member.node);
    }
    if (job.spec.nodes == 0 || scattered_.contains(job.id)) return;
    ASSERT_LE(static_cast<int>(nodes.size()), job.spec.nodes) << job.id;
  }

  Scheduler scheduler_;
  const Calls calls_;
  const bool backfill_;
  std::mt19937_64 random_;
  const std::shared_ptr<const topology::Topology> machine_ =
      std::make_shared<const topology::Topology>(
          test_support::machine({.packages = 2, .cores_per_l3 = kCpus / 2}));
  std::map<std::string, topology::Ledger> agents_;  // what really runs, by node
  std::vector<std::pair<MemberId, std::string>> starting_;
  std::int64_t now_ = 1000;
  std::uint64_t generation_ = 0;
  int made_ = 0;
  std::uint64_t called_ = 0;
  std::set<JobId> scattered_;
};

struct Case {
  const char* name;
  SchedulerSettings settings;
};

class ClusterScheduler : public testing::TestWithParam<Case> {};

// PINION_EVENTS: how many, all cases together.
std::uint64_t events() {
  const char* wanted = std::getenv("PINION_EVENTS");  // NOLINT(concurrency-mt-unsafe)
  return wanted == nullptr ? 400'000 : std::strtoull(wanted, nullptr, 10);
}

constexpr std::uint64_t kLife = 4000;  // events of one world

TEST_P(ClusterScheduler, KeepsItsInvariants) {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 0; seed < events() / 4 / kLife + 1; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(GetParam().settings, seed, Calls::kWhenDue);
    for (std::uint64_t event = 0; event < kLife; ++event) {
      world.step();
      ASSERT_FALSE(HasFatalFailure()) << "event " << event;
    }
    world.end();
    ASSERT_FALSE(HasFatalFailure());
    placed += world.placed();
  }
  EXPECT_GT(placed, events() / 4 / 100);
}

// Two play the same; each call beside those at next_ms() would show.
TEST_P(ClusterScheduler, HasNothingToDoBeforeItSays) {
  std::uint64_t always = 0;
  std::uint64_t when_due = 0;
  for (std::uint64_t seed = 0; seed < events() / 40 / kLife + 1; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World one(GetParam().settings, seed, Calls::kAlways);
    World other(GetParam().settings, seed, Calls::kWhenDue);
    for (std::uint64_t event = 0; event < kLife; ++event) {
      one.step();
      other.step();
      ASSERT_FALSE(HasFatalFailure()) << "event " << event;
      ASSERT_EQ(one.picture(), other.picture()) << "event " << event;
    }
    always += one.called();
    when_due += other.called();
  }
  EXPECT_LT(when_due, always / 8);  // jobs that rest have moments of their own
}

INSTANTIATE_TEST_SUITE_P(
    All, ClusterScheduler,
    testing::Values(
        Case{"Backfill", {.keep_ms = 4000, .confirm_ms = 9000}},
        Case{"ForATime",
             {.keep_ms = 4000,
              .confirm_ms = 9000,
              .silent_ms = 3000,
              .head_after_ms = 2000,
              .head_ms = 5000}},
        Case{"InOrder", {.backfill = false, .keep_ms = 4000, .confirm_ms = 9000}},
        Case{"FairShare", {.order = QueueOrder::kFairShare, .keep_ms = 4000, .confirm_ms = 9000}},
        Case{"Shortest", {.order = QueueOrder::kShortest, .keep_ms = 4000, .confirm_ms = 9000}},
        Case{"TaskGroups",
             {.placement = PlacementPolicy::kTaskGroup, .keep_ms = 4000, .confirm_ms = 9000}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pinion::cluster
