#include "agent/api/plan.h"

#include <set>

#include "agent/api/convert.h"
#include "base/utf8.h"
#include "policy/plan.h"
#include "topology/words.h"

namespace pinion::agent::api {
namespace {

using topology::CpuSet;
using topology::Decision;
using topology::Refusal;
using topology::Request;

// The fields of one request; the first error is kept. Values are cut in it: gRPC carries no long
// text in a status.
class Reader {
 public:
  Reader(const v1::PlanRequest::Request& from, int position) : from_(from), position_(position) {}

  Result<Request> read() {
    Request request;
    request.id = from_.id();
    if (from_.id().empty()) fail("id", "must not be empty");
    if (from_.cpus() < 1 || from_.cpus() > CpuSet::kCapacity) {
      fail("cpus", "must be from 1 to " + std::to_string(CpuSet::kCapacity) + ", not " +
                       std::to_string(from_.cpus()));
    }
    request.cpus = static_cast<int>(from_.cpus());
    request.align = word("align", from_.align(), topology::kAlignWords, request.align);
    request.strength =
        word("strength", from_.strength(), topology::kStrengthWords, request.strength);
    request.smt = word("smt", from_.smt(), topology::kSmtWords, request.smt);
    request.memory_policy = word("memory_policy", from_.memory_policy(),
                                 topology::kMemoryPolicyWords, request.memory_policy);
    request.memory = from_.memory();
    request.near_device = from_.near_device();
    request.job = from_.job();
    request.task_group = from_.task_group();
    request.profile = word("profile", from_.profile(), topology::kProfileWords, request.profile);
    request.use_isolated = from_.use_isolated();
    if (!error_.empty()) return failure(Errc::kInvalid, error_);
    return request;
  }

  void fail(const char* field, const std::string& text) {
    if (!error_.empty()) return;
    error_ = "requests[" + std::to_string(position_) + "]";
    if (!from_.id().empty()) error_ += " " + quoted_value(from_.id());
    error_ += std::string(": ") + field + " " + text;
  }

 private:
  template <class T, std::size_t N>
  T word(const char* field, const std::string& text, const std::array<Word<T>, N>& words,
         T otherwise) {
    if (text.empty()) return otherwise;
    if (const auto value = value_of(text, words)) return *value;
    fail(field, quoted_value(text) + " is unknown, use one of: " + list_of(words));
    return otherwise;
  }

  const v1::PlanRequest::Request& from_;
  int position_;
  std::string error_;
};

v1::PlanResponse::Placement placement_of(const Decision& decision) {
  v1::PlanResponse::Placement placement;
  placement.set_cpus(decision.cpus.to_string());
  placement.set_mems(decision.claim.mems.to_string());
  placement.set_claim(decision.claim.cpus.to_string());
  placement.set_why(topology::to_string(decision.why));
  return placement;
}

v1::PlanResponse::Rejection rejection_of(const Refusal& refusal) {
  v1::PlanResponse::Rejection rejection;
  rejection.set_reason(std::string(topology::to_string(refusal.reason)));
  rejection.set_text(refusal.text);
  rejection.set_need(static_cast<std::uint32_t>(refusal.need));
  rejection.set_largest(static_cast<std::uint32_t>(refusal.largest));
  return rejection;
}

// A live container is asked for by its id; its cores have the name of its pod's claim.
std::string claim_of(const NodeView& view, const std::string& id) {
  for (const ContainerView& container : view.containers) {
    if (container.id == id) return container.claim;
  }
  return id;
}

}  // namespace

Result<std::vector<Request>> requests_of(const v1::PlanRequest& plan) {
  if (plan.requests_size() > kMaxPlanned) {
    return failure(Errc::kInvalid, "requests: " + std::to_string(plan.requests_size()) +
                                       " are too many, the most is " + std::to_string(kMaxPlanned));
  }
  std::vector<Request> requests;
  std::set<std::string> ids;
  for (const v1::PlanRequest::Request& from : plan.requests()) {
    Reader reader(from, static_cast<int>(requests.size()));
    if (!ids.insert(from.id()).second) reader.fail("id", "is given twice");
    Result<Request> request = reader.read();
    if (!request) return failure(request.error());
    requests.push_back(*std::move(request));
  }
  return requests;
}

topology::Plan dry_run(const NodeView& view, std::vector<Request> requests) {
  for (Request& request : requests) request.id = claim_of(view, request.id);
  return policy::plan(*view.topology, view.ledger, requests, view.privileges);
}

v1::PlanResponse response_of(const NodeView& view, const std::vector<Request>& requests,
                             const topology::Plan& plan) {
  v1::PlanResponse response;
  response.set_generation(view.generation);
  for (std::size_t i = 0; i < plan.outcomes.size(); ++i) {
    v1::PlanResponse::Outcome& outcome = *response.add_outcomes();
    outcome.set_id(requests[i].id);
    if (const auto* decision = std::get_if<Decision>(&plan.outcomes[i])) {
      *outcome.mutable_placement() = placement_of(*decision);
    } else {
      *outcome.mutable_rejection() = rejection_of(std::get<Refusal>(plan.outcomes[i]));
    }
  }
  set_largest(*view.topology, plan.ledger, *response.mutable_largest());
  return response;
}

}  // namespace pinion::agent::api
