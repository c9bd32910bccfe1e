// The file of the run-time model (docs/simulator.md has its form).
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/sim/model.h"

namespace pinion::sim {

// Errors: kInvalid with "line N: ..." for bad YAML, an unknown key, or a value that is none.
Result<Model> parse_model_file(const std::string& text);

// A file that parse_model_file() reads.
[[nodiscard]] std::string to_yaml(const Model& model);

}  // namespace pinion::sim
