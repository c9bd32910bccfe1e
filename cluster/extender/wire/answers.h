// What an extender answers, as values, and the JSON that kube-scheduler reads. Whatever bytes the
// texts hold, the JSON is valid UTF-8: U+FFFD stands for what is not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/extender/wire/asks.h"

namespace pinion::cluster::wire {

struct FilterAnswer {
  struct Refusal {
    std::size_t node = 0;    // index in FilterAsk::names
    std::size_t reason = 0;  // index in `reasons`

    bool operator==(const Refusal&) const = default;
  };
  std::vector<std::size_t> nodes = {};  // that take the pod: indexes in FilterAsk::names
  // Each other node stands in one of these, as without a reason the scheduler tells the user
  // "0/3 nodes are available: ." and no more.
  std::vector<Refusal> failed = {};        // evicting pods there might help
  std::vector<Refusal> unresolvable = {};  // it would not
  // The scheduler groups equal texts and counts them: no names of nodes in them.
  std::vector<std::string> reasons = {};
  std::string error = {};  // not empty: this pod cannot be decided now, and no node counts
};

struct PrioritizeAnswer {
  std::vector<std::int64_t> scores = {};  // by index of FilterAsk::names; 0 for those not there
};

struct BindAnswer {
  std::string error = {};  // empty: bound
};

struct PreemptAnswer {
  std::vector<Victims> nodes = {};  // on which it may be done; each one of PreemptAsk::nodes
};

// The scheduler takes scores from 0 to kMaxScore; others are clamped, as it would not complain.
inline constexpr std::int64_t kMaxScore = 10;

// Preconditions: all indexes of the answer are below the sizes of what they point into
// (std::out_of_range); the ask's views are still alive.
[[nodiscard]] std::string to_json(const FilterAnswer& answer, const FilterAsk& ask);
[[nodiscard]] std::string to_json(const PrioritizeAnswer& answer, const FilterAsk& ask);
[[nodiscard]] std::string to_json(const BindAnswer& answer);
[[nodiscard]] std::string to_json(const PreemptAnswer& answer);

}  // namespace pinion::cluster::wire
