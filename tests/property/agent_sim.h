// A container runtime and its kernel, simulated for the engine: records, cgroup files and the ways
// in which a real runtime loses updates. What each container's file says is known at every moment.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "agent/engine/loans.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::test_support {

enum class Phase { kCreated, kStarting, kRunning, kExited };

struct SimContainer {
  engine::Pod pod;
  engine::Container container;  // resources: the runtime's record
  Phase phase = Phase::kCreated;
  std::string at_create;                         // the record as `runc create` has read it
  engine::Applied file;                          // from kStarting on
  bool tampered = false;                         // its file was changed behind the agent's back
  std::optional<engine::Resources> update = {};  // that the runtime is still at work on
  bool changed = false;  // it was resized, or another attempt was made beside it
};

struct SimOptions {
  engine::FenceKind fence = engine::FenceKind::kLeaf;
  engine::Settings settings;
  bool tamper = false;   // somebody else writes files
  bool lend = false;     // some pods lend their cores, and some borrow
  bool share = false;    // some pods state CPUs as a whole, which their containers share
  bool mistell = false;  // the runtime tells wrong pods, unknown ones, and things twice
  int no_partition = 0;  // one in so many partitions cannot be made; 0: all can
  int no_group = 0;      // one in so many writes to a QoS group fails
  int limit = 0;         // one in so many looks at a QoS group finds another AllowedCPUs
  // The machine with these CPUs offline; empty: none ever goes.
  std::function<topology::Topology(const engine::CpuSet&)> with_offline;
  unsigned seed = 1;
  int events = 4'000;
};

// Plays random events; the first broken rule is in fault().
class Sim {
 public:
  Sim(topology::Topology machine, const SimOptions& options)
      : machine_(std::move(machine)),
        options_(options),
        random_(options.seed),
        engine_(machine_, options.settings, options.fence) {}

  void run();

  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] const std::string& transcript() const { return transcript_; }
  [[nodiscard]] const std::map<std::string, int>& done() const { return done_; }

 private:
  using Id = std::string;

  // agent_sim_runtime.cpp: what the runtime does
  void create();
  void create(const engine::Pod& pod, const std::string& name);
  void start(SimContainer& sim);
  void update(SimContainer& sim) { update(sim, sim.pod); }
  void update(SimContainer& sim, const engine::Pod& told);
  void do_update(SimContainer& sim, const engine::Pod& told);
  void end_update();
  void settle_updates();
  [[nodiscard]] bool knows_size(const SimContainer& sim) const;
  void stop(SimContainer& sim);
  void remove(SimContainer& sim);
  void end_pod();
  void appear();  // a container that nobody announced
  void unknown();
  void mistell();
  void mistell(const engine::Pod& pod, const engine::Container& container, SimContainer* one);
  void synchronize();
  void restart_agent();
  void check_kept(const engine::KeptCores& kept);
  void tamper();
  void hotplug();
  void quiet_moment(int pieces);

  // the agent's shell
  engine::Effects handle(const engine::Event& event, const std::string& what);
  void do_work();
  void enforce(const engine::Enforce& wanted);
  void apply(const std::vector<engine::CpusetUpdate>& updates);
  void limit_group(const std::string& name, engine::CpuSet& file);
  engine::Enforced write_group(const engine::Enforce& wanted);
  void settle_all();

  // the rules
  void broken(const std::string& rule);
  void check_alone(const Id& id);
  void check_others(const Id& id, const engine::CpuSet& cores, const Id& borrower);
  void check_loans();
  void check_company();
  [[nodiscard]] bool may_share(const SimContainer& one, const SimContainer& other) const;
  [[nodiscard]] bool shares(const Id& id) const;
  [[nodiscard]] bool is_replaced(const engine::Member& member) const;
  [[nodiscard]] bool passes_for_rank(const SimContainer& sim, bool quota_tells) const;
  [[nodiscard]] bool has_host(const engine::Member& guest) const;
  [[nodiscard]] bool knows_pod(const engine::Pod& pod) const;
  [[nodiscard]] bool states_all(const engine::Member& member) const;
  [[nodiscard]] Id borrower_of(const engine::Member& lender) const;
  void check_all_files();
  void check_waiting();

  int roll(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  SimContainer* pick(Phase phase);
  SimContainer& pick();  // one of all, of which there are some
  // What the engine knows of it, unless it was told that it is another pod's.
  [[nodiscard]] const engine::Member* known(const SimContainer& one) const;
  // Whether it thinks so, or has forgotten that it runs.
  [[nodiscard]] bool mistold(const SimContainer& one) const;
  [[nodiscard]] bool has_live_namesake(const SimContainer& one) const;
  engine::Resources some_request(engine::Qos qos);
  engine::Pod some_pod();
  void lend_or_borrow(engine::Pod& pod);
  engine::Container attempt(const engine::Pod& pod, const std::string& name,
                            const engine::Resources& request);
  [[nodiscard]] bool writes() const { return options_.fence != engine::FenceKind::kRuntime; }
  // Where the container may run: its file, within its QoS group's, less what other partitions hold.
  [[nodiscard]] engine::CpuSet effective(const Id& id) const;

  topology::Topology machine_;
  SimOptions options_;
  std::mt19937 random_;
  engine::Engine engine_;
  std::map<Id, SimContainer> containers_;
  std::map<std::pair<std::string, std::string>, engine::Resources> requests_;  // by pod and name
  std::map<std::string, engine::CpuSet> groups_;  // of QoS classes, as their files say
  std::map<std::string, engine::CpuSet> limits_;  // AllowedCPUs of their slices
  std::set<std::string> foreign_groups_;          // written behind the agent's back
  std::set<std::string> stale_groups_;            // the last write failed
  engine::Loans loans_;
  int next_ = 0;
  std::string fault_;
  std::string last_;
  std::string transcript_;
  std::map<std::string, int> done_;
};

}  // namespace pinion::test_support
