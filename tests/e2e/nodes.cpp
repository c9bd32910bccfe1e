#include "tests/e2e/nodes.h"

#include <chrono>
#include <utility>

#include "tests/e2e/collection.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

bool Nodes::wait(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, lab::patient(kPatience), condition);
}

std::vector<Bounced> Nodes::bounced() const {
  const std::lock_guard lock(mutex_);
  return bounced_;
}

std::vector<Bounced> Nodes::take_bounced() {
  const std::lock_guard lock(mutex_);
  return std::exchange(bounced_, {});
}

void Nodes::watch_pods() {
  kube::WatchOptions options;
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName!=";
  options.backoff_first = std::chrono::milliseconds(20);
  options.backoff_longest = std::chrono::milliseconds(200);
  kube::WatchHandler& handler = *this;
  watch_ = std::make_unique<kube::Watch>(admin_.api(), options, handler);
}

void Nodes::stop_watching() {
  if (watch_) watch_->stop();
}

void Nodes::on_synced(std::uint64_t /*generation*/) {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace pinion::e2e
