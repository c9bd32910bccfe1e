// The reader's side of WatchNode: keeps what the messages of one watch add up to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::agent::api {

class Mirror {
 public:
  // Errors: kInvalid for a change or heartbeat before the first snapshot, or one that goes back in
  // the generations: the reader should watch anew. The mirror then is as before.
  Status apply(const v1::WatchNodeResponse& message);

  // A snapshot was there.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const v1::NodeState& node() const { return node_; }
  [[nodiscard]] const std::map<std::string, v1::Container>& containers() const {
    return containers_;  // by id
  }
  // The node's machine, which is large, is needed no more until it changes.
  void forget_machine() { node_.clear_machine(); }
  // As the agent would send it now.
  [[nodiscard]] v1::Snapshot snapshot() const;

 private:
  void apply(const v1::Snapshot& snapshot);
  void apply(const v1::Change& change);

  bool complete_ = false;
  v1::NodeState node_;
  std::uint64_t pass_ = 0;
  std::map<std::string, v1::Container> containers_;
};

}  // namespace pinion::agent::api
