// How long a program takes where it lies: what the file of the run-time model says, of which
// docs/simulator.md has the form.
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
