// Makes pictures of what is published: each at most once, and none that nobody asks for.
#pragma once

#include <memory>
#include <mutex>

#include "agent/api/picture.h"
#include "agent/published.h"

namespace pinion::agent::api {

// May be used by several threads at once. The published objects must live longer.
class Pictures {
 public:
  Pictures(NodeName name, const Published<NodeView>& views,
           const Published<metrics::Sample>& samples);

  // Of the newest view and the newest sample; nullptr before the first view. Callers that
  // come while one is made wait for it (a few milliseconds), never for a publisher.
  [[nodiscard]] std::shared_ptr<const Picture> newest();
  [[nodiscard]] std::shared_ptr<const NodeView> view() const { return views_.get(); }

 private:
  const NodeName name_;
  const Published<NodeView>& views_;
  const Published<metrics::Sample>& samples_;

  std::mutex mutex_;
  std::shared_ptr<const NodeView> pictured_view_;
  std::shared_ptr<const metrics::Sample> pictured_sample_;
  std::shared_ptr<const Picture> picture_;
};

}  // namespace pinion::agent::api
