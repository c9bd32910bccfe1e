// The newest view and figures as messages, made once for all who ask: immutable and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/convert.h"

namespace pinion::agent::api {

// One container, with what tells quickly whether it changed.
struct ContainerRecord {
  v1::Container message;  // whole
  std::string standing;   // the message without figures and rates, as bytes
  std::string measured;   // figures and rates, as bytes
};

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
