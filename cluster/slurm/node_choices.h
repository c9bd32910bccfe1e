// Which nodes the jobs of one round may have: each list is made once, and only so many of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/slurm/job.h"
#include "cluster/slurm/node.h"
#include "cluster/slurm/shape.h"

namespace pinion::slurm {

class NodeChoices {
 public:
  struct Chosen {
    std::string partition;
    Choice choice;
    std::string list;  // short for its nodes
  };

  // Precondition: `nodes` lives as long as this.
  NodeChoices(const std::vector<Node>& nodes, std::int64_t now_s) : nodes_(nodes), now_s_(now_s) {}

  // In the first of these partitions that has enough nodes, else in the one that has most.
  // Precondition: there is one.
  const Chosen& choose(const Job& job, const std::vector<std::string>& partitions,
                       const Shape& shape);

  // Each list that nobody has wanted yet takes its time, and jobs that lack nodes are many. So each
  // round looks at the first hundred of them, of one user a quarter, and at some of the others,
  // which time draws. `of`: how many jobs could be placed.
  [[nodiscard]] bool may_choose(const Job& job, const std::vector<std::string>& partitions, int of);

  // What choose() found in this partition. Precondition: it did.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> nodes_for(
      const Job& job, const std::string& partition) const;

 private:
  const Chosen& chosen_in(const Job& job, const std::string& partition);

  const std::vector<Node>& nodes_;
  std::int64_t now_s_;
  // By partition, constraint, excluded nodes.
  using Wanted = std::tuple<std::string, std::string, std::vector<std::string>>;
  static Wanted wanted_of(const Job& job, const std::string& partition);
  std::map<Wanted, std::shared_ptr<const Chosen>> choices_;
  std::map<std::string, std::uint64_t> chosen_of_;  // by user, as may_choose() allowed
  std::uint64_t chosen_ = 0;                        // all of these
  std::uint64_t left_ = 0;                          // jobs behind the first of them
  std::uint64_t drawn_ = 0;                         // made for such
};

[[nodiscard]] bool enough(const Shape& shape, const Choice& choice);

// Empty: there are enough.
[[nodiscard]] std::string why_too_few(const Shape& shape, const Choice& choice);

}  // namespace pinion::slurm
