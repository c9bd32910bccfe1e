// A quantity takes any bytes; its whole value is its thousandths, rounded away from zero.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/quantity.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::base_quantity {
PINION_FUZZ_TARGET(base_quantity) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto milli = pinion::milli_quantity(text);
  const auto whole = pinion::whole_quantity(text);
  if (!whole && milli) std::abort();
  if (!whole && whole.error().text.empty()) std::abort();
  if (!milli) return 0;
  const std::int64_t rounded =
      *milli / 1000 + (*milli % 1000 > 0 ? 1 : 0) - (*milli % 1000 < 0 ? 1 : 0);
  if (rounded != *whole) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::base_quantity
