// The configuration of a private containerd: version 2 of the format for 1.7, version 3 for 2.x.
#pragma once

#include <string>

#include "tests/lab/files.h"

namespace pinion::lab {

struct ContainerdConfig {
  bool version3 = false;
  std::string dir;                          // everything lies below it
  std::string runc;                         // the program
  Milliseconds registration_timeout{5000};  // NRI: for a plugin to register, and
  Milliseconds request_timeout{2000};       // to answer a request
};

std::string to_toml(const ContainerdConfig& config);

}  // namespace pinion::lab
