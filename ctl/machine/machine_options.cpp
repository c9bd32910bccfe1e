#include "ctl/machine/machine_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/settings/add_flag.h"
#include "policy/reserved_settings.h"

namespace pinion::ctl {

std::vector<CLI::Option*> add_machine_options(CLI::App& command, MachineOptions& options) {
  CLI::Option* source =
      command
          .add_option_function<std::string>(
              "--topology",
              [&options](const std::string& text) {
                auto read = topology::Source::parse(text);
                if (!read) throw CLI::ValidationError("--topology", read.error().text);
                options.source = std::move(*read);
              },
              "The machine: live, xml:FILE (hwloc XML), synthetic:STRING (hwloc synthetic) or\n"
              "root:DIR (a directory with a machine's /sys and /proc). Default: live")
          ->type_name("SOURCE");
  CLI::Option* reserved =
      settings::add_flag(command, policy::reserved_cpus(options.reserved))->type_name("LIST");
  return {source, reserved};
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
