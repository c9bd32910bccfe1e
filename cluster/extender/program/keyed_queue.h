// Work at the API server, by key: what is noted of a key is done once it is due, on threads of the
// queue's own, tried again with longer and longer pauses, and left alone while another replica
// leads. However often a key is noted meanwhile, it is worked on once, with the newest value.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"

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
    std::size_t most = 0;            // keys; more are not remembered
    Milliseconds rest{0};            // after a key was worked on, until it is again; 0: none
    Milliseconds first_pause{1000};  // after a failure; doubled each time, up to the longest
    Milliseconds longest_pause{60'000};
    int threads = 1;
    // Of the keys of one group at most so many are worked on at one time; the others of it wait,
    // and keep no thread. Without a function: all threads are everybody's.
    std::function<std::string(const Value&)> group_of = {};
    int most_of_group = 1;
  };

  // `may_act` is asked before each piece of work, under a lock: it must be quick. `work` is called
  // without one; what it uses must outlive the queue.
  KeyedQueue(const Options& options, std::function<bool()> may_act,
             std::function<Worked(const Key&, const Value&)> work)
      : options_(options), may_act_(std::move(may_act)), work_(std::move(work)) {
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
    if (entries_.size() >= options_.most) return false;
    std::string group = options_.group_of ? options_.group_of(value) : std::string();
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
    if (known == entries_.end()) return;
    order_.erase({known->second.due, key});
    if (const auto group = groups_.find(known->second.group); group != groups_.end()) {
      group->second.waiting.erase({known->second.due, key});
    }
    entries_.erase(known);
  }

 private:
  struct Entry {
    Value value;
    std::string group;
    std::uint64_t serial;  // another one where the key was erased and noted anew
    typename Clock::time_point due;
    Backoff backoff;
    bool wanted = true;    // else it rests since it was worked on last
    bool working = false;  // then it is not in order_
  };
  using Entries = std::map<Key, Entry>;
  using Order = std::set<std::pair<typename Clock::time_point, Key>>;
  // Of a group of which something is worked on.
  struct Group {
    int working = 0;
    Order waiting;  // what is due, while no more of it may be worked on; then not in order_
  };

  void put(typename Entries::iterator at, typename Clock::time_point due) {
    at->second.due = due;
    order_.emplace(due, at->first);
    changed_.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (order_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto due = order_.begin()->first;
      if (Clock::now() < due) {
        changed_.wait_until(lock, due);
        continue;
      }
      const auto at = entries_.find(order_.begin()->second);
      if (const auto group = groups_.find(at->second.group);
          group != groups_.end() && group->second.working >= options_.most_of_group) {
        group->second.waiting.insert(order_.extract(order_.begin()));
        continue;
      }
      order_.erase(order_.begin());
      if (!at->second.wanted) {
        entries_.erase(at);
      } else if (!may_act_()) {
        put(at, Clock::now() + (options_.rest.count() > 0 ? options_.rest : options_.first_pause));
      } else {
        work(at, lock);
      }
    }
  }

  void work(typename Entries::iterator at, std::unique_lock<std::mutex>& lock) {
    at->second.wanted = false;
    at->second.working = true;
    const Key key = at->first;
    const Value value = at->second.value;
    const std::uint64_t serial = at->second.serial;
    const std::string group = at->second.group;
    if (options_.group_of) ++groups_[group].working;
    lock.unlock();
    const Worked worked = work_(key, value);
    lock.lock();
    if (options_.group_of) leave(group);
    at = entries_.find(key);
    if (at == entries_.end() || at->second.serial != serial) return;
    Entry& entry = at->second;
    entry.working = false;
    if (worked == Worked::kDone) entry.backoff.reset();
    if (worked == Worked::kAgain) entry.wanted = true;
    const Milliseconds pause =
        worked == Worked::kDone ? options_.rest : Milliseconds(entry.backoff.next());
    if (!entry.wanted && pause.count() == 0) {
      entries_.erase(at);
    } else {
      put(at, Clock::now() + pause);
    }
  }

  // One of the group less is worked on: the first that waits for it may be, after those of other
  // groups that are due already. With none at work nobody would let go those that wait.
  void leave(const std::string& name) {
    const auto group = groups_.find(name);
    Order& waiting = group->second.waiting;
    if (!waiting.empty()) {
      const Key key = waiting.extract(waiting.begin()).value().second;
      put(entries_.find(key), Clock::now());
    }
    if (--group->second.working > 0) return;
    order_.merge(waiting);
    groups_.erase(group);
  }

  const Options options_;
  const std::function<bool()> may_act_;
  const std::function<Worked(const Key&, const Value&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  Order order_;
  std::map<std::string, Group> groups_;
  std::uint64_t serial_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use all above
};

}  // namespace pinion::cluster
