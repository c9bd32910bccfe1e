// What is to be done, from what Slurm and the API server say now. Nothing else is remembered: who
// does half of it and starts anew goes on from there.
//
// A job of ours is held from its submission on, then:
//
//   held, no placeholders       -> they are made, all of them, for nodes where Slurm can start it
//   held, all of them run       -> the job is pinned to their nodes, and released
//   held, too few nodes left    -> its placeholders are deleted
//   released, and lacks some    -> held again
//   runs, and lacks one         -> requeued and held, or cancelled where it cannot run again
//   over, requeued or cancelled -> its placeholders are deleted
//
// A job that may have more nodes or fewer gets a NodeCount first, and then as many placeholders as
// that says. While it runs:
//
//   fewer are wanted            -> it leaves nodes, they are deleted, the extender hears of it
//   more are wanted             -> they are made; as each runs, a job of ours gives it their node
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/slurm/job.h"
#include "cluster/slurm/mark.h"
#include "cluster/slurm/node.h"
#include "cluster/slurm/node_count.h"
#include "cluster/slurm/placeholder.h"
#include "cluster/slurm/shape.h"

namespace pinion::slurm {

struct Rules {
  std::string cluster = "slurm";  // begins the placeholders' names
  ShapeRules shape = {};
  // Jobs with placeholders that wait at one time, and of one user a quarter; the rest queue in
  // Slurm. Those that fit no node count by themselves, as they would keep all others out. None gets
  // placeholders while those that wait name 2,000,000 nodes: each names all that it may go to.
  int most_waiting = 100;
  std::int64_t start_limit_s = 120;  // from a job's release to its start, else it is placed anew
  std::int64_t retry_s = 30;         // pause after the second failed attempt; grows with each
  bool elastic = false;              // the extender may choose numbers of nodes
};

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

struct View {
  std::vector<Job> jobs;
  std::vector<Node> nodes;
  std::vector<Placeholder> placeholders;
  std::vector<NodeCount> counts = {};
  std::string keeps_size = {};       // why no job can change its size while it runs; empty: it can
  bool placeholders_current = true;  // false: the API server is not reached; nothing is placed
  std::int64_t now_s = 0;            // since 1970
};

// For a job of which the API server refuses a placeholder, by a quota or a policy. What it has is
// given back, so that jobs do not wait for each other's for ever; it is tried again later.
// Precondition: read_mark() knows the job.
[[nodiscard]] Hold given_up(const Rules& rules, const Job& job, const std::string& why,
                            std::int64_t now_s);

// For a job whose nodes Slurm refuses each time. It gives them back, and is placed anew after a
// pause that grows. Precondition: as given_up().
[[nodiscard]] Hold not_placed(const Rules& rules, const Job& job, const std::string& why,
                              std::int64_t now_s);

// In the order in which they are to be done: jobs in the order of their submission, then
// placeholders that no job has. No action is there twice.
[[nodiscard]] std::vector<Action> decide(const Rules& rules, const View& view);

}  // namespace pinion::slurm
