// How long a program takes where it lies: what the file of the run-time model says.
//
//   bandwidth: 0.12      # of a NUMA node's memory bandwidth, what one process draws that only
//                        # moves data and has the node to itself
//   nic: 0.117           # GB/s of a node's network, each way; 0: never a limit
//   start: 4             # seconds from the decision until a job runs
//   release: 35          # seconds from a job's end until its CPUs can be given again
//   kinds:
//     stream:
//       seconds: 250     # of a job whose list says no run time, where nothing disturbs it
//       memory: 1        # share of its time that waits for memory, 0 .. 1
//       loose: 1.2       # how much longer its processes take when they are not pinned, >= 1: what
//                        # migrations and remote memory cost them
//       split: 1.3       # how much longer the pinned processes of a worker take that has CPUs in
//                        # several NUMA nodes, >= 1
//       crowded: 1       # how much longer its processes take on a node of which twice its CPUs are
//                        # wanted; 1: equal shares and nothing lost, more: they wait for each other
//       traffic: 0       # GB/s that each process sends to the others
//
// A process is as slow as its NUMA node and its node's network make it, a job as its slowest
// process. A NUMA node whose processes together want D times its bandwidth stretches the memory
// part of each by D, where D > 1. Where more CPUs are wanted of a node than it has, Q for each, all
// takes 1 + crowded x (Q - 1) times as long. The jobs that send from a node share its network
// equally, but that who wants less leaves the rest to the others.
#pragma once

#include <map>
#include <string>

namespace pinion::sim {

struct KindModel {
  double seconds = 0;
  double memory = 0;
  double loose = 1;
  double split = 1;
  double traffic = 0;
  double crowded = 1;
};

struct Model {
  double bandwidth = 0;
  double nic = 0;
  double start = 0;
  double release = 0;
  std::map<std::string, KindModel, std::less<>> kinds;

  // A kind that the file does not name is disturbed by nothing.
  [[nodiscard]] const KindModel& kind(const std::string& name) const {
    static const KindModel plain;
    const auto found = kinds.find(name);
    return found == kinds.end() ? plain : found->second;
  }
};

}  // namespace pinion::sim
