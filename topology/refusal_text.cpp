#include "topology/refusal_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "topology/memory.h"
#include "topology/space.h"

namespace pinion::topology {
namespace {

constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};

std::string count_of_cpus(int n) {
  return std::to_string(n) + (n == 1 ? " CPU" : " CPUs");
}

// "64 GiB", "1.5 GiB", "512 MiB": one decimal, rounded down.
std::string size_text(Bytes bytes) {
  std::size_t unit = 0;
  Bytes scale = 1;
  while (unit + 1 < kUnits.size() && bytes / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  const Bytes tenths = bytes % scale * 10 / scale;
  std::string text = std::to_string(bytes / scale);
  if (tenths > 0) text.append(".").append(std::to_string(tenths));
  return text + " " + kUnits[unit];
}

using Where = std::optional<InPlace>;

// "any NUMA node", "its NUMA node"
std::string domain_text(Align align, const Where& in_place) {
  const std::string which = in_place ? "its " : "any ";
  switch (align) {
    case Align::kL3:
      return which + "L3 domain";
    case Align::kNuma:
      return which + "NUMA node";
    case Align::kSocket:
      return which + "package";
    case Align::kNone:
      break;
  }
  return "this machine";
}

std::string in_domain(Align align, const Where& in_place) {
  return (align == Align::kNone ? " on " : " in ") + domain_text(align, in_place);
}

// " on node 1"; nothing for the whole machine.
std::string on_domain(const Topology& topology, Align align, Index domain) {
  if (domain == kNoIndex || align == Align::kNone) return "";
  if (align == Align::kSocket) return " on package " + std::to_string(domain);
  std::string node;
  for_each_node(topology, align, domain, [&](Index index) {
    node = "node " + std::to_string(topology.nodes[static_cast<std::size_t>(index)].id);
  });
  if (align == Align::kNuma) return " on " + node;
  return " on L3 " + std::to_string(domain) + (node.empty() ? "" : " of " + node);
}

std::string need_and_largest(const Topology& topology, const Refusal& refusal,
                             const Where& in_place) {
  const std::string largest = std::to_string(refusal.largest);
  return "need " + std::to_string(refusal.need) +
         (in_place ? ", at most " + largest + " with its own" : ", largest free " + largest) +
         on_domain(topology, refusal.align, refusal.where);
}

// The most that a domain of that kind would give on the empty machine.
Space bare_machine(const Topology& topology, Smt smt) {
  return survey(topology, topology.online, {}, {}, smt);
}

std::string text_of_topology(const Topology& topology, const Request& request,
                             const Refusal& refusal, const Where& in_place) {
  const Space bare = bare_machine(topology, request.smt);
  int most = 0;
  bool fitting = false;
  Bytes memory = 0;
  const MemoryLeft all = memory_left(topology, Ledger(), nullptr);
  for (Index domain = 0; domain < static_cast<Index>(bare.of(refusal.align).size()); ++domain) {
    if (in_place && domain != in_place->domain) continue;
    most = std::max(most, bare.of(refusal.align, domain).units);
    if (!fits(topology, bare, refusal.align, domain, request.cpus)) continue;
    fitting = true;
    memory = std::max(memory, memory_left_in(topology, all, refusal.align, domain).value_or(0));
  }
  if (fitting) {
    return "not enough memory" + in_domain(refusal.align, in_place) + " with " +
           count_of_cpus(request.cpus) + ": need " + size_text(request.memory) + ", largest " +
           size_text(memory);
  }
  if (most >= request.cpus && bare.step > 1) {
    const int below = request.cpus - request.cpus % bare.step;
    return count_of_cpus(request.cpus) + " cannot be made of whole cores of " +
           count_of_cpus(bare.step) +
           " each: " + (below > 0 ? std::to_string(below) + " or " : "") +
           std::to_string(below + bare.step) + " can";
  }
  if (most >= request.cpus) {
    return count_of_cpus(request.cpus) + " cannot be made of the whole cores of " +
           domain_text(refusal.align, in_place) + ", whose sizes differ";
  }
  return std::string("not enough ") + (request.smt == Smt::kOnePerCore ? "cores" : "CPUs") +
         in_domain(refusal.align, in_place) + ", even when all are free: need " +
         std::to_string(request.cpus) + ", largest " + std::to_string(most);
}

std::string what_is_missing(const Topology& topology, const Ledger& ledger, const Request& request,
                            const Refusal& refusal, const Where& in_place) {
  const std::string figures = need_and_largest(topology, refusal, in_place);
  const std::string in_it = in_domain(refusal.align, in_place);
  const bool whole = in_place ? request.smt == Smt::kFullCore : refusal.fits_split;
  switch (refusal.reason) {
    case Reason::kCpus:
      return "not enough free CPUs" + std::string(whole ? " in whole cores" : "") + in_it + ": " +
             figures;
    case Reason::kMemory:
      return "not enough memory left" + in_it + " with " + count_of_cpus(refusal.need) +
             " free: need " + size_text(refusal.need_memory) + ", largest " +
             size_text(refusal.largest_memory) + on_domain(topology, refusal.align, refusal.where);
    case Reason::kIsolated:
      if (request.use_isolated) {
        return "not enough free CPUs" + in_it +
               " without mixing isolated and ordinary ones: " + figures;
      }
      return "not enough free CPUs" + in_it + " that are not isolated: " + figures;
    case Reason::kReserved:
      return "not enough free CPUs" + in_it + " beside the reserved ones (" +
             ledger.reserved().to_string() + "): " + figures;
    case Reason::kLastShared:
      return "no CPU would be left for all other containers" +
             (ledger.strict() ? " beside the reserved ones (" + ledger.reserved().to_string() + ")"
                              : std::string()) +
             ": " + figures;
    case Reason::kTopology:
    case Reason::kAnnotation:
      break;
  }
  return text_of_topology(topology, request, refusal, in_place);
}

// "; would fit: 4 CPUs, or align socket, or smt prefer-full". What a pod says of itself counts as
// it was when it was made, so all but its size is what a new one could ask for.
std::string what_would_fit(const Refusal& refusal, const Where& in_place) {
  std::vector<std::string> options;
  if (refusal.reason == Reason::kMemory) {
    if (refusal.largest_memory > 0) options.push_back(size_text(refusal.largest_memory));
  } else if (refusal.largest > (in_place ? in_place->has : 0) && refusal.largest < refusal.need) {
    options.push_back(count_of_cpus(refusal.largest));
  }
  const std::string with = in_place ? "a new pod with " : "";
  if (refusal.fits_anew) options.emplace_back("a new pod");
  if (refusal.fits_with)
    options.push_back(with + "align " + std::string(to_string(*refusal.fits_with)));
  if (refusal.fits_split) options.push_back(with + "smt prefer-full");
  std::string text;
  for (const std::string& option : options)
    text += (text.empty() ? "; would fit: " : ", or ") + option;
  return text;
}

// "; it has eth0, mlx5_0 and 3 more"
std::string devices_text(const Topology& topology) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, topology.devices.size()); ++i) {
    text += (i == 0 ? "; it has " : ", ") + topology.devices[i].name;
  }
  if (text.empty()) return "; it has none";
  if (topology.devices.size() <= most) return text;
  return text + " and " + std::to_string(topology.devices.size() - most) + " more";
}

}  // namespace

std::string text_of_unsound(const Topology& topology, const Request& request) {
  if (request.cpus < 1)
    return "a container needs at least 1 CPU, not " + std::to_string(request.cpus);
  if (request.cpus > CpuSet::kCapacity) {
    return "more CPUs than any supported machine has: need " + std::to_string(request.cpus);
  }
  return "this machine has no device '" + request.near_device + "'" + devices_text(topology);
}

std::string text_of(const Topology& topology, const Ledger& ledger, const Request& request,
                    const Refusal& refusal, const std::optional<InPlace>& in_place) {
  return what_is_missing(topology, ledger, request, refusal, in_place) +
         what_would_fit(refusal, in_place);
}

}  // namespace pinion::topology
