#include "ctl/plan/node_options.h"

#include <utility>

#include "base/settings/add_flag.h"
#include "policy/reserved_settings.h"
#include "policy/settings.h"

namespace pinion::ctl {

std::vector<CLI::Option*> add_node_options(CLI::App& command, NodeOptions& options) {
  std::vector<CLI::Option*> added = add_machine_options(command, options.machine);
  for (const settings::Setting& setting :
       {policy::strict_cpu_reservation(options.strict_reservation),
        policy::reserved_memory(options.reserved_memory),
        policy::allowed_privileges(options.privileges)}) {
    added.push_back(settings::add_flag(command, setting));
  }
  return added;
}

Result<IdleNode> read_node(const NodeOptions& options) {
  auto machine = read_machine(options.machine);
  if (!machine) return failure(std::move(machine.error()));
  const policy::Reserved reserved{.cpus = options.machine.reserved,
                                  .strict = options.strict_reservation,
                                  .memory = options.reserved_memory};
  const Status valid = policy::check_reserved(reserved, machine->topology);
  if (!valid) return failure(valid.error());
  const topology::ReservedMemory memory = reserved.memory_of(machine->topology);
  return IdleNode{topology::without_reserved_memory(std::move(machine->topology), memory),
                  topology::Ledger(reserved.cpus, reserved.strict)};
}

}  // namespace pinion::ctl
