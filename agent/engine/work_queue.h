// Which cpuset files are to be looked at, by key: the id of a container, the name of a QoS group,
// or what State calls a partition that is left. What they are to say is worked out when a key's
// turn comes, so that a later decision always wins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pinion::engine {

// Why a cpuset file is looked at.
enum class Cause {
  kStart,       // the program is about to run
  kPostStart,   // it runs now
  kPostUpdate,  // the runtime has applied a resize
  kFence,       // cores were taken from it or can be given back to it
  kResize,      // its own cores change
  kAudit,       // the periodic comparison
};
[[nodiscard]] std::string_view to_string(Cause cause);

class WorkQueue {
 public:
  struct Item {
    std::string key;
    Cause cause = Cause::kFence;
  };

  // At the end; a key that is there already moves, with the new cause. Passed over for a key that
  // has had kMostTurns since the queue last ran dry: what does not help is left to the audit.
  void push(std::string_view key, Cause cause) {
    auto at = keys_.find(key);
    if (at == keys_.end()) at = keys_.emplace(key, Key()).first;
    if (at->second.turns >= kMostTurns) return;
    at->second.last = ++pushed_;
    items_.push_back({.item = {.key = at->first, .cause = cause}, .number = pushed_});
  }

  // Before all others, however many turns it has had: they may depend on it.
  void push_first(std::string_view key, Cause cause) {
    keys_[std::string(key)].last = ++pushed_;
    items_.push_front({.item = {.key = std::string(key), .cause = cause}, .number = pushed_});
  }

  // The first one; nothing, once, when the queue has run dry.
  std::optional<Item> pop() {
    while (!items_.empty()) {
      Numbered next = std::move(items_.front());
      items_.pop_front();
      Key& key = keys_.find(next.item.key)->second;
      if (key.last != next.number) continue;  // it moved
      ++key.turns;
      return std::move(next.item);
    }
    keys_.clear();
    return std::nullopt;
  }

  // For a quiet moment, after those that wait for one already.
  void put_off(std::string_view key) {
    if (std::find(put_off_.begin(), put_off_.end(), key) == put_off_.end()) {
      put_off_.emplace_back(key);
    }
  }
  // The first one; nothing where there is none.
  std::optional<std::string> pop_put_off() {
    if (put_off_.empty()) return std::nullopt;
    std::string key = std::move(put_off_.front());
    put_off_.pop_front();
    return key;
  }
  [[nodiscard]] bool has_put_off() const { return !put_off_.empty(); }

  static constexpr int kMostTurns = 3;

 private:
  struct Key {
    std::uint64_t last = 0;  // the number of its item
    int turns = 0;
  };
  struct Numbered {
    Item item;
    std::uint64_t number = 0;
  };

  std::deque<Numbered> items_;
  std::map<std::string, Key, std::less<>> keys_;
  std::uint64_t pushed_ = 0;
  std::deque<std::string> put_off_;
};

}  // namespace pinion::engine
