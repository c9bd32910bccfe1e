#include "agent/http/expose_parts.h"

namespace pinion::agent {

using prometheus::Metric;
using prometheus::series;

void expose_noise(prometheus::Writer& writer, const noise::Figures& figures) {
  writer.parts(series(Metric::kNoiseIrqs), "state",
               {{"moved", figures.irqs_moved}, {"kept_by_kernel", figures.irqs_kept}});
  writer.single(series(Metric::kNoiseCorrections), figures.corrections);
  writer.single(series(Metric::kNoiseErrors), figures.errors);
}

}  // namespace pinion::agent
