// Our loop: it learns how the service answers to CPUs, and goes to where the target is kept in one
// or two steps instead of creeping there.
//
// The model, near where the service is, with performance 1 on the target:
//
//   performance = level * place ^ elasticity
//
// The place of a throughput is its CPUs: elasticity 1, as many times more; less, it saturates. The
// place of a latency is the share of its CPUs that it leaves idle, 1 - used / limit, as by the law
// of queues (M/M/1: latency = service time / (1 - use)). So what the service uses is fed forward:
// a load that rises is seen there before the percentile shows it. The place of a latency whose use
// is not told is its CPUs.
//
// The level is followed with each sample, by an average that starts anew when two samples in a row
// have jumped. The elasticity is learnt by recursive least squares with exponential forgetting,
// from what each change of the limit brought.
//
//   - Dead band: nothing is done near the target; noise, which is measured, makes it wider.
//   - Rate limit: no change before the metric shows the last one, to at most 3 times or at least
//     0.6 of what there was; taking back needs more samples than giving.
//   - No wind-up: nothing is added up; each change starts from the limit that there really is.
//   - Where the metric vanishes everything stays as it is, unless nobody asks the service anything.
#pragma once

#include "cluster/targets/service_loop.h"

namespace pinion::cluster {

struct LearningKnobs {
  double aim = 0.02;        // so far above the target it goes; these four in logarithms
  double low = 0.03;        // so far below it is still left alone, without noise
  double high = 0.09;       // so far above
  double widest = 0.11;     // so much wider the band gets by noise, on each side
  double smoothing = 0.25;  // weight of a new sample, 0 < weight <= 1
  double forgetting = 0.8;  // of the elasticity, for each change, 0 < factor <= 1
  double most_growth = 3;   // factors of one change
  double most_shrink = 0.6;
  int samples_to_grow = 2;  // since the last change or jump
  int samples_to_shrink = 3;
  int samples_to_learn = 7;  // from a change that brought less than expected
  int samples_to_tell = 12;  // in vain, before a target is called impossible or a node full
};

class LearningLoop : public ServiceLoop {
 public:
  explicit LearningLoop(const ServiceTarget& target, const LearningKnobs& knobs = {});

  ServiceDecision look(const ServiceInput& input) override;

 private:
  // A change of the limit whose effect is not seen yet: what there was before.
  struct Change {
    double level = 0;
    double place = 0;
  };

  void see_limit(const ServiceInput& input);
  void see_use(const ServiceInput& input);
  void see(double performance, double place);
  void restart(double level, int samples, double place);
  void learn();
  [[nodiscard]] bool by_use() const { return used_ > 0; }
  [[nodiscard]] double place_of(const ServiceInput& input) const;
  [[nodiscard]] double noise() const;  // of one sample of the performance, relative
  [[nodiscard]] double level_noise() const;
  [[nodiscard]] double place_noise(const ServiceInput& input) const;
  [[nodiscard]] bool is_idle(const ServiceInput& input, double level) const;
  [[nodiscard]] bool is_unasked(const ServiceInput& input) const;
  [[nodiscard]] double wanted(const ServiceInput& input, double level) const;
  ServiceDecision take_back(const ServiceInput& input);
  ServiceDecision correct(const ServiceInput& input, double level);
  ServiceDecision in_vain(const ServiceInput& input, ServiceDecision decision);

  const ServiceTarget target_;
  const LearningKnobs knobs_;

  // In logarithms.
  double level_ = 0;  // of the performance, at `place_`
  double place_ = 0;
  double jump_ = 0;  // of the last sample from the level, where it was far; else 0
  double variance_;  // of a sample around the level
  int samples_ = 0;  // since the last change or jump

  double elasticity_;
  double doubt_;             // the covariance of recursive least squares
  double used_ = 0;          // of a latency: thousandths of a CPU, averaged; 0: not told
  double use_variance_ = 0;  // relative
  std::int64_t use_jumped_ms_;
  int seen_ = 0;            // samples since then
  bool use_falls_ = false;  // it did not end falling yet

  std::int64_t limit_milli_ = 0;  // as seen last; 0: never
  std::int64_t changed_ms_ = 0;
  std::optional<Change> change_;
  int idle_ = 0;   // samples in a row in which too little was asked of it
  int short_ = 0;  // the same, in which it was short and got no more
};

}  // namespace pinion::cluster
