// The callbacks while this process may not decide: it does not lead, or does not know the cluster
// yet. The scheduler is told so with an error, and asks again later.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "cluster/extender/http/callbacks.h"

namespace pinion::cluster {

class Gate : public Callbacks {
 public:
  // `closed()`: why, in a few words; empty: open. `inner` must outlive it.
  Gate(Callbacks& inner, std::function<std::string()> closed)
      : inner_(inner), closed_(std::move(closed)) {}

  wire::FilterAnswer filter(const wire::FilterAsk& ask) override {
    if (auto why = closed_(); !why.empty()) return {.error = text(why)};
    return inner_.filter(ask);
  }
  // The scheduler reads no reason here, and takes no scores for none.
  wire::PrioritizeAnswer prioritize(const wire::FilterAsk& ask) override {
    return closed_().empty() ? inner_.prioritize(ask) : wire::PrioritizeAnswer();
  }
  wire::BindAnswer bind(const wire::BindAsk& ask) override {
    if (auto why = closed_(); !why.empty()) return {.error = text(why)};
    return inner_.bind(ask);
  }
  // Nobody is evicted on a guess.
  wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) override {
    return closed_().empty() ? inner_.preempt(ask) : wire::PreemptAnswer();
  }
  void stopping() override { inner_.stopping(); }

 private:
  static std::string text(const std::string& why) {
    return "Pinion's extender cannot decide now: " + why;
  }

  Callbacks& inner_;
  const std::function<std::string()> closed_;
};

}  // namespace pinion::cluster
