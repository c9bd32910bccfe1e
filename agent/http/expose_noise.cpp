#include "agent/http/expose_parts.h"

namespace pinion::agent {

using prometheus::Metric;

void expose_noise(prometheus::Writer& writer, const noise::Figures& figures) {
  writer.family(prometheus::series(Metric::kNoiseIrqs));
  writer.sample({}, {{"state", "moved"}}, figures.irqs_moved);
  writer.sample({}, {{"state", "kept_by_kernel"}}, figures.irqs_kept);
  expose_single(writer, Metric::kNoiseCorrections, figures.corrections);
  expose_single(writer, Metric::kNoiseErrors, figures.errors);
}

}  // namespace pinion::agent
