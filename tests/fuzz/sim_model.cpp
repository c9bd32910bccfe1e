// The files of the run-time model and of runs that were seen take any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/sim/model_file.h"
#include "cluster/sim/runs_file.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::sim_model {
PINION_FUZZ_TARGET(sim_model) {
  using namespace pinion::sim;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto model = parse_model_file(text);
  if (!model && model.error().text.empty()) std::abort();
  if (model && (model->bandwidth < 0 || model->bandwidth > 1)) std::abort();
  const auto runs = parse_runs_file(text);
  if (!runs && runs.error().text.empty()) std::abort();
  if (runs) {
    std::size_t count = 0;
    for (const auto& experiment : runs->experiments) count += experiment.runs.size();
    if (count == 0 || count > kMostSeenRuns) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::sim_model
