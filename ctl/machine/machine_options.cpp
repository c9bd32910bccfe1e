#include "ctl/machine/machine_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace pinion::ctl {

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command
      .add_option_function<std::string>(
          "--topology",
          [&options](const std::string& text) {
            auto source = topology::Source::parse(text);
            if (!source) throw CLI::ValidationError("--topology", source.error().text);
            options.source = std::move(*source);
          },
          "The machine: live, xml:FILE (hwloc XML), synthetic:STRING (hwloc synthetic) or\n"
          "root:DIR (a directory with a machine's /sys and /proc). Default: live")
      ->type_name("SOURCE");
  command
      .add_option_function<std::string>(
          "--reserved-cpus",
          [&options](const std::string& text) {
            auto cpus = topology::CpuSet::parse(text);
            if (!cpus) throw CLI::ValidationError("--reserved-cpus", cpus.error().text);
            options.reserved = *cpus;
          },
          "CPUs that are never given to one container alone, as 0-1,64")
      ->type_name("LIST");
}

Result<ReservedMachine> read_machine(const MachineOptions& options) {
  auto machine = topology::discover(options.source);
  if (!machine) return failure(std::move(machine.error()));
  const auto unknown = options.reserved - machine->online - machine->offline;
  if (!unknown.empty()) {
    return failure(Errc::kInvalid,
                   "--reserved-cpus: this machine has no CPUs " + unknown.to_string());
  }
  return ReservedMachine{std::move(*machine), options.reserved};
}

}  // namespace pinion::ctl
