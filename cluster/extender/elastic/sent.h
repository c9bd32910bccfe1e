// What a Charm++ program was sent and may still act on, as an annotation keeps it: it acts at its
// next load balancing step, which may come long after the rescale was given up.
//
//   8 4 1795532400000 1c9e0c3b-8a1d-4a8e-9d6e-0f5f2b1f7a11/0
//
// and once it has, but whether it goes on with its work is not known yet:
//
//   8 4 1795532400000 1795532460000 1c9e0c3b-8a1d-4a8e-9d6e-0f5f2b1f7a11/0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pinion::cluster::elastic {

struct Sent {
  int before = 1;          // PEs that it ran with; as long as it does, it has not acted
  int wanted = 1;          // PEs
  std::int64_t at_ms = 0;  // since 1970
  // When it was first seen to run with another number; 0: it has not been.
  std::int64_t came_ms = 0;
  std::string head;  // the pod that listened, and how often its containers were restarted

  bool operator==(const Sent&) const = default;
};

inline constexpr int kMostPesSent = 200'000;

// nullopt for anything else: then nothing was sent.
[[nodiscard]] std::optional<Sent> read_sent(std::string_view text);
[[nodiscard]] std::string sent_text(const Sent& sent);

}  // namespace pinion::cluster::elastic
