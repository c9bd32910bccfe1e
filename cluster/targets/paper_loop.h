// The control loop of Genisys (Zervas et al., "Virtual Clusters") as its code has it, to the
// letter: the baseline. Its PID has the gains P = 1, I = 0, D = 0, so with r = measured / target it
// adds int(0.015 * S * (1 - r)) thousandths of a CPU with each sample outside 0.9 .. 1.2, S = 10000
// * scale, but takes 15 CPUs at most. A latency, which it does not know, is turned round: r =
// target / measured.
//
// What differs: bounds are kept, where it knows a floor of 500 alone; and what it does itself where
// its node is full, moving the service or doubling its replicas, is asked for. It halves CPUs and
// target as it doubles the replicas; here they are halved by whoever adds the replicas.
#pragma once

#include "cluster/targets/service_loop.h"

namespace pinion::cluster {

class PaperLoop : public ServiceLoop {
 public:
  explicit PaperLoop(const ServiceTarget& target, int scale = 3) : target_(target), scale_(scale) {}

  ServiceDecision look(const ServiceInput& input) override;

 private:
  [[nodiscard]] ServiceDecision grow(const ServiceInput& input, std::int64_t delta) const;

  const ServiceTarget target_;
  const int scale_;
};

}  // namespace pinion::cluster
