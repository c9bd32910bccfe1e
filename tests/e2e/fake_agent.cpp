#include "tests/e2e/fake_agent.h"

#include <stdexcept>
#include <utility>

namespace pinion::e2e {

namespace {

agent::ContainerView view_of(const engine::Engine& engine, const engine::Member& member) {
  agent::ContainerView view;
  view.id = member.id;
  view.claim = member.claim;
  view.name = member.name;
  view.pod = member.pod_name;
  view.name_space = member.name_space;
  view.pod_uid = member.pod_uid;
  view.qos = member.qos;
  view.exclusive = member.role == engine::Role::kExclusive;
  view.started = member.started();
  view.decided = engine.target_of(member);
  view.told = member.told;
  view.applied = member.applied;
  view.job = member.labels.job;
  view.task_group = member.labels.task_group;
  view.profile = member.labels.profile;
  return view;
}

}  // namespace

FakeAgent::FakeAgent(std::string node, std::shared_ptr<const topology::Topology> machine,
                     const engine::Settings& settings, AgentPlace place)
    : node_(std::move(node)),
      place_(std::move(place)),
      instance_(agent::api::new_instance()),
      machine_(std::move(machine)),
      driver_(*machine_, engine::FenceKind::kLeaf, settings) {}

Result<std::unique_ptr<FakeAgent>> FakeAgent::start(
    const std::string& node, std::shared_ptr<const topology::Topology> machine,
    const engine::Settings& settings, AgentPlace place) {
  std::unique_ptr<FakeAgent> agent(
      new FakeAgent(node, std::move(machine), settings, std::move(place)));
  (void)agent->driver_.engine.handle(engine::Synchronize{});
  agent->publish();
  if (Status served = agent->serve(); !served) return failure(served.error());
  return agent;
}

Status FakeAgent::serve() {
  agent::api::ApiOptions options;
  options.listen = address();
  options.tls = place_.tls;
  options.name = {.name = node_, .version = "fake", .instance = instance_};
  auto server = agent::api::ApiServer::start(options, views_, samples_);
  if (!server) return failure(server.error().within(node_));
  server_ = *std::move(server);
  return {};
}

void FakeAgent::cut() {
  if (server_) server_->stop(std::chrono::milliseconds(0));
  server_.reset();
}

std::optional<std::string> FakeAgent::run(const Unit& unit) {
  const test_support::Driver::Answer effects = driver_.create(unit);
  if (!effects.fatal.empty()) throw std::logic_error(node_ + ": " + effects.fatal);
  if (!effects.reply.refusal) {
    driver_.start(unit);
    driver_.drain();
  }
  publish();
  return effects.reply.refusal;
}

void FakeAgent::stop(const Unit& unit) {
  using Kind = engine::ContainerEvent::Kind;
  driver_.stop(unit);
  driver_.tell(unit, Kind::kRemove);
  driver_.pod_event(unit, engine::PodEvent::Kind::kStop);
  driver_.pod_event(unit, engine::PodEvent::Kind::kRemove);
  driver_.drain();
  publish();
}

void FakeAgent::publish() {
  const engine::State& state = this->state();
  agent::NodeView view;
  view.generation = ++generation_;
  view.topology = machine_;
  view.ledger = state.ledger;
  view.shared = state.shared();
  view.pool = driver_.engine.pool();
  view.fence = driver_.engine.fence_name();
  view.synchronized = true;
  for (const auto& [id, member] : state.members) {
    view.containers.push_back(view_of(driver_.engine, member));
  }
  view.counters = driver_.engine.counters();
  view.phase = "synchronized";
  views_.publish(std::make_shared<const agent::NodeView>(std::move(view)));
}

}  // namespace pinion::e2e
