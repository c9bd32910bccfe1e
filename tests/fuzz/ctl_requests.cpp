// The requests file takes any bytes; what it accepts are requests that the allocator takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ctl/plan/requests_file.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ctl_requests {
PINION_FUZZ_TARGET(ctl_requests) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto requests = pinion::ctl::parse_requests(text);
  if (!requests) {
    if (requests.error().text.empty()) std::abort();
    return 0;
  }
  if (requests->size() > static_cast<std::size_t>(pinion::ctl::kMaxRequests)) std::abort();
  for (const auto& request : *requests) {
    if (request.id.empty() || request.cpus < 1) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::ctl_requests
