#include "agent/api/pictures.h"

#include <utility>

namespace pinion::agent::api {

Pictures::Pictures(NodeName name, const Published<NodeView>& views,
                   const Published<metrics::Sample>& samples)
    : name_(std::move(name)), views_(views), samples_(samples) {}

std::shared_ptr<const Picture> Pictures::newest() {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const NodeView> view = views_.get();
  if (!view) return nullptr;
  const std::shared_ptr<const metrics::Sample> sample = samples_.get();
  if (picture_ && view == pictured_view_ && sample == pictured_sample_) return picture_;
  picture_ = picture_of(name_, *view, sample.get(), picture_.get());
  pictured_view_ = view;
  pictured_sample_ = sample;
  return picture_;
}

}  // namespace pinion::agent::api
