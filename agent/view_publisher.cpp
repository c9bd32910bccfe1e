#include "agent/view_publisher.h"

#include <algorithm>

namespace pinion::agent {
namespace {

constexpr std::chrono::milliseconds kLeastPause{20};

// Of shared containers, what partitions and QoS groups leave them.
ContainerView view_of(const engine::Engine& engine, const engine::Member& member,
                      const topology::CpuSet& pool, const topology::CpuSet& guarded) {
  ContainerView view;
  view.id = member.id;
  view.claim = member.claim;
  view.name = member.name;
  view.pod = member.pod_name;
  view.name_space = member.name_space;
  view.pod_uid = member.pod_uid;
  view.cgroups_path = member.cgroups_path;
  view.pid = member.pid;
  view.qos = member.qos;
  view.exclusive = member.role == engine::Role::kExclusive;
  view.started = member.started();
  view.seen_start = member.life == engine::Life::kStarted;
  view.decided = engine::target(engine.state(), member, pool);
  view.told = member.told;
  view.applied = member.applied;
  const engine::Loan loan = engine::loan_of(engine.state(), member);
  view.not_lent = loan.why;
  if (loan.borrower != nullptr) {
    view.lent = member.own.cpus;
    view.lent_to = loan.borrower->pod_name + "/" + loan.borrower->name;
  }
  view.borrowed = engine::borrowed(engine.state(), member);
  view.with_pod = engine::runs_with_pod(engine.state(), member);
  if (!view.exclusive) {
    const topology::CpuSet kept_off = engine.kept_off(member, guarded);
    view.decided.cpus -= kept_off;
    if (view.applied) view.applied->cpus -= kept_off;
  }
  view.job = member.labels.job;
  view.task_group = member.labels.task_group;
  view.profile = member.labels.profile;
  if (view.exclusive) view.why = topology::to_string(member.why);
  if (member.role == engine::Role::kShared) view.why = member.shared_why;
  view.trouble = member.trouble;
  return view;
}

ContainerView view_of(const engine::PodRecord& pod, const std::string& name,
                      const engine::Kept& kept) {
  ContainerView view;
  view.id = view.claim = kept.request.id;
  view.name = name;
  view.pod = pod.name;
  view.name_space = pod.name_space;
  view.pod_uid = pod.uid;
  view.qos = engine::Qos::kGuaranteed;
  view.exclusive = true;
  view.decided = kept.own;
  view.job = kept.request.job;
  view.task_group = kept.request.task_group;
  view.profile = kept.request.profile;
  view.why = name.empty() ? "kept for containers of its pod that are to come"
                          : "kept by its pod until the container comes again";
  return view;
}

}  // namespace

NodeView make_view(const Node& node, const nri::Connection& connection,
                   std::shared_ptr<const topology::Topology> topology) {
  const engine::Engine& engine = node.engine();
  const engine::State& state = engine.state();
  NodeView view;
  view.topology = std::move(topology);
  view.ledger = state.ledger;
  view.privileges = engine.defaults().privileges;
  view.shared = state.shared();
  const topology::CpuSet guarded = engine.guarded();
  const topology::CpuSet pool = engine.pool();
  view.pool = pool - guarded;
  view.fence = engine.fence_name();
  view.compares_files = node.compares_files();
  view.was_synchronized = node.synchronized();
  view.synchronized = view.was_synchronized && connection.phase() == nri::Phase::kSynchronized;
  std::size_t shown = state.members.size();
  for (const auto& [id, record] : state.pods) shown += record.kept().size();
  view.containers.reserve(shown);  // a vector that grows by one would take twice as much
  for (const auto& [id, member] : state.members) {
    view.containers.push_back(view_of(engine, member, pool, guarded));
  }
  for (const auto& [id, record] : state.pods) {
    for (const auto& [name, kept] : record.kept()) {
      view.containers.push_back(view_of(record, name, kept));
    }
  }
  std::sort(view.containers.begin(), view.containers.end(),
            [](const ContainerView& a, const ContainerView& b) { return a.id < b.id; });
  view.refusals.assign(node.refusals().begin(), node.refusals().end());
  view.counters = engine.counters();
  view.nri = connection.counters();
  if (const auto& runtime = connection.runtime()) {
    view.runtime_name = runtime->name;
    view.runtime_version = runtime->version;
  }
  const auto phase = connection.phase();
  view.phase = phase ? nri::to_string(*phase) : "disconnected";
  return view;
}

ViewPublisher::ViewPublisher(const Node& node, Published<NodeView>& views, bool fence_weakened)
    : views_(views),
      topology_(std::make_shared<const topology::Topology>(node.engine().state().topology)),
      fence_weakened_(fence_weakened) {}

void ViewPublisher::consider(TimePoint now, const Node& node, const nri::Connection& connection) {
  const auto phase = connection.phase();
  if (generation_ > 0 && version_ == node.version() && phase_ == phase) {
    due_.reset();
    return;
  }
  if (now < next_) {
    due_ = next_;
    return;
  }
  publish(now, node, connection);
}

void ViewPublisher::publish(TimePoint now, const Node& node, const nri::Connection& connection) {
  if (const auto changes = node.engine().counters().machine_changes; changes != machine_changes_) {
    topology_ = std::make_shared<const topology::Topology>(node.engine().state().topology);
    machine_changes_ = changes;
  }
  NodeView view = make_view(node, connection, topology_);
  view.fence_weakened = fence_weakened_;
  view.generation = ++generation_;
  shown_synchronized_ = view.synchronized;
  views_.publish(std::make_shared<const NodeView>(std::move(view)));
  version_ = node.version();
  phase_ = connection.phase();
  next_ = now + kLeastPause;
  due_.reset();
}

}  // namespace pinion::agent
