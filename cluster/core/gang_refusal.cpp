#include "cluster/core/gang_refusal.h"

#include <algorithm>
#include <set>

#include "cluster/core/hole_text.h"
#include "cluster/core/pod_fit.h"

namespace pinion::cluster {
namespace {

using topology::Holes;
using topology::Request;

std::string count_of_nodes(int nodes) {
  return std::to_string(nodes) + (nodes == 1 ? " node has" : " nodes have");
}

// "2 nodes are closed to it; "
std::string closed_text(int closed) {
  if (closed == 0) return {};
  return std::to_string(closed) + (closed == 1 ? " node is" : " nodes are") + " closed to it; ";
}

std::string text_of(const GangRefusal& refusal) {
  // "4 x 8 CPUs and 16 GiB in one NUMA node"
  const std::string needs =
      "needs " + std::to_string(refusal.need) + " x " + hole_text(refusal.shape) +
      (refusal.beside > 0 ? " and CPUs of " + std::to_string(refusal.beside) + " more beside it"
                          : "") +
      (refusal.apart ? ", each on another node; " : "; ") + closed_text(refusal.closed);
  const std::string most = std::to_string(refusal.largest);
  const std::string elsewhere = refusal.memory ? "others lack the memory beside the CPUs"
                                : refusal.requests
                                    ? "on others too much is requested beside the free CPUs"
                                    : "largest elsewhere " + most;
  const std::string have = count_of_nodes(refusal.nodes) + " such a hole, ";
  switch (refusal.reason) {
    case GangReason::kEmpty:
      return "a gang without workers";
    case GangReason::kTwice:
      return "two workers of the gang have the same id, or one has its CPUs already";
    case GangReason::kNever:
      return needs + "no node could give that even with nothing running, largest " + most;
    case GangReason::kNoHole:
      return needs + "no node has such a hole, " +
             (refusal.memory     ? "some lack only the memory"
              : refusal.requests ? "where the CPUs are free too much else is requested"
                                 : "largest " + most);
    case GangReason::kTooFew:
      return needs + have + "room for " + std::to_string(refusal.room) + ", " + elsewhere;
    case GangReason::kFragmented:
      break;
  }
  return needs + have + "but not for all workers of this job together, " + elsewhere;
}

struct Survey {
  int nodes = 0;
  int room = 0;
  int largest = 0;
  bool memory = false;
  bool requests = false;
  int closed = 0;
};

// What the allowed nodes have for members of this shape.
Survey look(const Fleet& fleet, const Draft& draft, const GangMember& request, int need) {
  Survey survey;
  const std::vector<Request> requests = request.requests();
  const PodFit together(fleet, requests);
  for (const NodeIndex node : draft.allowed()) {
    if (!fleet.may_use(node, request.terms)) {
      ++survey.closed;
      continue;
    }
    Holes holes = fleet.node(node).holes;
    if (together.fit(node)) {
      const int most =
          times(fleet.node(node).spare, request.terms.requests, request.terms.apart ? 1 : need);
      survey.requests = survey.requests || most == 0;
      if (most == 0) continue;
      ++survey.nodes;
      survey.room += std::clamp(topology::reserve_in(holes, request, need), 1, most);
      continue;
    }
    const int largest = holes.largest(widest_align(request), request.smt);
    survey.largest = std::max(survey.largest, largest);
    Request dry = request;
    dry.memory = 0;
    survey.memory = survey.memory || (binds_memory(request) && fleet.fits(node, dry));
  }
  return survey;
}

GangReason reason_of(const Fleet& fleet, const Draft& draft, const GangMember& shape,
                     const GangRefusal& refusal) {
  if (refusal.nodes > 0) {
    return refusal.room < refusal.need ? GangReason::kTooFew : GangReason::kFragmented;
  }
  const auto& allowed = draft.allowed();
  const std::vector<Request> requests = shape.requests();
  IdleFit idle(fleet, requests);
  const bool ever = std::any_of(allowed.begin(), allowed.end(), [&](NodeIndex node) {
    return fleet.takes_idle(node, shape.terms) && idle.fit(node);
  });
  return ever ? GangReason::kNoHole : GangReason::kNever;
}

// The largest of the kinds of members that have one without a node; there is one.
const Draft::Shape& largest_homeless(const Draft& draft) {
  const auto rank = [&](const Draft::Shape& shape) {
    const bool homeless =
        std::any_of(shape.members.begin(), shape.members.end(),
                    [&](std::size_t member) { return draft.node_of(member) < 0; });
    return homeless ? shape.request.all_cpus() : -1;
  };
  const auto& shapes = draft.shapes();
  return *std::max_element(
      shapes.begin(), shapes.end(),
      [&](const Draft::Shape& a, const Draft::Shape& b) { return rank(a) < rank(b); });
}

}  // namespace

std::optional<GangReason> senseless(const Fleet& fleet, const Gang& gang) {
  if (gang.empty()) return GangReason::kEmpty;
  std::set<std::string_view> ids;
  const auto known = [&](const Request& request) {
    return fleet.knows(request.id) || !ids.insert(request.id).second;
  };
  const bool twice = std::any_of(gang.begin(), gang.end(), [&](const GangMember& member) {
    return known(member) || std::any_of(member.beside.begin(), member.beside.end(), known);
  });
  return twice ? std::optional(GangReason::kTwice) : std::nullopt;
}

GangRefusal refuse_as(GangReason reason) {
  GangRefusal refusal;
  refusal.reason = reason;
  refusal.text = text_of(refusal);
  return refusal;
}

GangRefusal refuse(const Fleet& fleet, const Draft& draft) {
  GangRefusal refusal;
  const Draft::Shape& homeless = largest_homeless(draft);
  const GangMember& member = homeless.request;
  refusal.shape = member;
  refusal.beside = static_cast<int>(member.beside.size());
  refusal.need = static_cast<int>(homeless.members.size());
  refusal.apart = member.terms.apart && refusal.need > 1;
  const Survey survey = look(fleet, draft, member, refusal.need);
  refusal.nodes = survey.nodes;
  refusal.room = survey.room;
  refusal.largest = survey.largest;
  refusal.memory = survey.memory;
  refusal.requests = survey.requests;
  refusal.closed = survey.closed;
  refusal.reason = reason_of(fleet, draft, member, refusal);
  if (refusal.reason == GangReason::kNever) {
    refusal.largest = 0;
    for (const NodeIndex node : draft.allowed()) {
      if (!fleet.may_ever_use(node, member.terms)) continue;
      const Holes& idle = fleet.node(node).kind->idle;
      refusal.largest =
          std::max(refusal.largest, idle.largest(widest_align(refusal.shape), refusal.shape.smt));
    }
  }
  refusal.text = text_of(refusal);
  return refusal;
}

}  // namespace pinion::cluster
