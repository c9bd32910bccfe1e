// apply_yaml takes any bytes, and an error always has a text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  pinion::agent::Config config;
  if (const auto done = pinion::agent::apply_yaml(text, config); !done) {
    if (done.error().text.empty()) std::abort();
  }
  return 0;
}
