#include "nri-plugin/launch.h"

#include <charconv>
#include <string_view>

namespace pinion::nri {

Result<std::optional<Launch>> read_launch(const Environment& environment) {
  const char* const socket = environment("NRI_PLUGIN_SOCKET");
  if (socket == nullptr) return std::nullopt;
  const std::string_view text = socket;
  Launch launch;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), launch.fd);
  if (error != std::errc() || end != text.data() + text.size() || launch.fd < 0) {
    return failure(Errc::kInvalid, "NRI_PLUGIN_SOCKET='" + std::string(text) +
                                       "': must be the number of an open socket");
  }
  const char* const name = environment("NRI_PLUGIN_NAME");
  const char* const index = environment("NRI_PLUGIN_IDX");
  if (name != nullptr) launch.name = name;
  if (index != nullptr) launch.index = index;
  return launch;
}

}  // namespace pinion::nri
