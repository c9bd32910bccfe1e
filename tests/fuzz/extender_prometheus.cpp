// What a Prometheus answers: any JSON is a finite number, none, or an error with a text.
#include "cluster/extender/targets/prometheus.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_prometheus {
PINION_FUZZ_TARGET(extender_prometheus) {
  const auto answer = nlohmann::json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) return 0;
  const auto value = pinion::cluster::targets::read_value(answer);
  if (!value) {
    if (value.error().text.empty() || value.error().text.size() > 1000) std::abort();
    return 0;
  }
  if (*value && std::isinf(**value)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_prometheus
