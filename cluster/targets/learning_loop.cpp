#include "cluster/targets/learning_loop.h"

#include <algorithm>
#include <cmath>

namespace pinion::cluster {
namespace {

constexpr double kFarthest = 2.3;     // a performance counts as 0.1 .. 10
constexpr double kFirstNoise = 0.03;  // relative, before any is seen
constexpr double kLeastNoise = 0.005;
constexpr double kNoiseWeight = 0.05;
constexpr double kJumpOfNoise = 4;  // so many times the noise, and not less than the next
constexpr double kBandOfNoise = 3;
constexpr double kFallOfNoise = 2;
constexpr double kLeastJump = 0.12;
constexpr double kLocal = 0.7;         // nothing is learnt from farther away: it is another place
constexpr double kLeastLesson = 0.03;  // of a change of CPUs
constexpr double kMostDoubt = 0.25;
constexpr double kLeastChange = 0.01;  // relative; less is not worth a resize
constexpr std::int64_t kStepMilli = 10;
constexpr double kFullUse = 0.7;  // a service that uses less of its limit is not held back by it
constexpr double kIdleUse = 0.5;
constexpr double kUnaskedUse = 0.1;  // of its most, by a service that nobody asks anything
constexpr double kIdleRoom = 2;      // times what it uses
constexpr double kLeastIdle = 0.02;  // a share of the limit; less cannot be told from none
constexpr double kUseJump = 0.1;     // relative; what a service uses is followed at once then
constexpr double kMostBlindShrink = 0.9;
// A queue that overflows does not show how much is asked for.
constexpr double kMostLatencyGrowth = 1.7;

struct Range {
  double least;
  double most;
  double first;
};
constexpr Range kOfThroughput{.least = 0.1, .most = 1.2, .first = 1.0};
constexpr Range kOfIdleShare{.least = 0.2, .most = 1.5, .first = 0.8};
constexpr Range kOfLatency{.least = 0.3, .most = 6.0, .first = 2.0};  // steep near full use

Range elasticities(Direction direction, bool by_use) {
  if (direction == Direction::kAtLeast) return kOfThroughput;
  return by_use ? kOfIdleShare : kOfLatency;
}

std::int64_t rounded_up(double milli) {
  return static_cast<std::int64_t>(std::ceil(milli / kStepMilli)) * kStepMilli;
}

}  // namespace

LearningLoop::LearningLoop(const ServiceTarget& target, const LearningKnobs& knobs)
    : target_(target),
      knobs_(knobs),
      variance_(kFirstNoise * kFirstNoise),
      elasticity_(elasticities(target.direction, false).first),
      doubt_(kMostDoubt),
      use_jumped_ms_(-target.settle_ms) {}

double LearningLoop::noise() const {
  return std::sqrt(variance_);
}

double LearningLoop::level_noise() const {
  const double smooth = knobs_.smoothing / (2 - knobs_.smoothing);
  return noise() * std::sqrt(std::max(smooth, 1.0 / std::max(samples_, 1)));
}

double LearningLoop::place_noise(const ServiceInput& input) const {
  if (!by_use()) return 0;
  const double idle = std::exp(place_of(input));
  const double smooth = knobs_.smoothing / (2 - knobs_.smoothing);
  return elasticity_ * std::sqrt(use_variance_ * smooth) * (1 - idle) / idle;
}

ServiceDecision LearningLoop::look(const ServiceInput& input) {
  const auto ratio = performance(target_, input.measured);
  see_limit(input);
  see_use(input);
  if (!ratio && !is_unasked(input)) {
    idle_ = 0;
    return {.reason = ServiceReason::kNoMetric, .wanted_milli = input.limit_milli};
  }
  const std::int64_t bounded = std::clamp(input.limit_milli, target_.min_milli, target_.max_milli);
  if (const auto limit = allowed_limit(target_, input, bounded)) {
    return {.reason = ServiceReason::kBounds, .limit_milli = limit, .wanted_milli = bounded};
  }
  if (input.now_ms - changed_ms_ < target_.settle_ms) {
    return {.reason = ServiceReason::kSettling, .wanted_milli = input.limit_milli};
  }
  if (!ratio) return take_back(input);
  const double place = place_of(input);
  // Its use has jumped: until the metric shows that, the model says what comes of it.
  const bool foreseen =
      samples_ >= knobs_.samples_to_grow && input.now_ms - use_jumped_ms_ < target_.settle_ms;
  if (!foreseen) {
    see(*ratio > 0 ? std::clamp(std::log(*ratio), -kFarthest, kFarthest) : -kFarthest, place);
    ++seen_;
  }
  learn();
  const double level = level_ + elasticity_ * (place - place_);
  if (is_idle(input, level)) return take_back(input);
  idle_ = 0;
  return correct(input, level);
}

// Also by others, and at the start.
void LearningLoop::see_limit(const ServiceInput& input) {
  if (input.limit_milli == limit_milli_) return;
  // That of the start has been there for long.
  changed_ms_ = limit_milli_ == 0 ? input.now_ms - target_.settle_ms : input.now_ms;
  change_.reset();
  if (limit_milli_ > 0 && samples_ >= knobs_.samples_to_grow) {
    change_ = Change{.level = level_, .place = place_};
  }
  limit_milli_ = input.limit_milli;
  samples_ = 0;
}

void LearningLoop::see_use(const ServiceInput& input) {
  if (target_.direction == Direction::kAtLeast) return;
  const auto used = static_cast<double>(std::max<std::int64_t>(input.used_milli.value_or(0), 0));
  if ((used > 0) != by_use()) {
    // Another kind of place: what was learnt of the other one is of no use.
    elasticity_ = elasticities(target_.direction, used > 0).first;
    doubt_ = kMostDoubt;
    change_.reset();
    samples_ = 0;
    used_ = used;
  }
  const double off = used - used_;
  const bool far = std::abs(off) > kUseJump * used_;
  use_falls_ = off < -kFallOfNoise * std::sqrt(use_variance_) * used_;
  // One that never rests does not keep the metric from being seen.
  if (far && seen_ >= knobs_.samples_to_grow) {
    use_jumped_ms_ = input.now_ms;
    seen_ = 0;
  }
  used_ += far ? off : knobs_.smoothing * off;
  if (!far && used_ > 0)
    use_variance_ += kNoiseWeight * (off * off / used_ / used_ - use_variance_);
}

double LearningLoop::place_of(const ServiceInput& input) const {
  const auto limit = static_cast<double>(input.limit_milli);
  return std::log(by_use() ? std::max(1 - used_ / limit, kLeastIdle) : limit);
}

void LearningLoop::see(double performance, double place) {
  if (samples_ == 0) return restart(performance, 1, place);
  const double off = performance - elasticity_ * (place - place_) - level_;
  if (std::abs(off) > std::max(kJumpOfNoise * noise(), kLeastJump)) {
    // One alone may be a slip of the metric.
    if (jump_ * off <= 0) {
      jump_ = off;
      return;
    }
    change_.reset();
    return restart(performance - (off - jump_) / 2, 2, place);
  }
  jump_ = 0;
  ++samples_;
  level_ += off * std::max(knobs_.smoothing, 1.0 / samples_);
  variance_ += kNoiseWeight * (off * off - variance_);
  variance_ = std::max(variance_, kLeastNoise * kLeastNoise);
}

void LearningLoop::restart(double level, int samples, double place) {
  level_ = level;
  samples_ = samples;
  place_ = place;
  jump_ = 0;
}

// Once the level after a change is as good as known. What a metric shows that is a mean of a while
// is too little at first, so that more than was expected counts at once: it may have gone too far.
void LearningLoop::learn() {
  if (!change_) return;
  const double moved = place_ - change_->place;
  const double brought = level_ - change_->level;
  const bool more = brought * moved > 0 && std::abs(brought) > elasticity_ * std::abs(moved);
  if (samples_ < (more ? knobs_.samples_to_grow : knobs_.samples_to_learn)) return;
  const bool local = std::abs(level_) < kLocal && std::abs(change_->level) < kLocal;
  change_.reset();
  const double error = 2 * level_noise() * level_noise() + kLeastNoise * kLeastNoise;
  // Something else has changed it as well.
  const bool strange = brought * moved < 0 && std::abs(brought) > 3 * std::sqrt(error);
  if (!local || strange || std::abs(moved) < kLeastLesson) return;
  doubt_ = std::min(doubt_ / knobs_.forgetting, kMostDoubt);
  const double gain = doubt_ * moved / (error + doubt_ * moved * moved);
  const Range range = elasticities(target_.direction, by_use());
  elasticity_ =
      std::clamp(elasticity_ + gain * (brought - elasticity_ * moved), range.least, range.most);
  doubt_ -= gain * moved * doubt_;
}

// It cannot show how fast it would be: too little is asked of it.
bool LearningLoop::is_idle(const ServiceInput& input, double level) const {
  return target_.direction == Direction::kAtLeast && level < knobs_.aim && input.used_milli &&
         static_cast<double>(*input.used_milli) < kFullUse * static_cast<double>(input.limit_milli);
}

// Nobody asks it anything. One that hangs looks the same, and needs no more either.
bool LearningLoop::is_unasked(const ServiceInput& input) const {
  const double work = std::min(kFullUse * static_cast<double>(input.limit_milli),
                               kUnaskedUse * static_cast<double>(target_.max_milli));
  return nobody_served(target_, input.measured) && input.used_milli &&
         static_cast<double>(*input.used_milli) < work;
}

ServiceDecision LearningLoop::take_back(const ServiceInput& input) {
  ServiceDecision decision{.reason = ServiceReason::kIdle, .wanted_milli = input.limit_milli};
  short_ = 0;
  const auto used = static_cast<double>(*input.used_milli);
  const auto limit = static_cast<double>(input.limit_milli);
  if (++idle_ < knobs_.samples_to_tell || used > kIdleUse * limit) return decision;
  idle_ = 0;
  const double least = std::max(kIdleRoom * used, knobs_.most_shrink * limit);
  decision.wanted_milli = std::min(rounded_up(least), input.limit_milli);
  decision.limit_milli = allowed_limit(target_, input, decision.wanted_milli);
  if (decision.limit_milli) samples_ = 0;  // what it brings is no lesson
  return decision;
}

ServiceDecision LearningLoop::correct(const ServiceInput& input, double level) {
  ServiceDecision decision{.wanted_milli = input.limit_milli};
  const double wider =
      std::min(kBandOfNoise * std::hypot(level_noise(), place_noise(input)), knobs_.widest);
  const bool grows = level < -std::max(knobs_.low, wider);
  const bool shrinks = level > std::max(knobs_.high, knobs_.aim + wider);
  if (!grows) short_ = 0;
  if (!grows && !shrinks) return decision;
  decision.reason = grows ? ServiceReason::kShort : ServiceReason::kSpare;
  if (std::abs(level - level_) > std::abs(level_ - knobs_.aim)) {
    decision.reason = ServiceReason::kLoad;
  }
  if (jump_ != 0 || (shrinks && use_falls_) ||
      samples_ < (shrinks ? knobs_.samples_to_shrink : knobs_.samples_to_grow)) {
    decision.reason = ServiceReason::kSettling;
    return decision;
  }
  const double milli = wanted(input, level);
  const auto limit = static_cast<double>(input.limit_milli);
  if (grows ? milli < (1 + kLeastChange) * limit : milli > (1 - kLeastChange) * limit) {
    return decision;
  }
  decision.wanted_milli = rounded_up(milli);
  if (decision.wanted_milli > target_.max_milli) decision.wanted_milli = target_.max_milli;
  decision.limit_milli = allowed_limit(target_, input, decision.wanted_milli);
  const std::int64_t got = decision.limit_milli.value_or(input.limit_milli);
  if (!grows || got > input.limit_milli) return decision;
  return in_vain(input, decision);
}

// The thousandths of a CPU with which the model says that it is where it is to go.
double LearningLoop::wanted(const ServiceInput& input, double level) const {
  const auto limit = static_cast<double>(input.limit_milli);
  const double change = (knobs_.aim - level) / elasticity_;
  double least = knobs_.most_shrink;
  double most = knobs_.most_growth;
  double milli = limit * std::exp(change);
  if (target_.direction == Direction::kAtMost) most = std::min(most, kMostLatencyGrowth);
  if (by_use()) {
    milli = used_ / (1 - std::min(std::exp(place_of(input) + change), 1 - kLeastIdle));
  } else if (target_.direction == Direction::kAtMost) {
    least = kMostBlindShrink;
  }
  return std::clamp(milli, least * limit, most * limit);
}

// It is short and gets no more.
ServiceDecision LearningLoop::in_vain(const ServiceInput& input, ServiceDecision decision) {
  decision.limit_milli.reset();
  if (++short_ < knobs_.samples_to_tell) return decision;
  if (input.limit_milli >= target_.max_milli) {
    decision.reason = ServiceReason::kImpossible;
    return decision;
  }
  decision.reason = ServiceReason::kFull;
  decision.ask = ServiceAsk::kMove;
  if (decision.wanted_milli > input.node_milli) {
    decision.ask = ServiceAsk::kReplicas;
    decision.replicas = input.replicas + 1;
  }
  return decision;
}

}  // namespace pinion::cluster
