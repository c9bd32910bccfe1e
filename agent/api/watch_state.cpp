#include "agent/api/watch_state.h"

#include <algorithm>

namespace pinion::agent::api {

WatchState::WatchState(bool figures, std::chrono::milliseconds min_interval,
                       const WatchTimes& times)
    : figures_(figures), interval_(std::max(min_interval, times.least)), times_(times) {
  times_.heartbeat = std::max(times_.heartbeat, interval_);
}

bool WatchState::next(const std::shared_ptr<const Picture>& picture, TimePoint now,
                      v1::WatchNodeResponse& message) {
  if (writing_ || !picture) return false;
  if (sent_ && now - begun_ < interval_) return false;
  message.Clear();
  if (!sent_) {
    full(*picture, *message.mutable_snapshot());
  } else if (picture == sent_ || !difference(*picture, *message.mutable_change())) {
    sent_ = picture;  // as good as the one sent, and others need not be kept for it
    if (now - begun_ < times_.heartbeat) return false;
    message.mutable_heartbeat()->set_generation(picture->node.generation());
  }
  sent_ = picture;
  begun_ = now;
  writing_ = true;
  return true;
}

WatchState::TimePoint WatchState::wake(const Picture* picture) const {
  if (writing_) return begun_ + times_.patience;
  if (!sent_) return TimePoint::max();  // the first picture wakes everybody
  return begun_ + (picture == sent_.get() ? times_.heartbeat : interval_);
}

void WatchState::full(const Picture& picture, v1::Snapshot& snapshot) const {
  *snapshot.mutable_node() = picture.node;
  for (const auto& record : picture.containers) *snapshot.add_containers() = copy_of(*record);
  if (figures_) snapshot.set_pass(picture.pass);
}

// Both lists are ascending by id. False: there is none.
bool WatchState::difference(const Picture& picture, v1::Change& change) const {
  change.set_generation(picture.node.generation());
  if (figures_) change.set_pass(picture.pass);
  bool differs = picture.node.generation() != sent_->node.generation();
  const bool machine_changed = picture.machine != sent_->machine;
  if (machine_changed || picture.node_standing != sent_->node_standing) {
    differs = true;
    *change.mutable_node() = picture.node;
    if (!machine_changed) change.mutable_node()->clear_machine();
  }
  auto old = sent_->containers.begin();
  const auto old_end = sent_->containers.end();
  for (const auto& record : picture.containers) {
    const std::string& id = record->message.id();
    for (; old != old_end && (*old)->message.id() < id; ++old) {
      change.add_removed((*old)->message.id());
    }
    const bool known = old != old_end && (*old)->message.id() == id;
    if (!known || !same(**old, *record)) *change.add_containers() = copy_of(*record);
    if (known) ++old;
  }
  for (; old != old_end; ++old) change.add_removed((*old)->message.id());
  return differs || change.containers_size() > 0 || change.removed_size() > 0;
}

v1::Container WatchState::copy_of(const ContainerRecord& record) const {
  v1::Container container = record.message;
  if (!figures_) {
    container.clear_figures();
    container.clear_rates();
  }
  return container;
}

bool WatchState::same(const ContainerRecord& a, const ContainerRecord& b) const {
  return &a == &b || (a.standing == b.standing && (!figures_ || a.measured == b.measured));
}

}  // namespace pinion::agent::api
