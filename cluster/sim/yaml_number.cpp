#include "cluster/sim/yaml_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace pinion::sim {
namespace {

std::string shown(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

}  // namespace

double number_of(YamlEntry& entry, const YAML::Node& node, const std::string& what, double least,
                 double most) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  if (whole && std::isfinite(value) && value >= least && value <= most) return value;
  entry.fail(node, what + " must be a number from " + shown(least) + " to " + shown(most));
  return least;
}

double yaml_number(YamlEntry& entry, const char* key, double otherwise, double least, double most) {
  return entry.has(key) ? number_of(entry, entry[key], key, least, most) : otherwise;
}

}  // namespace pinion::sim
