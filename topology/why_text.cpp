// Decisions in words.
#include "topology/allocate.h"

namespace pinion::topology {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kCpus:
      return "cpus";
    case Reason::kMemory:
      return "memory";
    case Reason::kIsolated:
      return "isolated";
    case Reason::kReserved:
      return "reserved";
    case Reason::kTopology:
      return "topology";
    case Reason::kLastShared:
      return "last-shared";
    case Reason::kAnnotation:
      return "annotation";
  }
  return "unknown";
}

std::string_view to_string(Align align) {
  switch (align) {
    case Align::kL3:
      return "l3";
    case Align::kNuma:
      return "numa";
    case Align::kSocket:
      return "socket";
    case Align::kNone:
      break;
  }
  return "none";
}

namespace {

// "numa 1", "l3 5 of node 1", "socket 0", "whole machine"
std::string domain_text(const Why& why) {
  const std::string kind(to_string(why.met));
  if (why.met == Align::kNone) return "whole machine";
  if (why.met == Align::kNuma) return kind + " " + std::to_string(why.node);
  const std::string text = kind + " " + std::to_string(why.domain);
  return why.met == Align::kL3 && why.node != kNoIndex
             ? text + " of node " + std::to_string(why.node)
             : text;
}

}  // namespace

std::string to_string(const Why& why) {
  std::string text = domain_text(why);
  if (why.met != why.asked) text += " (" + std::string(to_string(why.asked)) + " asked)";
  // No domains were compared: it stays where it was.
  if (why.domains_fitting == 0) {
    return text + ": " + std::to_string(why.kept) + (why.kept == 1 ? " CPU" : " CPUs") +
           " that it had before";
  }
  text += ": " + std::to_string(why.free_before - why.free_after) + " of " +
          std::to_string(why.free_before) + " free " + (why.isolated ? "isolated " : "") +
          "CPUs, best of " + std::to_string(why.domains_fitting) + " fitting";
  if (why.kept > 0) text += "; " + std::to_string(why.kept) + " as planned or before";
  if (why.group_members > 0)
    text += "; " + std::to_string(why.group_members) + " of its group there";
  if (why.cores_split > 0)
    text += "; " + std::to_string(why.cores_split) +
            (why.cores_split == 1 ? " core in part" : " cores in part");
  return text;
}

}  // namespace pinion::topology
