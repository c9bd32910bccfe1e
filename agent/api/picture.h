// The newest view and figures as messages, made once for all who ask: immutable and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/convert.h"

namespace pinion::agent::api {

// One container, as bytes: a node has hundreds, and messages take several times as much.
struct ContainerRecord {
  std::string id;
  std::string standing;  // its message without figures and rates
  std::string measured;  // figures and rates, as a message with nothing else
};

// Its message; `measured`: with figures and rates.
[[nodiscard]] v1::Container message_of(const ContainerRecord& record, bool measured = true);

struct Picture {
  v1::NodeState node;         // whole
  std::string node_standing;  // without machine and generation, as bytes
  std::string machine;        // as bytes
  std::uint64_t pass = 0;     // of the collector; 0: none yet
  std::vector<std::shared_ptr<const ContainerRecord>> containers;  // ascending by id
};

// Records that are as in `last` (may be nullptr) are shared with it.
[[nodiscard]] std::shared_ptr<const Picture> picture_of(const NodeName& name, const NodeView& view,
                                                        const metrics::Sample* sample,
                                                        const Picture* last);

}  // namespace pinion::agent::api
