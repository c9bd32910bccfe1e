// RFC 1952, fast rather than small: a scrape is compressed each few seconds on a node whose cores
// belong to others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pinion::agent {

// Nothing when there is no memory for it.
[[nodiscard]] std::optional<std::string> gzip(std::string_view text);

}  // namespace pinion::agent
