#include "ctl/plan/plan_live.h"

#include <cstdint>

#include "base/cli/table.h"
#include "topology/words.h"

namespace pinion::ctl {
namespace {

std::string largest_text(const v1::PlanResponse& response) {
  std::string text;
  for (const auto& word : topology::kAlignWords) {
    const std::string align(word.word);
    const auto place = response.largest().find(align);
    if (place == response.largest().end()) continue;
    text += (text.empty() ? "" : ", ") + align + " " + std::to_string(place->second);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

v1::PlanRequest plan_request_of(const std::vector<topology::Request>& requests) {
  v1::PlanRequest plan;
  for (const topology::Request& request : requests) {
    v1::PlanRequest::Request& wire = *plan.add_requests();
    wire.set_id(request.id);
    wire.set_cpus(static_cast<std::uint32_t>(request.cpus));
    wire.set_align(std::string(word_of(request.align, topology::kAlignWords)));
    wire.set_strength(std::string(word_of(request.strength, topology::kStrengthWords)));
    wire.set_smt(std::string(word_of(request.smt, topology::kSmtWords)));
    wire.set_memory_policy(
        std::string(word_of(request.memory_policy, topology::kMemoryPolicyWords)));
    wire.set_memory(request.memory);
    wire.set_near_device(request.near_device);
    wire.set_job(request.job);
    wire.set_task_group(request.task_group);
    wire.set_profile(std::string(word_of(request.profile, topology::kProfileWords)));
    wire.set_use_isolated(request.use_isolated);
  }
  return plan;
}

std::string draw_live_plan(const v1::PlanResponse& response) {
  std::vector<Row> rows = {{"CONTAINER", "CPUS", "HELD", "MEMS", "WHY"}};
  std::vector<Row> refused;
  for (const v1::PlanResponse::Outcome& outcome : response.outcomes()) {
    if (outcome.has_placement()) {
      const v1::PlanResponse::Placement& placement = outcome.placement();
      rows.push_back({plain(outcome.id()), plain(placement.cpus()), plain(placement.claim()),
                      placement.mems().empty() ? "any" : plain(placement.mems()),
                      plain(placement.why())});
    } else {
      refused.push_back({"refused", plain(outcome.id()), plain(outcome.rejection().text())});
    }
  }
  const std::size_t placed = rows.size() - 1;
  std::string text = placed > 0 ? table(rows) : "";
  text += table(refused);
  return text + "\nstill fits  " + largest_text(response) + "\n" + std::to_string(placed) + " of " +
         std::to_string(response.outcomes_size()) +
         " containers placed on what was free at the node's generation " +
         std::to_string(response.generation()) +
         " (a count of its changes, as pinionctl node shows it); nothing was done\n";
}

}  // namespace pinion::ctl
