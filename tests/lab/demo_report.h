// What the demo prints: pure functions from what was found to text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/lab/demo_job.h"

namespace pinion::lab {

// One line for each container. `told` has what the agent gave each container, by id; empty without
// an agent.
std::string table(const std::vector<Row>& rows, const std::map<std::string, topology::CpuSet>& told,
                  const topology::Topology& machine);

// What is wrong with a run that was to be pinned: each rank has as many CPUs as it asked for, in
// one NUMA node, its threads ran there only, and nobody else did. Empty: nothing.
std::vector<std::string> faults_of_pinned(const std::vector<Row>& rows,
                                          const topology::Topology& machine);

// The ranks of both runs beside each other, in one sentence.
std::string verdict(const std::vector<Row>& pinned, const std::vector<Row>& unpinned);

}  // namespace pinion::lab
