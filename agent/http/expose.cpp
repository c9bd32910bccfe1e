#include "agent/http/expose.h"

#include "agent/http/expose_parts.h"

namespace pinion::agent {
namespace {

// Some 30 samples of 130 bytes for a container, and the rest. Only a guess that saves copying.
constexpr std::size_t kBytesPerContainer = 4096;
constexpr std::size_t kBytesOfNode = 65536;

}  // namespace

std::string expose(const NodeView& view, const metrics::Sample& sample, const ExposeExtras& extras,
                   prometheus::Format format) {
  const ShownContainers containers = shown_containers(view, sample);
  prometheus::Writer writer(format, kBytesOfNode + containers.size() * kBytesPerContainer);
  expose_containers(writer, view, containers);
  expose_machine(writer, view);
  expose_placement(writer, view);
  if (extras.noise) expose_noise(writer, *extras.noise);
  expose_runtime(writer, view);
  expose_self(writer, sample, extras);
  return writer.finish();
}

}  // namespace pinion::agent
