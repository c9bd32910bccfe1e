#include "cluster/sim/model_file.h"

#include <array>
#include <cstdio>

#include "cluster/sim/yaml_number.h"

namespace pinion::sim {
namespace {

constexpr std::array<std::string_view, 5> kModelKeys{"bandwidth", "nic", "start", "release",
                                                     "kinds"};
constexpr std::array<std::string_view, 6> kKindKeys{"seconds", "memory",  "loose",
                                                    "split",   "traffic", "crowded"};
constexpr std::size_t kMostKinds = 1000;

Result<KindModel> read_kind(const YAML::Node& node) {
  if (!node.IsMap()) return yaml_error(node, "a kind must be a map");
  YamlEntry entry(node, kKindKeys);
  const KindModel kind{.seconds = yaml_number(entry, "seconds", 0, 0, 1e9),
                       .memory = yaml_number(entry, "memory", 0, 0, 1),
                       .loose = yaml_number(entry, "loose", 1, 1, 1000),
                       .split = yaml_number(entry, "split", 1, 1, 1000),
                       .traffic = yaml_number(entry, "traffic", 0, 0, 1e6),
                       .crowded = yaml_number(entry, "crowded", 1, 1, 1000)};
  if (entry.error()) return failure(*entry.error());
  return kind;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace

Result<Model> parse_model_file(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<Model> {
    if (!root.IsMap()) return yaml_error(root, "the file must be a map");
    YamlEntry entry(root, kModelKeys);
    Model model;
    model.bandwidth = yaml_number(entry, "bandwidth", 0, 0, 1);
    model.nic = yaml_number(entry, "nic", 0, 0, 1e6);
    model.start = yaml_number(entry, "start", 0, 0, 1e6);
    model.release = yaml_number(entry, "release", 0, 0, 1e6);
    if (entry.error()) return failure(*entry.error());
    if (!entry.has("kinds")) return model;
    if (!entry["kinds"].IsMap()) return yaml_error(entry["kinds"], "kinds must be a map");
    for (const auto& named : entry["kinds"]) {
      auto kind = read_kind(named.second);
      if (!kind) return failure(std::move(kind.error()));
      const bool good = named.first.IsScalar() && model.kinds.size() < kMostKinds;
      if (!good) return yaml_error(named.first, "a kind's name, of at most 1000 kinds");
      model.kinds.insert_or_assign(named.first.Scalar(), *kind);
    }
    return model;
  });
}

std::string to_yaml(const Model& model) {
  std::string text = "bandwidth: " + number(model.bandwidth) + "\nnic: " + number(model.nic) +
                     "\nstart: " + number(model.start) + "\nrelease: " + number(model.release) +
                     "\nkinds:\n";
  for (const auto& [name, kind] : model.kinds) {
    text += "  " + name + ": {seconds: " + number(kind.seconds) +
            ", memory: " + number(kind.memory) + ", loose: " + number(kind.loose) +
            ", traffic: " + number(kind.traffic) +
            (kind.split > 1 ? ", split: " + number(kind.split) : "") +
            (kind.crowded > 1 ? ", crowded: " + number(kind.crowded) : "") + "}\n";
  }
  return text;
}

}  // namespace pinion::sim
