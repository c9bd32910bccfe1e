#include "cluster/extender/kube/micro_time.h"

#include <array>
#include <cstdio>

namespace pinion::kube {

std::string micro_time(std::chrono::system_clock::time_point time) {
  using std::chrono::floor;
  using std::chrono::microseconds;
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<microseconds>(time - day));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ld.%06ldZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                clock.seconds().count(), clock.subseconds().count());
  return text.data();
}

}  // namespace pinion::kube
