// Bodies as a kube-scheduler 1.34 sent them, byte for byte.
#pragma once

#include <string>

namespace pinion::cluster::wire {

// data/NAME.json. A test that cannot read it fails.
std::string captured(const std::string& name);

}  // namespace pinion::cluster::wire
