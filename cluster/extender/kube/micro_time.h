// Times as Kubernetes writes them where seconds are too coarse (MicroTime).
#pragma once

#include <chrono>
#include <string>

namespace pinion::kube {

// RFC 3339 in UTC with six digits: "2026-11-22T17:50:01.000123Z".
std::string micro_time(std::chrono::system_clock::time_point time);

}  // namespace pinion::kube
