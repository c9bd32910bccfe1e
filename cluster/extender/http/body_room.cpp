#include "cluster/extender/http/body_room.h"

#include <utility>

namespace pinion::cluster {

BodyRoom::Share::Share(BodyRoom& room, std::function<void()> stop)
    : room_(room), stop_(std::move(stop)) {
  const std::lock_guard lock(room_.mutex_);
  room_.coming_.push_back(this);
}

BodyRoom::Share::~Share() {
  const std::lock_guard lock(room_.mutex_);
  room_.leave(*this);
  room_.used_ -= bytes_;
}

bool BodyRoom::Share::grow(std::size_t bytes) {
  const std::lock_guard lock(room_.mutex_);
  if (stopped_ || bytes > room_.most_) return false;
  const std::size_t others = room_.used_ - bytes_;
  std::size_t free = room_.most_ - others;
  auto last = room_.coming_.begin();  // of those that make room, the one behind them
  for (; free < bytes && *last != this; ++last) free += (*last)->bytes_;
  if (free < bytes) return false;
  while (room_.coming_.begin() != last) {
    Share& out = *room_.coming_.front();
    room_.leave(out);
    out.stopped_ = true;
    room_.used_ -= std::exchange(out.bytes_, 0);
    out.stop_();
  }
  room_.used_ += bytes - bytes_;
  bytes_ = bytes;
  return true;
}

bool BodyRoom::Share::arrived() {
  const std::lock_guard lock(room_.mutex_);
  room_.leave(*this);
  return !stopped_;
}

// With the lock.
void BodyRoom::leave(Share& share) {
  if (std::exchange(share.coming_, false)) coming_.remove(&share);
}

}  // namespace pinion::cluster
