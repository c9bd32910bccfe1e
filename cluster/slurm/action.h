// What can be done for a job: calls of Slurm and of the API server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/slurm/mark.h"
#include "cluster/slurm/node_count.h"
#include "cluster/slurm/placeholder.h"
#include "cluster/slurm/shape.h"

namespace pinion::slurm {

// Of what is done for `job`: an action that fails must stop those of the same job behind it.
struct Create {
  std::uint32_t job = 0;
  Placeholder pod;  // name, job, attempt, index, size, cpus, partition, list
  Shape shape;
  // That it may go to, in Slurm's words, sorted; all of a job's share it.
  std::shared_ptr<const std::vector<std::string>> nodes = {};
  // The placeholder's `list` stands for them.
  bool operator==(const Create& other) const {
    return job == other.job && pod == other.pod && shape == other.shape;
  }
};
struct Delete {
  std::uint32_t job = 0;
  std::string name;
  std::string uid;
  bool operator==(const Delete&) const = default;
};
// Pins the job and lets it go.
struct Place {
  std::uint32_t job = 0;
  std::vector<std::string> nodes;
  int cpus = 1;          // on each
  bool at_once = false;  // Slurm would make it wait after its requeue
  Mark mark;
  std::optional<std::string> comment;  // that it gets
  bool operator==(const Place&) const = default;
};
// Not to be started, and pinned to no node.
struct Hold {
  std::uint32_t job = 0;
  Mark mark;
  std::optional<std::string> comment;
  bool operator==(const Hold&) const = default;
};
// Ends it, to be run again later; or for good.
struct Requeue {
  std::uint32_t job = 0;
  std::string why;
  bool operator==(const Requeue&) const = default;
};
struct Cancel {
  std::uint32_t job = 0;
  std::string comment;
  bool operator==(const Cancel&) const = default;
};
struct Say {
  std::uint32_t job = 0;
  std::string comment;
  bool operator==(const Say&) const = default;
};
// Makes a job of its own of an array's element.
struct Split {
  std::uint32_t job = 0;  // the array's
  int element = 0;
  Mark mark;
  bool operator==(const Split&) const = default;
};
// Asks the extender for a number of nodes.
struct Ask {
  std::uint32_t job = 0;
  std::string name;
  std::string attempt;
  Shape shape;
  int most = 1;           // nodes; shape.nodes at least
  bool moldable = false;  // the number is chosen once
  std::map<std::string, std::string> wishes = {};
  bool operator==(const Ask&) const = default;
};
// Asks for it no more.
struct Unask {
  std::uint32_t job = 0;
  std::string name;
  std::string uid;
  bool operator==(const Unask&) const = default;
};
// Tells the extender what there is.
struct Report {
  std::uint32_t job = 0;
  std::string name;
  NodeCount::Told told;
  bool operator==(const Report&) const = default;
};
// Tells the extender that the job has so many nodes, or keeps so many.
struct Acknowledge {
  std::uint32_t job = 0;
  std::string name;
  std::string version;
  int nodes = 1;
  bool operator==(const Acknowledge&) const = default;
};
// Leaves all nodes but these.
struct Shrink {
  std::uint32_t job = 0;
  std::vector<std::string> nodes;
  Acknowledge declined;  // where Slurm refuses it
  bool operator==(const Shrink&) const = default;
};
// Starts a job of ours on this node, by which it grows.
struct Grow {
  std::uint32_t job = 0;
  std::string node;
  int cpus = 1;
  Mark mark;
  bool operator==(const Grow&) const = default;
};
// That job gives it the node.
struct Join {
  std::uint32_t job = 0;
  std::uint32_t helper = 0;
  bool operator==(const Join&) const = default;
};
using Action = std::variant<Hold, Requeue, Cancel, Delete, Split, Create, Place, Say, Ask, Unask,
                            Report, Acknowledge, Shrink, Grow, Join>;

[[nodiscard]] std::uint32_t job_of(const Action& action);
// For the log: "place 12 on node-0,node-1".
[[nodiscard]] std::string to_text(const Action& action);

}  // namespace pinion::slurm
