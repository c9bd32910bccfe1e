// Nodes with CPUs in NUMA nodes: an adapter of the cluster's scheduler, as the extender is one, on
// a virtual clock. Whatever the scheduler reserves is started at once.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/core/scheduler.h"
#include "cluster/core/whole_nodes.h"
#include "cluster/sim/pool_queue.h"
#include "cluster/sim/shaping.h"

namespace pinion::sim {

struct NodeRules {
  QueueRule queue = QueueRule::kOurs;
  cluster::PlacementPolicy placement = cluster::PlacementPolicy::kHoles;
  std::optional<cluster::PlacementPolicy> services{};  // of services; nullopt: the same
  ShapeRules shape{};
  int search = cluster::PlanLimits().steps;  // decisions that placement "ours" tries for a job
  // A job lies on no more than Job::nodes, as in a cluster; false: policies cut it for so many, and
  // that is all, as in the paper.
  bool keeps_to_nodes = true;
  int depth = 100;         // jobs of the queue that one pass looks at, where others may go past
  std::uint64_t seed = 1;  // of placements that choose by chance
};

class NodeMachine : public Machine {
 public:
  explicit NodeMachine(const NodeRules& rules);

  // Before the first job. Errors: those of Fleet::report().
  Status add(cluster::NodeReport node);

  [[nodiscard]] std::int64_t processors() const override { return processors_; }
  [[nodiscard]] std::string never(const Job& job) override;
  void submit(Handle handle, const Job& job, Ms now) override;
  void end(Handle handle, Ms now) override;
  std::vector<Started> pass(Ms now) override;
  [[nodiscard]] double fragmentation() const override;
  [[nodiscard]] Status check(Ms now) const override;

  // --- jobs of which somebody else says when they start, and with how many workers
  // (elastic_machine.h): pass() has nothing to do with them

  // As never(), with so many workers. Precondition: 1 <= workers; job.shape.tasks if not elastic.
  [[nodiscard]] std::string never_with(const Job& job, int workers);
  // Places so many workers together. False: there is no room for all, and the job is not here.
  // Precondition: never_with() that many or fewer was empty.
  bool start(Handle handle, const Job& job, int workers, Ms now);
  // Places more, one by one, by the placement policy: kHoles prefers nodes where the job is. Stops
  // at the first for which there is no room. Returns how many there are then. Preconditions: the
  // job is elastic, was started here, and has no more than that.
  int grow(Handle handle, const Job& job, int workers, Ms now);
  // All but the first so many leave. Preconditions: as for grow(), but it has no fewer; workers
  // >= 1.
  void shrink(Handle handle, int workers, Ms now);
  // As ElasticJob::room, of a job that waits or is elastic; of one that is not elastic, tasks.
  [[nodiscard]] std::int64_t room(const Job& job);
  // Its launcher if it has one, then its workers. Precondition: it was started.
  [[nodiscard]] const std::vector<Piece>& pieces(Handle handle) const {
    return present_.at(handle).pieces;
  }
  // As ElasticJob::frees_whole. Precondition: it was started.
  [[nodiscard]] std::vector<std::int64_t> frees_whole(Handle handle) const;

  [[nodiscard]] const cluster::Fleet& fleet() const { return scheduler_.fleet(); }
  [[nodiscard]] const cluster::Scheduler& scheduler() const { return scheduler_; }

 private:
  // Taken CPUs by NUMA node of one node.
  struct Taken {
    std::vector<int> by_numa;
    std::vector<int> of_numa;  // that could be taken
  };
  struct Present {
    std::vector<int> tasks;     // by worker
    std::vector<Piece> pieces;  // once it runs

    [[nodiscard]] int workers() const;  // without its launcher
  };

  [[nodiscard]] cluster::JobId id_of(Handle handle) const;
  [[nodiscard]] Handle handle_of(const cluster::JobId& id) const;
  [[nodiscard]] std::string member_of(const cluster::JobId& job, std::size_t worker) const;
  Status cut_with(const Job& job, int workers);
  [[nodiscard]] std::string never_cut(const Job& job);
  Started begin(const cluster::JobId& id, Ms now);
  Piece begin_worker(const std::string& member, int tasks, Ms now);
  [[nodiscard]] int kept_nodes(const Job& job) const {
    return rules_.keeps_to_nodes ? job.nodes : 0;
  }
  void take(const Piece& piece, int sign);

  const NodeRules rules_;
  cluster::Scheduler scheduler_;
  cluster::IdleFleet idle_fleet_{scheduler_.fleet()};
  const std::string prefix_;  // of ids: with it, chance follows the seed
  Largest largest_;
  std::int64_t processors_ = 0;
  std::int64_t idle_ = 0;    // CPUs that nobody has
  std::int64_t broken_ = 0;  // of them, those in NUMA nodes of which a part is taken
  std::vector<Taken> taken_;
  Cut cut_;  // of the job that never() or start() was asked about last
  std::unordered_map<Handle, Present> present_;
  bool freed_ = true;  // the first of the queue may fit that did not
};

}  // namespace pinion::sim
