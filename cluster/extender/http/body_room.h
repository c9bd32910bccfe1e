// The memory that the bodies of requests take, all together. Where it is short, the bodies make
// room that have been on their way for longest: who sends slowly keeps nobody out. On all threads.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

namespace pinion::cluster {

class BodyRoom {
 public:
  // What one body takes, until its end.
  class Share {
   public:
    // `stop`: no more of it is to be read, as it has made room for another one; called at most
    // once, on another thread, with a lock held.
    Share(BodyRoom& room, std::function<void()> stop);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

    // So many bytes are to be its own from now on, no fewer than before. False: older ones that
    // are on their way do not take enough, or it has made room itself. Not after arrived().
    [[nodiscard]] bool grow(std::size_t bytes);
    // All of it is there, so that it makes room for none any more. False: it has done so already.
    [[nodiscard]] bool arrived();

   private:
    friend class BodyRoom;

    BodyRoom& room_;
    const std::function<void()> stop_;
    // The room's lock guards these.
    std::size_t bytes_ = 0;
    bool stopped_ = false;
    bool coming_ = true;
  };

  explicit BodyRoom(std::size_t most) : most_(most) {}

 private:
  void leave(Share& share);

  const std::size_t most_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::list<Share*> coming_;  // the oldest first
};

}  // namespace pinion::cluster
