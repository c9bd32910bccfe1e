// CPU sets as systemd writes them on D-Bus.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/systemd/cpu_bytes.h"

namespace pinion::systemd {
namespace {

using topology::CpuSet;

RC_GTEST_PROP(CpuBytes, ASetIsTheSameAfterAWayThroughBytes, ()) {
  CpuSet cpus;
  for (const int cpu :
       *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, CpuSet::kCapacity))) {
    cpus.add(cpu);
  }
  auto bytes = to_cpu_bytes(cpus);
  const bool shortest = bytes.empty() || bytes.back() != 0;  // RC_ASSERT evaluates both sides
  RC_ASSERT(shortest);
  bytes.resize(bytes.size() + *rc::gen::inRange<std::size_t>(0, 16));
  const auto read = parse_cpu_bytes(bytes);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == cpus);
}

RC_GTEST_PROP(CpuBytes, AnyBytesAreReadOrRefused, (const std::vector<std::uint8_t>& bytes)) {
  const auto cpus = parse_cpu_bytes(bytes);
  RC_ASSERT(cpus.has_value());  // as few as these hold no CPU past the last one
  auto again = to_cpu_bytes(*cpus);
  again.resize(bytes.size());
  RC_ASSERT(again == bytes);
}

}  // namespace
}  // namespace pinion::systemd
