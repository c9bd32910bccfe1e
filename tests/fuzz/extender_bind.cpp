// The body of bind takes any bytes; what is accepted names a pod and a node.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_bind {
PINION_FUZZ_TARGET(extender_bind) {
  namespace wire = pinion::cluster::wire;
  const std::string text(reinterpret_cast<const char*>(data), size);
  wire::Reader reader;
  const auto ask = reader.bind(text);
  if (!ask && ask.error().text.empty()) std::abort();
  if (ask && (ask->pod_uid.empty() || ask->pod_name.empty() || ask->node.empty())) std::abort();
  if (!nlohmann::json::accept(to_json(wire::BindAnswer{text}))) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_bind
