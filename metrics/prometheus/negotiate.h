// What a client's headers ask for. Pure.
#pragma once

#include <string_view>

#include "metrics/prometheus/writer.h"

namespace pinion::prometheus {

// By Accept (RFC 9110, 12.5.1): OpenMetrics when the client names version 1.0.0 of it (or no
// version) and likes it at least as much as text/plain; else text format 0.0.4, which everybody
// reads, also when the header is missing or makes no sense.
[[nodiscard]] Format negotiate_format(std::string_view accept);

// By Accept-Encoding: gzip (or x-gzip, or *) with a weight above 0.
[[nodiscard]] bool wants_gzip(std::string_view accept_encoding);

// Whether a Host header is an IP address or localhost, with or without port. A page of another
// site that points its own name at this machine (DNS rebinding) shows a name here.
[[nodiscard]] bool host_is_plain(std::string_view host);

}  // namespace pinion::prometheus
