#include "cluster/slurm/action.h"

#include "base/words.h"

namespace pinion::slurm {
namespace {

struct ToText {
  std::string operator()(const Hold& it) const { return "hold " + std::to_string(it.job); }
  std::string operator()(const Requeue& it) const {
    return "requeue " + std::to_string(it.job) + ": " + it.why;
  }
  std::string operator()(const Cancel& it) const { return "cancel " + std::to_string(it.job); }
  std::string operator()(const Delete& it) const { return "delete " + it.name; }
  std::string operator()(const Split& it) const {
    return "split " + std::to_string(it.job) + "_" + std::to_string(it.element);
  }
  std::string operator()(const Create& it) const { return "create " + it.pod.name; }
  std::string operator()(const Place& it) const {
    return "place " + std::to_string(it.job) + " on " + joined(it.nodes, ",");
  }
  std::string operator()(const Ask& it) const { return "ask for " + it.name; }
  std::string operator()(const Unask& it) const { return "give up " + it.name; }
  std::string operator()(const Report& it) const {
    return "report " + std::to_string(it.told.ready) + " of " + std::to_string(it.told.active) +
           " nodes of " + it.name;
  }
  std::string operator()(const Acknowledge& it) const {
    return "acknowledge " + std::to_string(it.nodes) + " nodes of " + it.name;
  }
  std::string operator()(const Shrink& it) const {
    return "shrink " + std::to_string(it.job) + " to " + joined(it.nodes, ",");
  }
  std::string operator()(const Grow& it) const {
    return "grow " + std::to_string(it.job) + " by " + it.node;
  }
  std::string operator()(const Join& it) const {
    return "join " + std::to_string(it.helper) + " with " + std::to_string(it.job);
  }
  std::string operator()(const Say& it) const {
    return "tell " + std::to_string(it.job) + ": " + it.comment;
  }
};

}  // namespace

std::uint32_t job_of(const Action& action) {
  return std::visit([](const auto& one) { return one.job; }, action);
}

std::string to_text(const Action& action) {
  return std::visit(ToText(), action);
}

}  // namespace pinion::slurm
