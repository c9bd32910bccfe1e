// An answer of Prometheus takes any bytes; what it accepts are finite numbers that stand in it.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ctl/compare/prometheus_query.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ctl_range_answer {
PINION_FUZZ_TARGET(ctl_range_answer) {
  using namespace pinion;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto values = ctl::parse_range_answer(text);
  if (!values) {
    const Error& error = values.error();
    require(error.code == Errc::kInvalid && !error.text.empty());
    for (const char c : error.text) require(c >= ' ' && c <= '~');  // it goes to a terminal
    return 0;
  }
  require(text.find("\"result\"") != std::string_view::npos ||
          text.find('\\') != std::string_view::npos);
  // The least point is `[0,"1"]`.
  require(values->size() <= text.size() / 7);
  for (const double value : *values) require(std::isfinite(value));
  return 0;
}

}  // namespace pinion::fuzz::ctl_range_answer
