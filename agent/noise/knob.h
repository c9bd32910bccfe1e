// What can be kept off CPUs, by name.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "topology/words.h"

namespace pinion::noise {

enum class Kind {
  kIrq,        // interrupts; "default": those that devices will ask for
  kWorkqueue,  // the kernel's unbound work
  kRcu,        // threads that run RCU's callbacks for CPUs of rcu_nocbs
};
inline constexpr std::array kKindWords{Word<Kind>{"irq", Kind::kIrq},
                                       Word<Kind>{"workqueue", Kind::kWorkqueue},
                                       Word<Kind>{"rcu", Kind::kRcu}};

inline constexpr std::string_view kDefaultIrq = "default";
inline constexpr std::string_view kUnbound = "unbound";
inline constexpr std::string_view kWriteback = "writeback";

struct Knob {
  Kind kind = Kind::kIrq;
  // A number or "default"; "unbound" or "writeback"; a thread's name, "rcuop/3".
  std::string name;

  bool operator==(const Knob&) const = default;
  bool operator<(const Knob& other) const {
    return std::tie(kind, name) < std::tie(other.kind, other.name);
  }
  [[nodiscard]] bool is_irq() const { return kind == Kind::kIrq && name != kDefaultIrq; }
};

// Nothing for a name that a knob of this kind cannot have: no other one may become part of a path.
[[nodiscard]] std::optional<Knob> make_knob(Kind kind, std::string_view name);

[[nodiscard]] std::string to_string(const Knob& knob);  // "irq 24"

}  // namespace pinion::noise
