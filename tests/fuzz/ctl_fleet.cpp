// The fleet file of pinionctl plan-job takes any bytes: an error has a text, and the nodes that
// were read make a fleet or an error that names one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/files/fleet_file.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ctl_fleet {
namespace {

using pinion::cluster::FleetFileNode;

constexpr int kMostAlike = 3;  // of each entry, as all are alike

}  // namespace

PINION_FUZZ_TARGET(ctl_fleet) {
  auto nodes = pinion::cluster::parse_fleet_file({reinterpret_cast<const char*>(data), size});
  if (!nodes) {
    if (nodes.error().text.empty() || nodes.error().text.size() > 10'000) std::abort();
    return 0;
  }
  // Reading machines is hwloc's work, and a file that is named is not ours to open.
  const auto machine =
      pinion::topology::Source::parse("synthetic:package:2 [numa(memory=64GB)] l3:1 core:4 pu:2");
  if (!machine) std::abort();
  int all = 0;
  for (FleetFileNode& node : *nodes) {
    if (node.name.empty() || node.count < 0) std::abort();
    node.source = *machine;
    node.count = std::min(node.count, kMostAlike);
    all += std::max(node.count, 1);
  }
  if (nodes->size() > 20) return 0;  // each is a machine to read
  pinion::cluster::Fleet fleet;
  const auto filled = fill_fleet(*nodes, fleet);
  if (!filled && filled.error().text.find("node ") == std::string::npos) std::abort();
  if (filled && fleet.size() != all) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::ctl_fleet
