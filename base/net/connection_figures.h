// What has come to a listener so far. May be read by any thread at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace pinion::net {

struct ConnectionFigures {
  std::atomic<std::uint64_t> open = 0;             // now
  std::atomic<std::uint64_t> accepted = 0;         // since the start, as the next four
  std::atomic<std::uint64_t> closed_for_room = 0;  // for others that came
  std::atomic<std::uint64_t> closed_as_slow = 0;
  std::atomic<std::uint64_t> closed_as_garbage = 0;
  std::atomic<std::uint64_t> shortages = 0;  // times that no descriptor or memory was left for one
};

}  // namespace pinion::net
