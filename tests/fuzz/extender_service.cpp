// A pod whose annotations give it a target: any JSON is a service with sound bounds, or an error
// with a text.
#include "cluster/extender/targets/service_pod.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_service {
PINION_FUZZ_TARGET(extender_service) {
  using namespace pinion::cluster::targets;
  const auto pod = nlohmann::json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (pod.is_discarded() || !is_service(pod)) return 0;
  const auto service = read_service(pod);
  if (!service) {
    if (service.error().text.empty() || service.error().text.size() > 1000) std::abort();
    return 0;
  }
  const auto& target = service->target;
  if (!std::isfinite(target.target) || target.target <= 0) std::abort();
  if (target.min_milli < 1 || target.max_milli < target.min_milli) std::abort();
  if (service->present_limit() < 1 || service->present_request() < 1) std::abort();
  if (request_for(*service, target.max_milli) < 1 || service->container.empty()) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_service
