// Who runs where, and how fast each is because of the others (model.h).
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/sim/machine.h"
#include "cluster/sim/model.h"

namespace pinion::sim {

class Contention {
 public:
  // Both must outlive it. `pinned`: processes stay on their CPUs; else they roam their node.
  Contention(const Model& model, const cluster::Fleet& fleet, bool pinned)
      : model_(model), fleet_(fleet), pinned_(pinned) {}

  void add(Handle handle, const Job& job, const std::vector<Piece>& pieces);
  void remove(Handle handle);
  // How much longer it takes than where nothing disturbs it, >= 1, for those for whom that may have
  // changed since the last call.
  std::vector<std::pair<Handle, double>> changes();

 private:
  using Numa = std::pair<int, int>;  // node, NUMA node of it

  struct Share {
    Numa where;
    double tasks = 0;
  };
  struct Present {
    const KindModel* kind = nullptr;
    std::vector<Share> shares;
    std::map<int, double> sent;  // GB/s, by node
    std::map<int, int> cpus;     // that its processes want, by node
    bool split = false;          // a worker has CPUs in several NUMA nodes
  };

  void charge(Handle handle, const Present& present, int sign);
  [[nodiscard]] double slowdown(const Present& present) const;
  // CPUs that are wanted of the node for each that it has, at least 1.
  [[nodiscard]] double cpu_queue(int node) const;
  // GB/s that a job gets of the node's network which wants to send so many there.
  [[nodiscard]] double granted(int node, double wanted) const;

  const Model& model_;
  const cluster::Fleet& fleet_;
  const bool pinned_;
  std::map<Handle, Present> present_;
  std::map<Numa, double> wanted_;       // shares of its bandwidth
  std::map<int, int> cpus_wanted_;      // by node
  std::map<int, std::set<Handle>> on_;  // jobs, by node
  std::set<int> touched_;               // nodes, since changes()
};

}  // namespace pinion::sim
