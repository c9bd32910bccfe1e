#include "policy/reserved_settings.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"

namespace pinion::policy {

using settings::Setting;

Setting reserved_cpus(topology::CpuSet& reserved) {
  return {.key = "reservedSystemCPUs",
          .help = "CPUs never given away, e.g. 0-1,64 [none]",
          .set = [&reserved](const std::string& value) -> Status {
            const auto cpus = topology::CpuSet::parse(value);
            if (!cpus) return failure(cpus.error());
            reserved = *cpus;
            return {};
          },
          .show = [&reserved] { return reserved.to_string(); },
          .flag = "--reserved-cpus"};
}

namespace {

// One resource of a node; hugepages, which the kubelet reserves here too, are not promised.
Status reserve(topology::NodeId node, const std::string& resource, const std::string& amount,
               topology::ReservedMemory& reserved) {
  if (resource != "memory" && !resource.starts_with("hugepages-")) {
    return failure(Errc::kInvalid, "unknown resource " + quoted_value(resource) +
                                       ", use memory (hugepages-SIZE is passed over)");
  }
  const auto bytes = byte_quantity(amount);
  if (!bytes) return failure(bytes.error().within(resource));
  if (resource == "memory" && !reserved.emplace(node, *bytes).second) {
    return failure(Errc::kInvalid, "NUMA node " + std::to_string(node) + " is stated twice");
  }
  return {};
}

Result<topology::NodeId> node_number(const std::string& text) {
  const auto node = topology::NodeSet::parse(text);
  if (!node || node->count() != 1) {
    return failure(Errc::kInvalid, quoted_value(text) + " is no number of a NUMA node");
  }
  return node->first();
}

// As the kubelet's --reserved-memory: "0:memory=1Gi;1:memory=2Gi,hugepages-2Mi=1Gi".
Result<topology::ReservedMemory> reserved_memory_of(const std::string& value) {
  topology::ReservedMemory reserved;
  for (const std::string& part : settings::parts_of(value, ';')) {
    const auto colon = part.find(':');
    const auto node = node_number(part.substr(0, colon));
    if (!node) return failure(node.error());
    if (colon == std::string::npos) {
      return failure(Errc::kInvalid, "expected NODE:memory=AMOUNT, not " + quoted_value(part));
    }
    const auto limits = std::string_view(part).substr(colon + 1);
    for (const std::string& limit : settings::parts_of(limits, ',')) {
      const auto equals = limit.find('=');
      const std::string amount = equals == std::string::npos ? "" : limit.substr(equals + 1);
      const auto done = reserve(*node, limit.substr(0, equals), amount, reserved);
      if (!done) return failure(done.error());
    }
  }
  return reserved;
}

// As the kubelet's file: a list of {numaNode: N, limits: {memory: AMOUNT}}.
Result<topology::ReservedMemory> reserved_memory_of(const YAML::Node& list) {
  const auto wrong = [](const YAML::Node& entry) {
    return failure(Errc::kInvalid,
                   settings::at_line(entry) + ": expected {numaNode: N, limits: {memory: AMOUNT}}");
  };
  topology::ReservedMemory reserved;
  if (!list.IsSequence()) return wrong(list);
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap() || entry.size() != 2 || !entry["numaNode"] || !entry["limits"] ||
        !entry["numaNode"].IsScalar() || !entry["limits"].IsMap()) {
      return wrong(entry);
    }
    const auto node = node_number(entry["numaNode"].Scalar());
    if (!node) return failure(node.error().within("numaNode"));
    for (const auto& limit : entry["limits"]) {
      if (!limit.first.IsScalar() || !limit.second.IsScalar()) return wrong(entry);
      const auto done = reserve(*node, limit.first.Scalar(), limit.second.Scalar(), reserved);
      if (!done) return failure(done.error().within(settings::at_line(limit.first)));
    }
  }
  return reserved;
}

// As the kubelet's file has it; nothing where it is not set.
std::string reserved_memory_lines(const std::optional<topology::ReservedMemory>& reserved) {
  if (!reserved) return "";
  if (reserved->empty()) return "reservedMemory: []\n";
  std::string yaml = "reservedMemory:\n";
  for (const auto& [node, bytes] : *reserved) {
    yaml += "  - numaNode: " + std::to_string(node) + "\n    limits:\n      memory: \"" +
            std::to_string(bytes) + "\"\n";
  }
  return yaml;
}

}  // namespace

Setting reserved_memory(std::optional<topology::ReservedMemory>& reserved) {
  const auto take_over = [&reserved](Result<topology::ReservedMemory> read) -> Status {
    if (!read) return failure(read.error());
    reserved = std::move(*read);
    return {};
  };
  return {
      .key = "reservedMemory",
      .help =
          "Never promised to bound containers, as 0:memory=1Gi;1:memory=1Gi [1/32 of each "
          "node, 100 MiB to 1 GiB]",
      .set = [take_over](const std::string& value) { return take_over(reserved_memory_of(value)); },
      .show = {},
      .set_tree =
          [take_over](const YAML::Node& list) { return take_over(reserved_memory_of(list)); },
      .show_lines = [&reserved] { return reserved_memory_lines(reserved); }};
}

}  // namespace pinion::policy
