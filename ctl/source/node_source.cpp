#include "ctl/source/node_source.h"

#include <utility>

namespace pinion::ctl {

Result<Moment> latest(NodeSource& source) {
  std::optional<Moment> last;
  while (true) {
    auto moment = source.next();
    if (!moment) return failure(std::move(moment.error()));
    if (!moment->has_value()) break;
    last = std::move(**moment);
    if (source.live()) break;
  }
  if (!last) return failure(Errc::kNotFound, "there is no snapshot");
  return std::move(*last);
}

}  // namespace pinion::ctl
