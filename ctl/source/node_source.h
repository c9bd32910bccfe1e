// Where pinionctl gets its snapshots from: an agent, or a recording of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::ctl {

struct Moment {
  std::int64_t unix_ms = 0;  // when it was read; 0: a recording that does not say
  pinion::v1::Snapshot snapshot;
};

class NodeSource {
 public:
  NodeSource() = default;
  NodeSource(const NodeSource&) = delete;
  NodeSource& operator=(const NodeSource&) = delete;
  virtual ~NodeSource() = default;

  // The node as it is now, or the next line of a recording; not set behind its last one. After an
  // error an agent may be asked again, a recording is over.
  virtual Result<std::optional<Moment>> next() = 0;
  // Whether next() shows the present, so that a caller waits between two calls.
  [[nodiscard]] virtual bool live() const = 0;
};

// The agent's state now, or the last line of a recording. Errors: those of next(); kNotFound for a
// recording without lines.
Result<Moment> latest(NodeSource& source);

}  // namespace pinion::ctl
