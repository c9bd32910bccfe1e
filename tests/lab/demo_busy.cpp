#include "tests/lab/demo_busy.h"

#include <map>

#include "tests/lab/agent_process.h"
#include "tests/lab/demo_report.h"
#include "tests/lab/demo_say.h"

namespace pinion::lab {
namespace {

using Told = std::map<std::string, topology::CpuSet>;

// Which CPUs the agent says that it gave to whom.
Result<Told> told_by(const AgentProcess& agent) {
  const auto status = agent.status();
  if (!status) return failure(status.error());
  Told told;
  for (const auto& container : status->containers) {
    if (!container.told.empty()) told[container.id] = container.told;
  }
  return told;
}

Result<std::vector<Row>> run_pinned(ContainerdLab& lab, const Job& job, int seconds,
                                    const topology::Topology& machine) {
  auto agent = AgentProcess::start(lab, {.reserved_cpus = job.reserved.to_string()});
  if (!agent) return failure(agent.error());
  if (Status ready = agent->wait_ready(); !ready) return failure(ready.error());
  Told told;
  auto rows = run_job(lab, job, seconds, machine, [&](std::vector<Row>&) -> Status {
    auto answer = told_by(*agent);
    if (!answer) return failure(answer.error());
    told = std::move(*answer);
    return {};
  });
  if (!rows) return failure(rows.error().within("with the agent"));
  say(table(*rows, told, machine));
  if (const auto status = agent->stop(); !status) return failure(status.error().within("agent"));
  return rows;
}

Result<std::vector<Row>> run_unpinned(ContainerdLab& lab, const Job& job, int seconds,
                                      const topology::Topology& machine) {
  auto rows = run_job(lab, job, seconds, machine, [](std::vector<Row>&) -> Status { return {}; });
  if (!rows) return failure(rows.error().within("without the agent"));
  say(table(*rows, {}, machine));
  return rows;
}

}  // namespace

Status show_busy_job(ContainerdLab& lab, const Job& job, int seconds,
                     const topology::Topology& machine) {
  const std::string length = std::to_string(seconds) + " s";
  say("With pinion-agent (CPUs " + job.reserved.to_string() + " reserved), " + length + ":\n");
  const auto pinned = run_pinned(lab, job, seconds, machine);
  if (!pinned) return failure(pinned.error());
  say("The same without the agent, " + length + ":\n");
  const auto unpinned = run_unpinned(lab, job, seconds, machine);
  if (!unpinned) return failure(unpinned.error());
  std::string wrong;
  for (const auto& fault : faults_of_pinned(*pinned, machine)) wrong += "\n  " + fault;
  if (!wrong.empty()) return failure(Errc::kInternal, "the ranks were not pinned:" + wrong);
  say(verdict(*pinned, *unpinned));
  return {};
}

}  // namespace pinion::lab
