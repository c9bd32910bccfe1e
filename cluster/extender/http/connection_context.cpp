#include "cluster/extender/http/connection_context.h"

#include <utility>

namespace pinion::cluster {

Allowance::Allowance(std::atomic<std::size_t>& used, std::size_t amount, std::size_t limit) {
  std::size_t before = used.load();
  do {
    if (amount > limit || before > limit - amount) return;
  } while (!used.compare_exchange_weak(before, before + amount));
  used_ = &used;
  amount_ = amount;
}

Allowance::Allowance(Allowance&& other) noexcept
    : used_(std::exchange(other.used_, nullptr)), amount_(other.amount_) {}

// What this one held goes with the other.
Allowance& Allowance::operator=(Allowance&& other) noexcept {
  std::swap(used_, other.used_);
  std::swap(amount_, other.amount_);
  return *this;
}

Allowance::~Allowance() {
  if (used_ != nullptr) used_->fetch_sub(amount_);
}

std::optional<Verb> ConnectionContext::verb_of(std::string_view path) const {
  for (std::size_t i = 0; i < kVerbs; ++i) {
    const auto verb = static_cast<Verb>(i);
    if (answers(verb) && path == path_of(verb)) return verb;
  }
  return std::nullopt;
}

bool ConnectionContext::answers(Verb verb) const {
  switch (verb) {
    case Verb::kMutate:
      return served.admission != nullptr;
    case Verb::kPlan:
      return served.pages != nullptr;
    case Verb::kFilter:
    case Verb::kPrioritize:
    case Verb::kBind:
    case Verb::kPreempt:
      break;
  }
  return served.scheduler != nullptr;
}

std::string ConnectionContext::path_of(Verb verb) const {
  if (verb == Verb::kPlan) return std::string(kPlanPath);
  return prefix + "/" + std::string(kVerbNames[static_cast<std::size_t>(verb)]);
}

std::string ConnectionContext::calls() const {
  std::string all;
  for (std::size_t i = 0; i < kVerbs; ++i) {
    const auto verb = static_cast<Verb>(i);
    if (answers(verb)) all += (all.empty() ? "" : ", ") + path_of(verb);
  }
  return all;
}

std::size_t ConnectionContext::body_limit(Verb verb) const {
  switch (verb) {
    case Verb::kBind:
      return limits.bind_body_bytes;
    case Verb::kMutate:
      return limits.review_body_bytes;
    case Verb::kPlan:
      return limits.plan_body_bytes;
    case Verb::kFilter:
    case Verb::kPrioritize:
    case Verb::kPreempt:
      break;
  }
  return limits.body_bytes;
}

Allowance ConnectionContext::take_kept(std::size_t bytes) {
  return {kept_bytes_, bytes, limits.all_kept_bytes};
}

Allowance ConnectionContext::take_bind() {
  return {binds_, 1, limits.connections - limits.kept_from_binds};
}

Allowance ConnectionContext::take_plan() {
  return {plans_, 1, 1};
}

void ConnectionContext::count(Verb verb, Outcome outcome) {
  ++counted_[static_cast<std::size_t>(verb)][static_cast<std::size_t>(outcome)];
}

std::array<VerbFigures, kVerbs> ConnectionContext::figures() const {
  std::array<VerbFigures, kVerbs> result;
  const auto counted = [&](std::size_t verb, Outcome outcome) {
    return counted_[verb][static_cast<std::size_t>(outcome)].load();
  };
  for (std::size_t i = 0; i < kVerbs; ++i) {
    result[i] = {.answered = counted(i, Outcome::kAnswered),
                 .malformed = counted(i, Outcome::kMalformed),
                 .refused = counted(i, Outcome::kRefused),
                 .failed = counted(i, Outcome::kFailed),
                 .now = now[i].load()};
  }
  return result;
}

}  // namespace pinion::cluster
