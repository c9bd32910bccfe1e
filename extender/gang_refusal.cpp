#include "extender/gang_refusal.h"

#include <algorithm>

namespace pinion::extender {
namespace {

using topology::Align;
using topology::Bytes;
using topology::Holes;
using topology::Request;

// The alignment that a member may climb to.
Align widest(const Request& request) {
  return request.strength == topology::Strength::kRequired ? request.align : Align::kNone;
}

std::string in_one(Align align) {
  switch (align) {
    case Align::kL3:
      return " in one L3 domain";
    case Align::kNuma:
      return " in one NUMA node";
    case Align::kSocket:
      return " on one socket";
    case Align::kNone:
      break;
  }
  return " on one node";
}

constexpr Bytes kMiB = Bytes{1} << 20;
constexpr Bytes kGiB = Bytes{1} << 30;

// Rounded up: what is asked, not less.
std::string size_text(Bytes bytes) {
  const bool in_gib = bytes % kGiB == 0;
  const Bytes unit = in_gib ? kGiB : kMiB;
  return std::to_string(bytes / unit + (bytes % unit == 0 ? 0 : 1)) + (in_gib ? " GiB" : " MiB");
}

std::string count_of_nodes(int nodes) {
  return std::to_string(nodes) + (nodes == 1 ? " node has" : " nodes have");
}

bool binds(const Request& request) {
  return request.memory > 0 && request.memory_policy == topology::MemoryPolicy::kBind;
}

// "4 x 8 CPUs and 16 GiB in one NUMA node"
std::string wanted_text(const GangRefusal& refusal) {
  std::string text = std::to_string(refusal.need) + " x " + std::to_string(refusal.shape.cpus) +
                     (refusal.shape.cpus == 1 ? " CPU" : " CPUs");
  if (binds(refusal.shape)) text += " and " + size_text(refusal.shape.memory);
  return text + in_one(widest(refusal.shape));
}

std::string text_of(const GangRefusal& refusal) {
  const std::string needs = "needs " + wanted_text(refusal) + "; ";
  const std::string most = std::to_string(refusal.largest);
  const std::string elsewhere =
      refusal.memory ? "others lack the memory beside the CPUs" : "largest elsewhere " + most;
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
             (refusal.memory ? "some lack only the memory" : "largest " + most);
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
};

// What the allowed nodes have for members of this shape.
Survey look(const Fleet& fleet, const Draft& draft, const Request& request, int need) {
  Survey survey;
  for (const NodeIndex node : draft.allowed()) {
    Holes holes = fleet.node(node).holes;
    if (fleet.fits(node, request)) {
      ++survey.nodes;
      survey.room += std::max(1, topology::take(holes, request, need));
      continue;
    }
    const int largest = holes.largest(widest(request), request.smt);
    survey.largest = std::max(survey.largest, largest);
    Request dry = request;
    dry.memory = 0;
    survey.memory = survey.memory || (binds(request) && fleet.fits(node, dry));
  }
  return survey;
}

GangReason reason_of(const Fleet& fleet, const Draft& draft, const GangRefusal& refusal) {
  if (refusal.nodes > 0) {
    return refusal.room < refusal.need ? GangReason::kTooFew : GangReason::kFragmented;
  }
  const auto& allowed = draft.allowed();
  const bool ever = std::any_of(allowed.begin(), allowed.end(), [&](NodeIndex node) {
    return fleet.fits_idle(node, refusal.shape);
  });
  return ever ? GangReason::kNoHole : GangReason::kNever;
}

}  // namespace

GangRefusal refuse_as(GangReason reason) {
  GangRefusal refusal;
  refusal.reason = reason;
  refusal.text = text_of(refusal);
  return refusal;
}

GangRefusal refuse(const Fleet& fleet, const Draft& draft) {
  GangRefusal refusal;
  // The largest kind of member that has no node.
  for (const Draft::Shape& shape : draft.shapes()) {
    const bool homeless =
        std::any_of(shape.members.begin(), shape.members.end(),
                    [&](std::size_t member) { return draft.node_of(member) < 0; });
    if (!homeless || shape.request.cpus <= refusal.shape.cpus) continue;
    refusal.shape = shape.request;
    refusal.need = static_cast<int>(shape.members.size());
  }
  const Survey survey = look(fleet, draft, refusal.shape, refusal.need);
  refusal.nodes = survey.nodes;
  refusal.room = survey.room;
  refusal.largest = survey.largest;
  refusal.memory = survey.memory;
  refusal.reason = reason_of(fleet, draft, refusal);
  if (refusal.reason == GangReason::kNever) {
    refusal.largest = 0;
    for (const NodeIndex node : draft.allowed()) {
      const Holes& idle = fleet.node(node).kind->idle;
      refusal.largest =
          std::max(refusal.largest, idle.largest(widest(refusal.shape), refusal.shape.smt));
    }
  }
  refusal.text = text_of(refusal);
  return refusal;
}

}  // namespace pinion::extender
