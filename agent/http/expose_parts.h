// The parts that expose() puts together, in the order of the table of series.
#pragma once

#include "agent/http/expose.h"
#include "agent/http/shown.h"

namespace pinion::agent {

void expose_containers(prometheus::Writer& writer, const NodeView& view,
                       const ShownContainers& containers);
// The machine and the room in it.
void expose_machine(prometheus::Writer& writer, const NodeView& view);
void expose_placement(prometheus::Writer& writer, const NodeView& view);
void expose_noise(prometheus::Writer& writer, const noise::Figures& figures);
void expose_runtime(prometheus::Writer& writer, const NodeView& view);
// What measuring and telling cost, and what cannot be measured.
void expose_self(prometheus::Writer& writer, const metrics::Sample& sample,
                 const ExposeExtras& extras);

}  // namespace pinion::agent
