// Work at the API server, by key: what is noted of a key is done once it is due, on threads of the
// queue's own, tried again with longer and longer pauses, and left alone while another replica
// leads. However often a key is noted meanwhile, it is worked on once, with the newest value.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "cluster/extender/program/quota.h"

namespace pinion::cluster {

// What became of a piece of work.
enum class Worked {
  kDone,
  kFailed,  // for good, until the key is noted again
  kAgain,   // after the next pause
};

template <class Key, class Value>
class KeyedQueue {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::size_t most = 0;  // keys; more are not remembered
    std::size_t most_of_one_group = std::numeric_limits<std::size_t>::max();  // of them
    Milliseconds rest{0};            // after a key was worked on, until it is again; 0: none
    Milliseconds first_pause{1000};  // after a failure; doubled each time, up to the longest
    Milliseconds longest_pause{60'000};
    int threads = 1;
    // Of the keys of one group at most so many are worked on at one time; the others of it wait,
    // and keep no thread. Groups that have something due take turns. Without a function: all keys
    // are one group's, and all threads its own.
    std::function<std::string(const Value&)> group_of = {};
    int most_of_group = 1;
  };

  // `may_act` is asked before each piece of work, under a lock: it must be quick. `work` is called
  // without one; what it uses must outlive the queue.
  KeyedQueue(const Options& options, std::function<bool()> may_act,
             std::function<Worked(const Key&, const Value&)> work)
      : options_(options),
        may_act_(std::move(may_act)),
        work_(std::move(work)),
        quota_(options.most, options.most_of_one_group) {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { run(); });
  }
  KeyedQueue(const KeyedQueue&) = delete;
  KeyedQueue& operator=(const KeyedQueue&) = delete;
  // Waits for the work that is under way; what is noted besides is dropped.
  ~KeyedQueue() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Notes the key, or its new value. One that is not known yet is due after `delay`. False: there
  // are too many.
  bool add(const Key& key, Value value, Milliseconds delay = {}) {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(key);
    if (known != entries_.end()) {
      known->second.value = std::move(value);
      known->second.wanted = true;
      return true;
    }
    std::string group = options_.group_of ? options_.group_of(value) : std::string();
    if (!quota_.take(group)) return false;
    const auto made =
        entries_.emplace(key, Entry{.value = std::move(value),
                                    .group = std::move(group),
                                    .serial = ++serial_,
                                    .due = {},
                                    .backoff = {options_.first_pause, options_.longest_pause}});
    put(made.first, Clock::now() + delay);
    return true;
  }

  // The new value of a key that is known, and is worked on no oftener for it. False: it is not.
  bool update(const Key& key, Value value) {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(key);
    if (known == entries_.end()) return false;
    known->second.value = std::move(value);
    return true;
  }

  void erase(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(key);
    if (known != entries_.end()) drop(known);
  }

  // Whether it has been added and not erased; as long as it rests or is worked on, too.
  [[nodiscard]] bool knows(const Key& key) const {
    const std::lock_guard lock(mutex_);
    return entries_.contains(key);
  }

 private:
  struct Entry {
    Value value;
    std::string group;
    std::uint64_t serial;  // another one where the key was erased and noted anew
    typename Clock::time_point due;
    Backoff backoff;
    bool wanted = true;  // else it rests since it was worked on last
  };
  using Entries = std::map<Key, Entry>;
  using Order = std::set<std::pair<typename Clock::time_point, Key>>;
  struct Group {
    int working = 0;
    std::uint64_t turn = 0;  // its last one
    Order order;             // of its keys, but those that are worked on
  };

  void put(typename Entries::iterator at, typename Clock::time_point due) {
    at->second.due = due;
    groups_[at->second.group].order.emplace(due, at->first);
    changed_.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      std::optional<typename Clock::time_point> later;
      Group* const group = next_group(later);
      if (group == nullptr) {
        if (later) {
          changed_.wait_until(lock, *later);
        } else {
          changed_.wait(lock);
        }
        continue;
      }
      const auto at = entries_.find(group->order.begin()->second);
      if (!at->second.wanted) {
        drop(at);
        continue;
      }
      group->order.erase(group->order.begin());
      if (may_act_()) {
        work(at, *group, lock);
      } else {
        put(at, Clock::now() + (options_.rest.count() > 0 ? options_.rest : options_.first_pause));
      }
    }
  }

  // Whose first key is due and may be worked on: of several, the one that had its turn longest ago.
  // nullptr: none; `later`: when that may change by itself.
  Group* next_group(std::optional<typename Clock::time_point>& later) {
    const auto now = Clock::now();
    Group* next = nullptr;
    for (auto& [name, group] : groups_) {
      if (group.order.empty()) continue;
      const auto& [due, key] = *group.order.begin();
      if (options_.group_of && group.working >= options_.most_of_group &&
          entries_.find(key)->second.wanted) {
        continue;
      }
      if (due > now) {
        later = later ? std::min(*later, due) : due;
      } else if (next == nullptr || group.turn < next->turn) {
        next = &group;
      }
    }
    return next;
  }

  // Also while it is worked on.
  void drop(typename Entries::iterator at) {
    const std::string name = at->second.group;
    groups_[name].order.erase({at->second.due, at->first});
    quota_.give_back(name);
    entries_.erase(at);
    forget_if_empty(name);
  }

  void forget_if_empty(const std::string& name) {
    const auto group = groups_.find(name);
    if (group == groups_.end()) return;
    if (group->second.working == 0 && group->second.order.empty()) groups_.erase(group);
  }

  void work(typename Entries::iterator at, Group& group, std::unique_lock<std::mutex>& lock) {
    at->second.wanted = false;
    ++group.working;
    group.turn = ++turn_;
    const Key key = at->first;
    const Value value = at->second.value;
    const std::uint64_t serial = at->second.serial;
    const std::string name = at->second.group;
    lock.unlock();
    const Worked worked = work_(key, value);
    lock.lock();
    --groups_.at(name).working;
    finish(entries_.find(key), serial, worked);
    forget_if_empty(name);
  }

  void finish(typename Entries::iterator at, std::uint64_t serial, Worked worked) {
    if (at == entries_.end() || at->second.serial != serial) return;
    Entry& entry = at->second;
    if (worked == Worked::kDone) entry.backoff.reset();
    if (worked == Worked::kAgain) entry.wanted = true;
    const Milliseconds pause =
        worked == Worked::kDone ? options_.rest : Milliseconds(entry.backoff.next());
    if (!entry.wanted && pause.count() == 0) {
      drop(at);
    } else {
      put(at, Clock::now() + pause);
    }
  }

  const Options options_;
  const std::function<bool()> may_act_;
  const std::function<Worked(const Key&, const Value&)> work_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  Quota quota_;
  std::map<std::string, Group> groups_;
  std::uint64_t serial_ = 0;
  std::uint64_t turn_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use all above
};

}  // namespace pinion::cluster
