// apply_yaml takes any bytes, and an error always has a text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/config.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_config {
PINION_FUZZ_TARGET(agent_config) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  pinion::agent::Config config;
  if (const auto done = pinion::agent::apply_yaml(text, config); !done) {
    if (done.error().text.empty()) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::agent_config
