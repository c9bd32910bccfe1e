// A value that one thread publishes and others read: the newest one, immutable and shared. Readers
// never wait for the publisher's work, nor it for theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pinion::agent {

// A callback's stay in the list of a Published. Once this is gone (destroyed, reset or assigned to)
// the callback does not run any more: one that is running on another thread is waited for. May
// outlive the Published. Must not be let go of within a callback.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> leave) : leave_(std::move(leave)) {}
  Subscription(Subscription&& other) noexcept : leave_(std::exchange(other.leave_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      reset();
      leave_ = std::exchange(other.leave_, nullptr);
    }
    return *this;
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() { reset(); }

  void reset() {
    if (leave_) std::exchange(leave_, nullptr)();
  }

 private:
  std::function<void()> leave_;
};

template <class T>
class Published {
 public:
  Published() : inner_(std::make_shared<Inner>()) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Makes `value` the newest one, then runs the callbacks, on this thread.
  void publish(std::shared_ptr<const T> value) {
    {
      const std::lock_guard lock(inner_->value_mutex);
      inner_->value.swap(value);
    }
    value.reset();  // the one before, if nobody reads it: freed outside of the lock
    const std::lock_guard lock(inner_->callbacks_mutex);
    for (const Entry& entry : inner_->callbacks) entry.callback();
  }

  // The newest value; nullptr before the first one.
  [[nodiscard]] std::shared_ptr<const T> get() const {
    const std::lock_guard lock(inner_->value_mutex);
    return inner_->value;
  }

  // `callback` runs after each publish, on the publisher's thread: it must be short, and may call
  // get() but neither publish() nor subscribe() of this object.
  [[nodiscard]] Subscription subscribe(std::function<void()> callback) {
    const std::lock_guard lock(inner_->callbacks_mutex);
    const std::uint64_t number = inner_->next_number++;
    inner_->callbacks.push_back({number, std::move(callback)});
    return Subscription([inner = inner_, number] {
      const std::lock_guard leave_lock(inner->callbacks_mutex);
      std::erase_if(inner->callbacks, [&](const Entry& entry) { return entry.number == number; });
    });
  }

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::function<void()> callback;
  };
  struct Inner {  // shared with the subscriptions, which may outlive this object
    std::mutex value_mutex;
    std::shared_ptr<const T> value;
    std::mutex callbacks_mutex;
    std::vector<Entry> callbacks;
    std::uint64_t next_number = 0;
  };

  std::shared_ptr<Inner> inner_;
};

}  // namespace pinion::agent
