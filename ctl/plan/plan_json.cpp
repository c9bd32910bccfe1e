#include <array>
#include <nlohmann/json.hpp>

#include "ctl/plan/draw_plan.h"

namespace pinion::ctl {
namespace {

using nlohmann::ordered_json;
using topology::Align;
using topology::Decision;
using topology::Plan;
using topology::Refusal;
using topology::Request;
using topology::Smt;
using topology::Topology;

ordered_json memory_json(const Topology& machine, const topology::Claim& claim) {
  ordered_json shares = ordered_json::array();
  for (const auto& share : claim.memory) {
    shares.push_back(
        {{"node", machine.nodes[static_cast<std::size_t>(share.node)].id}, {"bytes", share.bytes}});
  }
  return shares;
}

ordered_json decision_json(const Topology& machine, const Decision& decision) {
  const topology::Why& why = decision.why;
  return {{"cpus", decision.cpus.to_string()},
          {"held", decision.claim.cpus.to_string()},
          {"mems", decision.claim.mems.to_string()},
          {"memory", memory_json(machine, decision.claim)},
          {"align", to_string(why.met)},
          {"asked", to_string(why.asked)},
          {"domains_fitting", why.domains_fitting},
          {"free_before", why.free_before},
          {"free_after", why.free_after},
          {"cores_split", why.cores_split},
          {"group_members", why.group_members},
          {"isolated", why.isolated},
          {"why", to_string(why)}};
}

ordered_json refusal_json(const Refusal& refusal) {
  ordered_json json = {{"reason", to_string(refusal.reason)},
                       {"text", refusal.text},
                       {"need", refusal.need},
                       {"largest", refusal.largest},
                       {"align", to_string(refusal.align)},
                       {"fits_split", refusal.fits_split},
                       {"fits_anew", refusal.fits_anew}};
  if (refusal.fits_with) json["fits_with"] = to_string(*refusal.fits_with);
  return json;
}

ordered_json largest_json(const Topology& machine, const Plan& plan, Smt smt) {
  ordered_json json;
  for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
    json[std::string(to_string(align))] = largest(machine, plan.ledger, align, smt);
  }
  return json;
}

}  // namespace

std::string plan_json(const Topology& machine, const std::vector<Request>& requests,
                      const Plan& plan) {
  ordered_json containers = ordered_json::array();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ordered_json entry = {{"id", requests[i].id}, {"asked_cpus", requests[i].cpus}};
    if (const auto* decision = std::get_if<Decision>(&plan.outcomes[i])) {
      entry["placed"] = decision_json(machine, *decision);
    } else {
      entry["refused"] = refusal_json(std::get<Refusal>(plan.outcomes[i]));
    }
    containers.push_back(std::move(entry));
  }
  const ordered_json json = {{"reserved", plan.ledger.reserved().to_string()},
                             {"exclusive", plan.ledger.exclusive().to_string()},
                             {"shared", (machine.online - plan.ledger.exclusive()).to_string()},
                             {"containers", containers},
                             {"largest",
                              {{"prefer-full", largest_json(machine, plan, Smt::kPreferFull)},
                               {"full-core", largest_json(machine, plan, Smt::kFullCore)},
                               {"one-per-core", largest_json(machine, plan, Smt::kOnePerCore)},
                               {"pack", largest_json(machine, plan, Smt::kPack)}}}};
  // Ids come from a file and need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pinion::ctl
