// The machines that agents describe: a cluster has few kinds of them, each is built and kept once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"
#include "topology/topology.h"

namespace pinion::cluster {

class Machines {
 public:
  // The same one for equal descriptions, while somebody keeps it. Any thread. Errors: kInvalid.
  Result<std::shared_ptr<const topology::Topology>> of(const v1::Machine& machine);

 private:
  using Known = std::weak_ptr<const topology::Topology>;

  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by the description's bytes
  std::size_t most_ = 16;               // before those that nobody keeps are looked for
};

}  // namespace pinion::cluster
