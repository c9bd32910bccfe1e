#include "cluster/core/hole_text.h"

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Bytes;

constexpr Bytes kMiB = Bytes{1} << 20;
constexpr Bytes kGiB = Bytes{1} << 30;

std::string in_one(Align align) {
  switch (align) {
    case Align::kL3:
      return " in one L3 domain";
    case Align::kNuma:
      return " in one NUMA node";
    case Align::kSocket:
      return " on one socket";
    case Align::kNone:
      break;
  }
  return " on one node";
}

// Rounded up: what is asked, not less.
std::string size_text(Bytes bytes) {
  const bool in_gib = bytes % kGiB == 0;
  const Bytes unit = in_gib ? kGiB : kMiB;
  return std::to_string(bytes / unit + (bytes % unit == 0 ? 0 : 1)) + (in_gib ? " GiB" : " MiB");
}

}  // namespace

Align widest_align(const topology::Request& request) {
  return request.strength == topology::Strength::kRequired ? request.align : Align::kNone;
}

bool binds_memory(const topology::Request& request) {
  return request.memory > 0 && request.memory_policy == topology::MemoryPolicy::kBind;
}

std::string hole_text(const topology::Request& request) {
  std::string text = std::to_string(request.cpus) + (request.cpus == 1 ? " CPU" : " CPUs");
  if (binds_memory(request)) text += " and " + size_text(request.memory);
  return text + in_one(widest_align(request));
}

}  // namespace pinion::cluster
