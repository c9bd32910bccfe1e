#include "agent/api/watch_state.h"

#include <algorithm>

namespace pinion::agent::api {
namespace {

// Walks a list that is ascending by id, asked for ids that ascend, too.
class Finger {
 public:
  explicit Finger(const Picture& picture)
      : at_(picture.containers.begin()), end_(picture.containers.end()) {}

  // The record of this id, or nullptr; `passed(id)` is called for those before it.
  template <class Passed>
  const ContainerRecord* to(const std::string& id, const Passed& passed) {
    for (; at_ != end_ && (*at_)->id < id; ++at_) passed((*at_)->id);
    if (at_ == end_ || (*at_)->id != id) return nullptr;
    return (at_++)->get();
  }
  template <class Passed>
  void to_end(const Passed& passed) {
    for (; at_ != end_; ++at_) passed((*at_)->id);
  }

 private:
  std::vector<std::shared_ptr<const ContainerRecord>>::const_iterator at_;
  std::vector<std::shared_ptr<const ContainerRecord>>::const_iterator end_;
};

// Whether a part of the record is as the reader knows it; `known` is nullptr where it knows none.
bool same(const ContainerRecord* known, const ContainerRecord& now,
          std::string ContainerRecord::*part) {
  return known == &now || (known != nullptr && known->*part == now.*part);
}

}  // namespace

WatchState::WatchState(const WatchTerms& terms, const WatchTimes& times)
    : terms_(terms), times_(times) {
  terms_.interval = std::max(terms_.interval, times.least);
  times_.heartbeat = std::max(times_.heartbeat, terms_.interval);
}

bool WatchState::figures_due(const Picture& picture, TimePoint now) const {
  if (!terms_.figures || &picture == measured_.get()) return false;
  return !measured_ || now - figured_ >= terms_.figures_interval;
}

bool WatchState::next(const std::shared_ptr<const Picture>& picture, TimePoint now,
                      v1::WatchNodeResponse& message) {
  if (writing_ || !picture) return false;
  if (sent_ && now - begun_ < terms_.interval) return false;
  message.Clear();
  const bool figures = figures_due(*picture, now);
  const bool news = picture != sent_ || figures;
  bool send = true;
  if (!sent_) {
    full(*picture, *message.mutable_snapshot());
  } else if (!news || !difference(*picture, figures, *message.mutable_change())) {
    message.mutable_heartbeat()->set_generation(picture->node.generation());
    send = now - begun_ >= times_.heartbeat;
  }
  // Where nothing is sent it is as good as the one sent, and others need not be kept for it.
  if (figures) {
    measured_ = picture;
    figured_ = now;
  }
  sent_ = picture;
  if (!send) return false;
  begun_ = now;
  writing_ = true;
  return true;
}

WatchState::TimePoint WatchState::wake(const Picture* picture) const {
  if (writing_) return begun_ + times_.patience;
  if (!sent_) return TimePoint::max();  // the first picture wakes everybody
  if (picture != sent_.get()) return begun_ + terms_.interval;
  const TimePoint heartbeat = begun_ + times_.heartbeat;
  if (!terms_.figures || sent_ == measured_) return heartbeat;
  return std::min(heartbeat,
                  std::max(begun_ + terms_.interval, figured_ + terms_.figures_interval));
}

void WatchState::full(const Picture& picture, v1::Snapshot& snapshot) const {
  *snapshot.mutable_node() = picture.node;
  for (const auto& record : picture.containers) {
    *snapshot.add_containers() = message_of(*record, terms_.figures);
  }
  if (terms_.figures) snapshot.set_pass(picture.pass);
}

// False: there is none.
bool WatchState::difference(const Picture& picture, bool with_figures, v1::Change& change) const {
  change.set_generation(picture.node.generation());
  if (with_figures) change.set_pass(picture.pass);
  bool differs = picture.node.generation() != sent_->node.generation();
  const bool machine_changed = picture.machine != sent_->machine;
  if (machine_changed || picture.node_standing != sent_->node_standing) {
    differs = true;
    *change.mutable_node() = picture.node;
    if (!machine_changed) change.mutable_node()->clear_machine();
  }
  Finger sent(*sent_);
  Finger measured(with_figures ? *measured_ : *sent_);
  const auto removed = [&](const std::string& id) { change.add_removed(id); };
  for (const auto& record : picture.containers) {
    const std::string& id = record->id;
    bool known = same(sent.to(id, removed), *record, &ContainerRecord::standing);
    if (with_figures) {
      const auto* before = measured.to(id, [](const std::string&) {});
      known = same(before, *record, &ContainerRecord::measured) && known;
    }
    if (!known) *change.add_containers() = message_of(*record, terms_.figures);
  }
  sent.to_end(removed);
  return differs || change.containers_size() > 0 || change.removed_size() > 0;
}

}  // namespace pinion::agent::api
