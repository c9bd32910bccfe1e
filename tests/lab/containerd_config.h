// The configuration of a private containerd: version 2 of the format for 1.7, version 3 for 2.x.
#pragma once

#include <string>

#include "tests/lab/files.h"

namespace pinion::lab {

// An annotation of pods (docs/install.md).
inline constexpr const char* kTolerated = "tolerate-missing-plugins.noderesource.dev";

struct ContainerdConfig {
  bool version3 = false;
  std::string dir;                          // everything lies below it
  std::string runc;                         // the program
  Milliseconds registration_timeout{5000};  // NRI: for a plugin to register, and
  Milliseconds request_timeout{2000};       // to answer a request
  // A plugin without which no container is made, but of pods with kTolerated. Empty: none.
  std::string required_plugin = {};
};

std::string to_toml(const ContainerdConfig& config);

}  // namespace pinion::lab
