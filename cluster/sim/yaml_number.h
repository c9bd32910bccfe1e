// Numbers with a point in the YAML files of the simulator.
#pragma once

#include "ctl/yaml_entry.h"

namespace pinion::sim {

// From `least` to `most`; `otherwise` where the key is not there.
double yaml_number(ctl::YamlEntry& entry, const char* key, double otherwise, double least,
                   double most);
double number_of(ctl::YamlEntry& entry, const YAML::Node& node, const std::string& what,
                 double least, double most);

}  // namespace pinion::sim
