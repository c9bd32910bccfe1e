// What a container needs, in words without any node's name: refusals with equal causes read the
// same.
#pragma once

#include <string>
#include <vector>

#include "cluster/core/node_digest.h"
#include "topology/holes.h"

namespace pinion::cluster {

// The alignment that the request may climb to.
[[nodiscard]] topology::Align widest_align(const topology::Request& request);
// Whether memory beside its CPUs is promised to it.
[[nodiscard]] bool binds_memory(const topology::Request& request);
// "8 CPUs and 16 GiB in one NUMA node"
[[nodiscard]] std::string hole_text(const topology::Request& request);
// "8.5 GiB", "512 MiB": what is there, not more.
[[nodiscard]] std::string left_text(topology::Bytes bytes);

// What the nodes that were looked at have for the containers of one member: the largest of them in
// one of the domains that it may climb to, and all of them on one node.
class MostThere {
 public:
  // Precondition: one request or more.
  explicit MostThere(const std::vector<topology::Request>& requests);

  void look(const topology::Holes& holes) {
    look(holes.free, holes.guarded, holes.largest(align_, smt_), holes);
  }
  // The same, where the digest was made from these holes, and cheaper: they are gone to only for
  // the memory beside CPUs that are there.
  void look(const NodeDigest& digest, const topology::Holes& holes) {
    look(digest.free, digest.guarded, digest.most(align_, smt_), holes);
  }
  [[nodiscard]] int cpus() const { return cpus_; }  // in one such domain
  // In one that has the CPUs; 0 where no memory is promised to it.
  [[nodiscard]] topology::Bytes memory() const { return memory_; }
  // The CPUs are there; false where no memory is promised to it.
  [[nodiscard]] bool lacks_memory() const { return cpus_ >= wanted_ && memory_ < memory_wanted_; }
  // What is short: "at most 6 CPUs in one NUMA node", "at most 8.5 GiB beside such CPUs in one NUMA
  // node", "at most 9 CPUs on one node"; empty: none of that.
  [[nodiscard]] std::string text() const;

 private:
  void look(int free, bool guarded, int largest, const topology::Holes& holes);

  topology::Align align_ = topology::Align::kNone;
  topology::Smt smt_ = topology::Smt::kPreferFull;
  int wanted_ = 0;
  topology::Bytes memory_wanted_ = 0;  // 0: none is promised to it
  int all_wanted_ = 0;
  int cpus_ = 0;
  topology::Bytes memory_ = 0;
  int free_ = 0;  // on one node
};

}  // namespace pinion::cluster
