#include "agent/host_daemons.h"

#include "metrics/trespassers.h"

namespace pinion::agent {

std::optional<Note> warning_of_host_daemons(const std::string& root, const topology::CpuSet& given,
                                            const topology::CpuSet& reserved,
                                            const std::stop_token& stop) {
  Note line{.level = Note::Level::kWarn,
            .text = "host daemons may run on ranks' cores with this fence",
            .fields = {}};
  const auto processes = metrics::host_processes(root, stop);
  if (stop.stop_requested()) return std::nullopt;
  if (!processes) {
    line.fields = {{"unknown", processes.error().text}};
  } else {
    const auto found = metrics::trespassers(*processes, given, reserved);
    if (found.processes == 0) return std::nullopt;
    line.fields = {{"processes", std::to_string(found.processes)},
                   {"of", found.units},
                   {"keep_off", found.keep_off}};
  }
  line.fields.emplace_back("see", "pinionctl doctor");
  return line;
}

}  // namespace pinion::agent
