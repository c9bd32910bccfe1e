#include "cluster/core/hole_text.h"

#include <algorithm>

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

std::string cpus_text(int cpus) {
  return std::to_string(cpus) + (cpus == 1 ? " CPU" : " CPUs");
}

}  // namespace

Align widest_align(const topology::Request& request) {
  return request.strength == topology::Strength::kRequired ? request.align : Align::kNone;
}

bool binds_memory(const topology::Request& request) {
  return request.memory > 0 && request.memory_policy == topology::MemoryPolicy::kBind;
}

std::string hole_text(const topology::Request& request) {
  std::string text = cpus_text(request.cpus);
  if (binds_memory(request)) text += " and " + size_text(request.memory);
  return text + in_one(widest_align(request));
}

std::string left_text(Bytes bytes) {
  if (bytes < kGiB) return std::to_string(bytes / kMiB) + " MiB";
  const Bytes tenth = bytes % kGiB * 10 / kGiB;
  return std::to_string(bytes / kGiB) + (tenth == 0 ? "" : "." + std::to_string(tenth)) + " GiB";
}

MostThere::MostThere(const std::vector<topology::Request>& requests) {
  const auto& largest = *std::max_element(
      requests.begin(), requests.end(),
      [](const topology::Request& a, const topology::Request& b) { return a.cpus < b.cpus; });
  align_ = widest_align(largest);
  smt_ = largest.smt;
  wanted_ = largest.cpus;
  memory_wanted_ = binds_memory(largest) ? largest.memory : 0;
  for (const topology::Request& request : requests) all_wanted_ += request.cpus;
}

void MostThere::look(int free, bool guarded, int largest, const topology::Holes& holes) {
  if (guarded) free = std::max(0, free - 1);
  free_ = std::max(free_, free);
  const int cpus = std::min(free, largest);
  cpus_ = std::max(cpus_, cpus);
  if (memory_wanted_ == 0 || cpus < wanted_) return;
  for (const topology::Hole& hole : holes.of(align_)) {
    if (hole.of(smt_) >= wanted_) memory_ = std::max(memory_, hole.memory);
  }
}

std::string MostThere::text() const {
  const std::string where = in_one(align_);
  if (cpus_ < wanted_) return "at most " + cpus_text(cpus_) + where;
  if (lacks_memory()) return "at most " + left_text(memory_) + " beside such CPUs" + where;
  if (free_ < all_wanted_) return "at most " + cpus_text(free_) + in_one(Align::kNone);
  return {};
}

}  // namespace pinion::cluster
