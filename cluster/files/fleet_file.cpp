#include "cluster/files/fleet_file.h"

#include <memory>

#include "base/cli/yaml_entry.h"
#include "policy/reserved_settings.h"
#include "policy/settings.h"

namespace pinion::cluster {
namespace {

constexpr std::array<std::string_view, 8> kKeys{"name",
                                                "count",
                                                "topology",
                                                "reserved-cpus",
                                                "strict-cpu-reservation",
                                                "reserved-memory",
                                                "allowed-privileges",
                                                "used"};
constexpr std::array kTruths{Word<bool>{"true", true}, Word<bool>{"false", false}};

topology::CpuSet cpus_of(YamlEntry& entry, const YAML::Node& node, const std::string& what) {
  const auto cpus = topology::CpuSet::parse(node.IsScalar() ? node.Scalar() : "x");
  if (cpus) return *cpus;
  entry.fail(node, what + " must be a list of CPUs as 0-3,8");
  return {};
}

std::vector<topology::CpuSet> used_of(YamlEntry& entry) {
  std::vector<topology::CpuSet> used;
  if (!entry.has("used")) return used;
  if (!entry["used"].IsSequence()) {
    entry.fail(entry["used"], "used must be a list, one item for each container");
    return used;
  }
  for (const YAML::Node& node : entry["used"]) used.push_back(cpus_of(entry, node, "used"));
  return used;
}

// As the agent reads it from its own file.
void set(const settings::Setting& setting, YamlEntry& entry, const char* key) {
  if (!entry.has(key)) return;
  const Status done = settings::apply_value(setting, entry[key]);
  if (!done) entry.fail(entry[key], std::string(key) + ": " + done.error().text);
}

Result<FleetFileNode> read_node(const YAML::Node& node) {
  if (!node.IsMap()) return yaml_error(node, "an entry must be a map with a name and a topology");
  YamlEntry entry(node, kKeys);
  FleetFileNode result;
  result.name = entry.text("name");
  result.count = entry.number("count", 0, kMaxFleetNodes);
  for (const char* key : {"name", "topology"}) {
    if (!entry.has(key)) entry.fail(node, "the key '" + std::string(key) + "' is missing");
  }
  const auto source = topology::Source::parse(entry.text("topology"));
  if (source) {
    result.source = *source;
  } else {
    entry.fail(entry["topology"], "topology: " + source.error().text);
  }
  if (entry.has("reserved-cpus")) {
    result.reserved.cpus = cpus_of(entry, entry["reserved-cpus"], "reserved-cpus");
  }
  result.reserved.strict = entry.word("strict-cpu-reservation", kTruths, false);
  set(policy::reserved_memory(result.reserved.memory), entry, "reserved-memory");
  set(policy::allowed_privileges(result.privileges), entry, "allowed-privileges");
  result.used = used_of(entry);
  if (entry.error()) return failure(*entry.error());
  return result;
}

Status check_used(const FleetFileNode& node, const topology::Topology& machine) {
  const topology::CpuSet all = machine.online | machine.offline;
  for (const topology::CpuSet& used : node.used) {
    if (used.is_subset_of(all)) continue;
    return failure(Errc::kInvalid, "used: CPUs " + (used - all).to_string() +
                                       " do not exist, this machine has " + all.to_string());
  }
  return {};
}

NodeReport report_of(const FleetFileNode& node, std::string name,
                     std::shared_ptr<const topology::Topology> machine) {
  NodeReport report;
  report.topology = std::move(machine);
  report.reserved = node.reserved.cpus;
  report.strict_reservation = node.reserved.strict;
  report.instance = "file";
  for (std::size_t i = 0; i < node.used.size(); ++i) {
    topology::Claim claim;
    claim.id = name + "/" + std::to_string(i);
    claim.cpus = node.used[i];
    report.claims.push_back(std::move(claim));
  }
  report.name = std::move(name);
  return report;
}

}  // namespace

Result<std::vector<FleetFileNode>> parse_fleet_file(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<std::vector<FleetFileNode>> {
    if (!root.IsSequence()) return yaml_error(root, "the file must be a list of nodes");
    std::vector<FleetFileNode> nodes;
    int all = 0;
    for (const YAML::Node& one : root) {
      auto node = read_node(one);
      if (!node) return failure(std::move(node.error()));
      all += std::max(node->count, 1);
      if (all > kMaxFleetNodes) {
        return yaml_error(one, "more than " + std::to_string(kMaxFleetNodes) + " nodes");
      }
      if (!nodes.empty() && node->privileges != nodes.front().privileges) {
        return yaml_error(
            one,
            "allowed-privileges must be the same on all nodes, as the extender reads one "
            "file for all agents");
      }
      nodes.push_back(std::move(*node));
    }
    return nodes;
  });
}

Status report_fleet(const std::vector<FleetFileNode>& nodes,
                    const std::function<Status(NodeReport)>& take) {
  std::set<std::string> names;
  for (const FleetFileNode& node : nodes) {
    auto read = topology::discover(node.source);
    if (!read) return failure(std::move(read.error()).within("node " + node.name));
    Status valid = policy::check_reserved(node.reserved, *read);
    if (valid) valid = check_used(node, *read);
    if (!valid) return failure(valid.error().within("node " + node.name));
    const topology::ReservedMemory memory = node.reserved.memory_of(*read);
    const auto machine = std::make_shared<const topology::Topology>(
        topology::without_reserved_memory(std::move(*read), memory));
    for (int i = 0; i < std::max(node.count, 1); ++i) {
      const std::string name = node.count > 0 ? node.name + "-" + std::to_string(i) : node.name;
      if (!names.insert(name).second) {
        return failure(Errc::kInvalid, "node " + name + ": given twice");
      }
      Status good = take(report_of(node, name, machine));
      if (!good) return failure(std::move(good.error()).within("node " + name));
    }
  }
  return {};
}

Status fill_fleet(const std::vector<FleetFileNode>& nodes, Fleet& fleet) {
  return report_fleet(nodes, [&](NodeReport report) -> Status {
    const auto lost = fleet.report(std::move(report), 0);
    if (!lost) return failure(lost.error());
    return {};
  });
}

}  // namespace pinion::cluster
