// Which containers of a view are measured, and under which names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/view.h"
#include "metrics/collect/collector.h"

namespace pinion::agent {

class Targets {
 public:
  // The started containers of the view, those with a cgroup path that can be read. An identity that
  // is as before is the same object as before, so that it is compared and copied by pointer.
  [[nodiscard]] const std::vector<metrics::Target>& update(const NodeView& view);

 private:
  std::uint64_t generation_ = 0;
  std::vector<metrics::Target> targets_;
  std::map<std::string, std::shared_ptr<const metrics::Identity>, std::less<>> identities_;
};

}  // namespace pinion::agent
