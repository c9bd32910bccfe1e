#include "ctl/node/draw_node.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <vector>

#include "base/cli/table.h"
#include "ctl/common/text.h"
#include "ctl/machine/draw_topology.h"
#include "ctl/node/container_rows.h"

namespace pinion::ctl {
namespace {

using topology::CpuSet;

CpuSet cpus_of(const std::string& list) {
  auto cpus = CpuSet::parse(list);
  return cpus ? *cpus : CpuSet();  // from an agent; one that cannot be read is drawn as none
}

std::string counted_cpus(const std::string& list) {
  const int count = cpus_of(list).count();
  return count == 0 ? "-" : std::to_string(count);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : plain(text);
}

// "Reserved     2  0-1".
std::string set_line(const std::string& name, const std::string& list) {
  if (list.empty()) return "";
  const std::string count = counted_cpus(list);
  const std::string blanks(count.size() < 4 ? 4 - count.size() : 0, ' ');
  return flow(name + blanks + count + "  ", list_words(plain(list)), "");
}

std::string head(const v1::NodeState& node) {
  const v1::Runtime& runtime = node.runtime();
  std::string text = "Node       " + or_dash(node.name()) + ", pinion-agent " +
                     or_dash(node.version()) + ", generation " + std::to_string(node.generation()) +
                     "\n";
  text += "Runtime    " + or_dash(runtime.name()) + " " + plain(runtime.version()) + ", " +
          or_dash(runtime.phase()) +
          (node.synchronized() ? "\n" : "; not all containers are known\n");
  text += "Fence      " + or_dash(node.fence()) +
          (node.strict_reservation() ? ", reserved CPUs for kube-system alone\n" : "\n");
  const v1::Sets& sets = node.sets();
  text += set_line("Online     ", sets.online());
  text += set_line("Reserved   ", sets.reserved());
  text += set_line("Exclusive  ", sets.exclusive());
  text += set_line("Shared     ", sets.shared());
  text += set_line("Isolated   ", sets.isolated());
  text += set_line("Free       ", sets.free());
  std::string largest;
  for (const char* align : {"l3", "numa", "socket", "none"}) {
    const auto place = node.largest().find(align);
    if (place == node.largest().end()) continue;
    largest +=
        (largest.empty() ? "" : ", ") + std::string(align) + " " + std::to_string(place->second);
  }
  return text + "Largest    " + or_dash(largest) + "\n";
}

std::string numa_table(const v1::NodeState& node) {
  std::vector<Row> rows = {{"NUMA", "FREE", "OF", "MEMORY", "PROMISED", "FREE CPUS"}};
  for (const v1::Domain& domain : node.numa_nodes()) {
    rows.push_back({std::to_string(domain.id()), counted_cpus(domain.free()),
                    counted_cpus(domain.cpus()), human_bytes(domain.memory()),
                    human_bytes(domain.memory_promised()), plain(domain.free())});
  }
  if (rows.size() == 1) return "";
  std::string text = "\n" + table(rows, {0, 1, 2, 3, 4});
  if (node.shared_memory() > 0) {
    text += "Shared containers request " + human_bytes(node.shared_memory()) +
            ", of each NUMA node its part; bound ones do not get that.\n";
  }
  return text;
}

std::string l3_table(const v1::NodeState& node) {
  std::vector<Row> rows = {{"  L3", "FREE", "OF", "FREE CPUS"}};
  for (const v1::Domain& domain : node.l3s()) {
    rows.push_back({std::to_string(domain.id()), counted_cpus(domain.free()),
                    counted_cpus(domain.cpus()), plain(domain.free())});
  }
  return rows.size() > 1 ? "\n" + table(rows, {0, 1, 2}) : "";
}

std::vector<Layer> layers_of(const v1::Snapshot& snapshot, const topology::Topology& machine) {
  std::vector<Layer> holders;
  for (const v1::Container* container : by_cores(snapshot)) {
    const CpuSet cpus = held_cpus(*container);
    if (!cpus.empty()) holders.push_back({' ', full_name(*container), cpus});
  }
  std::vector<Layer> layers = container_layers(holders);
  const CpuSet reserved = cpus_of(snapshot.node().sets().reserved());
  for (Layer& layer : standing_layers(machine, reserved)) layers.push_back(std::move(layer));
  return layers;
}

// The events that are counted on one line, those that are not with their reasons.
std::string events_text(const v1::NodeState& node) {
  std::vector<std::string> counted;
  std::vector<Row> missing;
  for (const v1::EventSupport& event : node.events()) {
    if (event.availability() == "counted") {
      counted.push_back(plain(event.event()));
    } else {
      missing.push_back(
          {"  " + plain(event.event()), plain(event.availability()), plain(event.detail())});
    }
  }
  std::string text;
  if (!counted.empty()) text += "\n" + flow("Counted      ", counted);
  if (!missing.empty()) text += "\nNot counted\n" + table(missing);
  return text;
}

std::string refusals_text(const v1::NodeState& node) {
  if (node.refusals().empty()) return "";
  std::vector<Row> rows;
  for (const v1::Refusal& refusal : node.refusals()) {
    rows.push_back({"  " + utc_text(refusal.unix_ms()),
                    plain(refusal.namespace_() + "/" + refusal.pod() + "/" + refusal.container()),
                    plain(refusal.reason()), plain(refusal.text())});
  }
  return "\nRefused\n" + table(rows);
}

}  // namespace

std::string utc_text(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  if (unix_ms == 0 || gmtime_r(&seconds, &parts) == nullptr) return "-";
  std::array<char, 32> text{};
  return std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts) > 0 ? text.data()
                                                                                   : "-";
}

std::string draw_node(const v1::Snapshot& snapshot, const topology::Topology& machine) {
  const v1::NodeState& node = snapshot.node();
  std::string text = head(node) + numa_table(node) + l3_table(node);
  if (!machine.pus.empty()) {
    text += "\n" + draw_topology(machine, layers_of(snapshot, machine), CacheSizes::kUnknown);
  }
  return text + events_text(node) + refusals_text(node);
}

}  // namespace pinion::ctl
