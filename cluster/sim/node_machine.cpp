#include "cluster/sim/node_machine.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "cluster/core/never_fits.h"

namespace pinion::sim {
namespace {

cluster::QueueOrder order_of(QueueRule rule) {
  if (rule == QueueRule::kFair) return cluster::QueueOrder::kFairShare;
  if (rule == QueueRule::kShortest) return cluster::QueueOrder::kShortest;
  return cluster::QueueOrder::kPriority;
}

cluster::SchedulerSettings settings_of(const NodeRules& rules) {
  cluster::SchedulerSettings settings;
  settings.placement = rules.placement;
  settings.service_placement = rules.services.value_or(rules.placement);
  settings.order = order_of(rules.queue);
  settings.backfill = backfills(rules.queue);
  settings.depth = rules.depth;
  settings.plan_steps = rules.search;
  // Nothing happens in it by time alone: the clock needs no events for it, see check().
  settings.retry_ms = 0;
  settings.keep_ms = cluster::kNeverDue;
  settings.confirm_ms = cluster::kNeverDue;
  return settings;
}

}  // namespace

NodeMachine::NodeMachine(const NodeRules& rules)
    : rules_(rules),
      scheduler_(settings_of(rules)),
      prefix_("s" + std::to_string(rules.seed) + "/") {}

Status NodeMachine::add(cluster::NodeReport node) {
  const std::string name = node.name;
  const auto reported = scheduler_.report(std::move(node), 0);
  if (!reported) return failure(reported.error());
  const cluster::NodeIndex index = fleet().find(name);
  const cluster::FleetNode& added = fleet().node(index);
  Taken taken;
  for (const topology::Node& numa : added.topology().nodes) {
    // What others have there from the start is not ours to give.
    const auto usable =
        numa.cpus - added.ledger.reserved() - added.topology().isolated - added.ledger.exclusive();
    taken.of_numa.push_back(usable.count());
    taken.by_numa.push_back(0);
    processors_ += usable.count();
    idle_ += usable.count();
  }
  taken_.resize(std::max(taken_.size(), static_cast<std::size_t>(index) + 1));
  taken_[static_cast<std::size_t>(index)] = std::move(taken);
  largest_ = largest_of(fleet());
  idle_fleet_.forget();
  return {};
}

cluster::JobId NodeMachine::id_of(Handle handle) const {
  return prefix_ + std::to_string(handle);
}

Handle NodeMachine::handle_of(const cluster::JobId& id) const {
  Handle handle = 0;
  std::from_chars(id.data() + prefix_.size(), id.data() + id.size(), handle);
  return handle;
}

std::string NodeMachine::member_of(const cluster::JobId& job, std::size_t worker) const {
  return job + "/" + std::to_string(worker);
}

std::string NodeMachine::never(const Job& job) {
  auto made = cut(job, rules_.shape, largest_, fleet());
  if (!made) return made.error().text;
  cut_ = std::move(*made);
  return never_cut(job);
}

// What cut_ is.
std::string NodeMachine::never_cut(const Job& job) {
  cluster::Gang gang;
  for (const topology::Request& request : cut_.requests) {
    gang.emplace_back(std::vector{request}, cluster::MemberTerms{.apart = job.apart});
    gang.back().id = std::to_string(gang.size());
  }
  const auto placement =
      job.service ? rules_.services.value_or(rules_.placement) : rules_.placement;
  const int nodes = cluster::limit_of_nodes(kept_nodes(job));
  const auto refusal = cluster::never_fits(idle_fleet_, gang, nodes, placement, rules_.seed);
  return refusal ? refusal->text : std::string();
}

void NodeMachine::submit(Handle handle, const Job& job, Ms now) {
  const cluster::JobId id = id_of(handle);
  cluster::JobSpec spec;
  spec.owner = {.name_space = job.user, .kind = "Job", .name = job.called()};
  spec.priority = knows_priority(rules_.queue) ? job.priority : 0;
  spec.size = static_cast<int>(cut_.requests.size());
  spec.task_groups = cut_.groups;
  spec.nodes = kept_nodes(job);
  spec.service = job.service;
  scheduler_.submit(id, std::move(spec), now);
  for (std::size_t worker = 0; worker < cut_.requests.size(); ++worker) {
    const std::string member = member_of(id, worker);
    cut_.requests[worker].id = member;
    scheduler_.join(id, member, {std::move(cut_.requests[worker])}, now,
                    {.apart = job.apart, .run_ms = std::max<Ms>(job.request, 1)});
  }
  // Another one may be the first now.
  if (knows_priority(rules_.queue)) freed_ = true;
  present_.emplace(handle, Present{.tasks = std::move(cut_.tasks), .pieces = {}});
  cut_ = {};
}

void NodeMachine::end(Handle handle, Ms now) {
  const auto found = present_.find(handle);
  for (const Piece& piece : found->second.pieces) take(piece, -1);
  present_.erase(found);
  scheduler_.end(id_of(handle), now);
  freed_ = true;
}

std::vector<Started> NodeMachine::pass(Ms now) {
  if (backfills(rules_.queue)) {
    scheduler_.run(now);
  } else {
    // Nobody but the first is asked for, so that a long queue costs nothing.
    for (std::string first = scheduler_.queue().first(); !first.empty() && freed_;
         first = scheduler_.queue().first()) {
      const auto answer = scheduler_.place(first, nullptr, now);
      const bool left = answer.never && !scheduler_.queue().contains(first);
      freed_ = answer.placed || left;
    }
  }
  std::vector<Started> started;
  for (const cluster::JobNews& news : scheduler_.take_news()) {
    if (news.kind == cluster::JobNews::Kind::kReserved) started.push_back(begin(news.job, now));
  }
  return started;
}

Started NodeMachine::begin(const cluster::JobId& id, Ms now) {
  Started started{.job = handle_of(id), .pieces = {}};
  Present& present = present_.at(started.job);
  for (std::size_t worker = 0; worker < present.tasks.size(); ++worker) {
    started.pieces.push_back(begin_worker(member_of(id, worker), present.tasks[worker], now));
  }
  present.pieces = started.pieces;
  return started;
}

Piece NodeMachine::begin_worker(const std::string& member, int tasks, Ms now) {
  scheduler_.start(member, now);
  scheduler_.started(member, true, now);
  const cluster::NodeIndex node = fleet().find(scheduler_.book().member(member)->node);
  const topology::Claim* claim = fleet().node(node).ledger.find(member);
  Piece piece{.node = node, .tasks = tasks, .cpus = claim->cpus};
  take(piece, 1);
  return piece;
}

int NodeMachine::Present::workers() const {
  return static_cast<int>(
      std::count_if(tasks.begin(), tasks.end(), [](int each) { return each > 0; }));
}

Status NodeMachine::cut_with(const Job& job, int workers) {
  auto made = job.elastic ? cut_elastic(job, workers, rules_.shape, largest_, fleet())
                          : cut(job, rules_.shape, largest_, fleet());
  if (!made) return failure(std::move(made.error()));
  cut_ = std::move(*made);
  return {};
}

std::string NodeMachine::never_with(const Job& job, int workers) {
  const Status good = cut_with(job, workers);
  return good ? never_cut(job) : good.error().text;
}

bool NodeMachine::start(Handle handle, const Job& job, int workers, Ms now) {
  if (!cut_with(job, workers)) return false;
  submit(handle, job, now);
  const cluster::JobId id = id_of(handle);
  const bool placed = scheduler_.place(id, nullptr, now).placed;
  if (placed) {
    begin(id, now);
  } else {
    end(handle, now);
  }
  scheduler_.take_news();
  return placed;
}

std::int64_t NodeMachine::room(const Job& job) {
  if (!cut_with(job, 1)) return 0;
  if (job.elastic) return fleet().room_at_most(cut_.requests.back());
  std::map<int, std::int64_t> room;  // for workers of so many CPUs
  std::int64_t tasks = 0;
  for (std::size_t worker = 0; worker < cut_.tasks.size(); ++worker) {
    const topology::Request& request = cut_.requests[worker];
    const auto left = room.try_emplace(request.cpus, -1).first;
    if (left->second < 0) left->second = fleet().room_at_most(request);
    if (left->second == 0) continue;
    --left->second;
    tasks += cut_.tasks[worker];
  }
  return tasks;
}

int NodeMachine::grow(Handle handle, const Job& job, int workers, Ms now) {
  Present& present = present_.at(handle);
  const auto one = cut_elastic(job, 1, rules_.shape, largest_, fleet());
  if (!one) return present.workers();
  const cluster::JobId id = id_of(handle);
  // As the extender asks: the plan then looks at where the job is already.
  std::vector<cluster::NodeIndex> all(static_cast<std::size_t>(fleet().size()));
  std::iota(all.begin(), all.end(), 0);
  while (present.workers() < workers) {
    const std::string member = member_of(id, present.tasks.size());
    topology::Request request = one->requests.back();
    request.id = member;
    scheduler_.join(id, member, {std::move(request)}, now, {.apart = job.apart});
    if (!scheduler_.place_member(member, &all, now).placed) {
      scheduler_.leave(member, now);
      break;
    }
    present.tasks.push_back(1);
    present.pieces.push_back(begin_worker(member, 1, now));
  }
  scheduler_.take_news();
  return present.workers();
}

void NodeMachine::shrink(Handle handle, int workers, Ms now) {
  Present& present = present_.at(handle);
  const cluster::JobId id = id_of(handle);
  cluster::JobSpec spec = scheduler_.book().find(id)->spec;
  while (present.workers() > workers) {
    take(present.pieces.back(), -1);
    present.pieces.pop_back();
    present.tasks.pop_back();
    scheduler_.leave(member_of(id, present.tasks.size()), now);
  }
  spec.size = static_cast<int>(present.tasks.size());
  scheduler_.submit(id, std::move(spec), now);
  scheduler_.take_news();
}

std::vector<std::int64_t> NodeMachine::frees_whole(Handle handle) const {
  const Present& present = present_.at(handle);
  std::vector<cluster::HeldCpus> leaving;
  for (auto piece = present.pieces.rbegin(); piece != present.pieces.rend(); ++piece) {
    if (piece->tasks > 0) leaving.push_back({.node = piece->node, .cpus = piece->cpus});
  }
  return cluster::whole_nodes_freed(fleet(), leaving);
}

void NodeMachine::take(const Piece& piece, int sign) {
  Taken& taken = taken_[static_cast<std::size_t>(piece.node)];
  const auto& numa_nodes = fleet().node(piece.node).topology().nodes;
  for (std::size_t numa = 0; numa < numa_nodes.size(); ++numa) {
    const int cpus = sign * piece.cpus.count_common(numa_nodes[numa].cpus);
    if (cpus == 0) continue;
    const auto broken = [&] {
      return taken.by_numa[numa] > 0 ? taken.of_numa[numa] - taken.by_numa[numa] : 0;
    };
    broken_ -= broken();
    taken.by_numa[numa] += cpus;
    broken_ += broken();
    idle_ -= cpus;
  }
}

double NodeMachine::fragmentation() const {
  return idle_ == 0 ? 0 : static_cast<double>(broken_) / static_cast<double>(idle_);
}

Status NodeMachine::check(Ms now) const {
  const auto fault = [&](const std::string& text) {
    return failure(Errc::kInternal, "at " + std::to_string(now) + " ms: " + text);
  };
  std::map<int, topology::CpuSet> taken;
  for (const auto& [handle, present] : present_) {
    for (std::size_t worker = 0; worker < present.pieces.size(); ++worker) {
      const Piece& piece = present.pieces[worker];
      const cluster::FleetNode& node = fleet().node(piece.node);
      const std::string name = "job " + std::to_string(handle) + " on " + node.name;
      if (piece.cpus.empty()) return fault(name + " has no CPUs");
      if (taken[piece.node].intersects(piece.cpus)) return fault(name + " shares a CPU");
      if (node.ledger.reserved().intersects(piece.cpus)) return fault(name + " has a reserved CPU");
      if (!piece.cpus.is_subset_of(node.topology().online)) return fault(name + " is offline");
      const auto* claim = node.ledger.find(member_of(id_of(handle), worker));
      if (claim == nullptr || !(claim->cpus == piece.cpus)) {
        return fault(name + " has other CPUs than the node's book says");
      }
      taken[piece.node] |= piece.cpus;
    }
  }
  std::int64_t running = 0;
  for (const auto& [node, cpus] : taken) running += cpus.count();
  std::int64_t counted = 0;
  for (const Taken& node : taken_) {
    for (const int cpus : node.by_numa) counted += cpus;
  }
  if (counted != running) return fault("as many CPUs are not counted as taken as jobs have");
  if (counted + idle_ != processors_) return fault("taken and idle CPUs are not all");
  if (scheduler_.next_ms()) return fault("the scheduler waits for a time that nobody tells it");
  return {};
}

}  // namespace pinion::sim
