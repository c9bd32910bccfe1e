// CpuSet::parse takes any bytes; what it accepts survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/target.h"
#include "topology/cpuset.h"

namespace pinion::fuzz::topology_cpuset {
namespace {

template <class Set>
void round_trip(std::string_view text) {
  const auto parsed = Set::parse(text);
  if (!parsed) {
    require(!parsed.error().text.empty());
    return;
  }
  const auto again = Set::parse(parsed->to_string());
  require(again.has_value());
  require(*again == *parsed);
  require(again->to_string() == parsed->to_string());
  int members = 0;
  for (const int id : *parsed) {
    require(id >= 0 && id < Set::kCapacity);
    ++members;
  }
  require(members == parsed->count());
}

}  // namespace

PINION_FUZZ_TARGET(topology_cpuset) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  round_trip<pinion::topology::CpuSet>(text);
  round_trip<pinion::topology::NodeSet>(text);
  return 0;
}

}  // namespace pinion::fuzz::topology_cpuset
