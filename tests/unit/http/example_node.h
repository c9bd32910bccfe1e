// Nodes as the exposition sees them: a small one whose figures a reader can check, and a full one.
#pragma once

#include "agent/http/expose.h"

namespace pinion::agent {

struct ExampleNode {
  NodeView view;
  metrics::Sample sample;
  ExposeExtras extras;
};

// Four CPUs in two NUMA nodes, CPU 0 reserved. A rank with every figure, a shared container with
// what is read of those, a finished one, and one that has not been measured yet.
ExampleNode small_node();

// 256 CPUs, 8 NUMA nodes, 32 L3s, and that many containers (up to 224) with every figure that such
// a machine has.
ExampleNode full_node(int containers);

}  // namespace pinion::agent
