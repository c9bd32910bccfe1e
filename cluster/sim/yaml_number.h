// Numbers with a point in the YAML files of the simulator.
#pragma once

#include "base/cli/yaml_entry.h"

namespace pinion::sim {

// From `least` to `most`; `otherwise` where the key is not there.
double yaml_number(YamlEntry& entry, const char* key, double otherwise, double least, double most);
double number_of(YamlEntry& entry, const YAML::Node& node, const std::string& what, double least,
                 double most);

}  // namespace pinion::sim
