#include "cluster/core/gang_refusal.h"

#include <algorithm>
#include <functional>
#include <numeric>
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

// Of what is requested: "at most 3.5 CPUs"; empty where no single amount is short.
std::string requests_left(const GangRefusal& refusal) {
  const auto& [cpus, memory, members] = refusal.left;
  if (refusal.requested.memory > memory) {
    return "at most " + left_text(static_cast<topology::Bytes>(std::max<std::int64_t>(memory, 0)));
  }
  if (refusal.requested.milli_cpus > cpus) {
    const std::int64_t tenths = std::max<std::int64_t>(cpus, 0) / 100;
    return "at most " + std::to_string(tenths / 10) +
           (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " CPUs";
  }
  return refusal.requested.members > members ? "no place for one more" : "";
}

// ", for requests at most 3.5 CPUs"
std::string after_requests(const GangRefusal& refusal) {
  const std::string left = refusal.requests ? requests_left(refusal) : "";
  return left.empty() ? left : ", for requests " + left;
}

// ", on at most 2 nodes (1 has some already)"
std::string limit_text(const GangRefusal& refusal) {
  if (refusal.most_nodes == kAnyNumber) return {};
  const int there = refusal.job_nodes;
  return ", on at most " + std::to_string(refusal.most_nodes) +
         (refusal.most_nodes == 1 ? " node" : " nodes") +
         (there == 0   ? ""
          : there == 1 ? " (1 has some already)"
                       : " (" + std::to_string(there) + " have some already)");
}

}  // namespace

std::string absent_text(int unheard, int silent) {
  const auto nodes = [](int count) {
    return std::to_string(count) + (count == 1 ? " node" : " nodes");
  };
  std::string text;
  if (unheard > 0) text += "no agent speaks for " + nodes(unheard) + "; ";
  if (silent > 0) {
    text += (silent == 1 ? "the agent of " : "the agents of ") + nodes(silent) +
            (silent == 1 ? " is silent; " : " are silent; ");
  }
  return text;
}

std::string text_of(const GangRefusal& refusal) {
  // "4 x 8 CPUs and 16 GiB in one NUMA node"
  const std::string needs =
      "needs " + std::to_string(refusal.need) + " x " + hole_text(refusal.shape) +
      (refusal.beside > 0 ? " and CPUs of " + std::to_string(refusal.beside) + " more beside it"
                          : "") +
      (refusal.apart ? ", each on another node" : "") + limit_text(refusal) + "; " +
      closed_text(refusal.closed) + absent_text(refusal.unheard, refusal.silent);
  const std::string most = std::to_string(refusal.largest);
  const std::string memory = "at most " + left_text(refusal.memory_there);
  const std::string requests = after_requests(refusal);
  const std::string elsewhere =
      refusal.memory     ? "others lack the memory beside the CPUs, " + memory
      : refusal.requests ? "on others too much is requested beside the free CPUs" + requests
                         : "largest elsewhere " + most;
  const std::string have = count_of_nodes(refusal.nodes) + " such a hole, ";
  switch (refusal.reason) {
    case GangReason::kEmpty:
      return "a gang without workers";
    case GangReason::kTwice:
      return "two workers of the gang have the same id, or one has its CPUs already";
    case GangReason::kNever:
      if (refusal.nodes == 0) {
        return needs + "no node could give that even with nothing running" +
               (refusal.memory      ? ", " + memory + " beside such CPUs"
                : !requests.empty() ? requests
                                    : ", largest " + most);
      }
      return needs + "even with nothing running there is room for " +
             (refusal.room_there < refusal.need ? std::to_string(refusal.room_there)
                                                : "these, but not for all workers of the job");
    case GangReason::kNoHole:
      return needs + "no node has such a hole, " +
             (refusal.memory     ? "some lack only the memory, " + memory
              : refusal.requests ? "where the CPUs are free too much else is requested" + requests
                                 : "largest " + most);
    case GangReason::kTooFew:
      return needs + have + "room for " + std::to_string(refusal.room) + ", " + elsewhere;
    case GangReason::kNodeLimit:
      return needs + have + "room for " + std::to_string(refusal.room) + ", of which " +
             std::to_string(refusal.room_there) + " on so few nodes";
    case GangReason::kFragmented:
      break;
  }
  return needs + have + "but not for all workers of this job together, " + elsewhere;
}

namespace {

// There are the CPUs, and so little is left beside them.
void note_requests(const ResourceList& left, GangRefusal& refusal) {
  refusal.requests = true;
  refusal.left.milli_cpus = std::max(refusal.left.milli_cpus, left.milli_cpus);
  refusal.left.memory = std::max(refusal.left.memory, left.memory);
  refusal.left.members = std::max(refusal.left.members, left.members);
}

// What they would have with nothing running.
void look_at_idle(const Draft& draft, const GangMember& member, GangRefusal& refusal) {
  const Fleet& fleet = draft.fleet().fleet();
  MostThere there({member});
  refusal.requests = false;
  refusal.left = {};
  for (const NodeIndex node : draft.allowed()) {
    if (!fleet.may_ever_use(node, member.terms)) continue;
    there.look(fleet.node(node).kind->idle);
    if (!fleet.fits_idle(node, member)) continue;
    note_requests(fleet.node(node).capacity, refusal);
  }
  refusal.largest = there.cpus();
  refusal.memory = there.lacks_memory();
  refusal.memory_there = there.memory();
}

// What the allowed nodes have for members of this shape.
void look(const Draft& draft, const GangMember& request, GangRefusal& refusal) {
  const FleetView& fleet = draft.fleet();
  const std::vector<Request> requests = request.requests();
  const PodFit together(fleet, requests);
  const std::set<NodeIndex> job_nodes = fleet.nodes_of_job(request.job);
  refusal.job_nodes = static_cast<int>(job_nodes.size());
  std::vector<int> rooms;  // of nodes where the job is not
  MostThere there({request});
  for (const NodeIndex node : draft.silent()) {
    if (fleet.may_use(node, request.terms)) ++refusal.silent;
  }
  for (const NodeIndex node : draft.allowed()) {
    if (!fleet.may_use(node, request.terms)) {
      ++refusal.closed;
      continue;
    }
    Holes holes = fleet.node(node).holes;
    if (together.fit(node)) {
      const int most = times(fleet.node(node).spare, request.terms.requests,
                             request.terms.apart ? 1 : refusal.need);
      if (most == 0) {
        note_requests(fleet.node(node).spare, refusal);
        continue;
      }
      ++refusal.nodes;
      const int room = std::clamp(topology::reserve_in(holes, request, refusal.need), 1, most);
      refusal.room += room;
      if (job_nodes.contains(node)) {
        refusal.room_there += room;
      } else {
        rooms.push_back(room);
      }
      continue;
    }
    there.look(holes);
    Request dry = request;
    dry.memory = 0;
    refusal.memory = refusal.memory || (binds_memory(request) && fleet.fits(node, dry));
  }
  refusal.largest = there.cpus();
  refusal.memory_there = there.memory();
  std::sort(rooms.begin(), rooms.end(), std::greater<>());
  const int more = std::max(0, draft.most_nodes() - refusal.job_nodes);
  rooms.resize(std::min(rooms.size(), static_cast<std::size_t>(more)));
  refusal.room_there = std::accumulate(rooms.begin(), rooms.end(), refusal.room_there);
}

// Whether one of these nodes would take one of them with nothing running.
bool ever_fits(const Fleet& fleet, const GangMember& shape, const std::vector<NodeIndex>& nodes) {
  const std::vector<Request> requests = shape.requests();
  IdleFit idle(fleet, requests);
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeIndex node) {
    return fleet.takes_idle(node, shape.terms) && idle.fit(node);
  });
}

GangReason reason_of(const Draft& draft, const GangMember& shape, const GangRefusal& refusal) {
  if (refusal.nodes > 0) {
    return refusal.room < refusal.need         ? GangReason::kTooFew
           : refusal.room_there < refusal.need ? GangReason::kNodeLimit
                                               : GangReason::kFragmented;
  }
  const Fleet& fleet = draft.fleet().fleet();
  const bool ever = fleet.awaits() || ever_fits(fleet, shape, draft.allowed()) ||
                    ever_fits(fleet, shape, draft.silent());
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

std::optional<GangReason> senseless(const FleetView& fleet, const Gang& gang) {
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

GangRefusal refuse(const Draft& draft) {
  GangRefusal refusal;
  const Draft::Shape& homeless = largest_homeless(draft);
  const GangMember& member = homeless.request;
  refusal.shape = member;
  refusal.beside = static_cast<int>(member.beside.size());
  refusal.need = static_cast<int>(homeless.members.size());
  refusal.apart = member.terms.apart && refusal.need > 1;
  refusal.most_nodes = draft.most_nodes();
  const Fleet& fleet = draft.fleet().fleet();
  refusal.unheard = fleet.unheard(member.terms);
  refusal.requested = member.terms.requests;
  look(draft, member, refusal);
  refusal.reason = reason_of(draft, member, refusal);
  if (refusal.reason == GangReason::kNever) look_at_idle(draft, member, refusal);
  refusal.text = text_of(refusal);
  return refusal;
}

}  // namespace pinion::cluster
