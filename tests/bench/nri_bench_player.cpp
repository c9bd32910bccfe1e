#include "tests/bench/nri_bench_player.h"

#include <algorithm>
#include <utility>

#include "tests/support/fake_runtime/samples.h"

namespace pinion::bench {
namespace {

using topology::CpuSet;

constexpr std::size_t kShownViolations = 5;
constexpr std::uint32_t kFirstPid = 1'000'000'000;  // beyond the kernel's: no process has it

// Every third container is exclusive; its CPUs go round from 1 to 8.
int exclusive_cpus(int kind) {
  return kind % 3 == 0 ? 1 + kind % Player::kKinds / 3 : 0;
}

std::string qos(int kind) {
  if (kind % 3 == 0) return "guaranteed";
  return kind % 3 == 1 ? "burstable" : "besteffort";
}

}  // namespace

void Tally::add(const Tally& later) {
  lives += later.lives;
  creates.insert(creates.end(), later.creates.begin(), later.creates.end());
  stops.insert(stops.end(), later.stops.begin(), later.stops.end());
  cpu_ms += later.cpu_ms;
  memory = later.memory;
}

Player::Player(BenchRuntime runtime, PluginProcess process, Role role, int cpus)
    : runtime_(std::move(runtime)),
      process_(std::move(process)),
      role_(role),
      all_(CpuSet::range(0, cpus - 1)) {}

int Player::exclusive() const {
  int count = 0;
  for (const auto& [id, member] : members_) count += member.exclusive_cpus > 0 ? 1 : 0;
  return count;
}

Status Player::begin() {
  const auto done = runtime_.take_in({});
  if (!done) return failure(done.error());
  return {};
}

Status Player::grow_to(int standing) {
  while (this->standing() < standing) {
    const int number = this->standing();
    int kind = number;
    const int cores = exclusive_cpus(kind) + exclusive_cpus(kind) % 2;
    if (cores > 0 && taken_ + cores > all_.count() * 3 / 4) kind = number % 2 == 0 ? 1 : 2;
    taken_ += exclusive_cpus(kind) + exclusive_cpus(kind) % 2;
    std::string id;
    if (auto started = start(next_pod_++, kind, nullptr, id); !started) return started;
    if (id.empty()) return failure(Errc::kInvalid, "standing container refused: " + last_refusal_);
  }
  return {};
}

Status Player::live(int lives, Tally& tally) {
  const double before = process_.cpu_ms();
  for (int i = 0; i < lives; ++i) {
    std::string id;
    const int kind = tally.lives++;
    if (auto started = start(next_pod_++, kind, &tally.creates, id); !started) return started;
    if (id.empty()) continue;
    if (auto stopped = stop(id, &tally.stops); !stopped) return stopped;
  }
  tally.cpu_ms += process_.cpu_ms() - before;
  tally.memory = process_.memory();
  return {};
}

Status Player::start(int pod_number, int kind, std::vector<Sample>* samples, std::string& id) {
  Member member;
  member.exclusive_cpus = exclusive_cpus(kind);
  // By default a container gets whole cores, and an odd number of CPUs is refused.
  std::map<std::string, std::string> annotations;
  if (member.exclusive_cpus % 2 == 1) annotations["pinion.dev/smt"] = "pack";
  member.pod = test_support::make_pod(
      {.number = pod_number, .qos = qos(kind), .annotations = std::move(annotations)});
  member.container = test_support::make_container(
      {.pod = pod_number, .qos = qos(kind), .cpus = std::max(member.exclusive_cpus, 1)});
  if (auto told = tell(wire::RUN_POD_SANDBOX, member, true); !told) return told;
  bool accepted = true;
  const auto sample = create(member, accepted);
  if (!sample) return failure(sample.error());
  if (samples != nullptr) samples->push_back(*sample);
  if (!accepted) return {};
  id = member.container.id();
  member.container.set_state(wire::CONTAINER_CREATED);
  if (auto told = tell(wire::POST_CREATE_CONTAINER, member, false); !told) return told;
  member.container.set_pid(kFirstPid + static_cast<std::uint32_t>(pod_number));
  if (auto told = tell(wire::START_CONTAINER, member, false); !told) return told;
  member.container.set_state(wire::CONTAINER_RUNNING);
  auto told = tell(wire::POST_START_CONTAINER, member, false);
  Member& kept = members_.at(id);
  kept.container = std::move(member.container);
  return told;
}

Result<Sample> Player::create(Member& member, bool& accepted) {
  wire::CreateContainerRequest request;
  *request.mutable_pod() = member.pod;
  *request.mutable_container() = member.container;
  const auto answered = runtime_.call("CreateContainer", request);
  if (!answered) return failure(answered.error());
  Sample sample{.ms = answered->ms, .bytes = answered->result.payload.size(), .updates = 0};
  accepted = answered->result.code == 0;
  if (!accepted) {
    ++refused_;
    last_refusal_ = answered->result.text;
    return sample;
  }
  wire::CreateContainerResponse response;
  if (!response.ParseFromString(answered->result.payload)) {
    return failure(Errc::kInvalid, "CreateContainer: the answer cannot be read");
  }
  sample.updates = static_cast<std::size_t>(response.update_size());
  Member& kept = members_[member.container.id()] = member;
  if (role_ == Role::kFloor) {
    if (sample.bytes != 0) violation("a floor answered something");
    return sample;
  }
  take(kept, response.adjust().linux().resources().cpu());
  member.container = kept.container;  // the runtime's record holds what it was told
  apply(response.update());
  check();
  return sample;
}

Status Player::stop(const std::string& id, std::vector<Sample>* samples) {
  const auto found = members_.find(id);
  Member member = std::move(found->second);
  members_.erase(found);
  member.container.set_state(wire::CONTAINER_STOPPED);
  wire::StopContainerRequest request;
  *request.mutable_pod() = member.pod;
  *request.mutable_container() = member.container;
  const auto answered = runtime_.call("StopContainer", request);
  if (!answered) return failure(answered.error());
  wire::StopContainerResponse response;
  if (answered->result.code != 0 || !response.ParseFromString(answered->result.payload)) {
    return failure(Errc::kInvalid, "StopContainer: " + answered->result.text);
  }
  const auto updates = static_cast<std::size_t>(response.update_size());
  if (samples != nullptr) {
    samples->push_back(
        {.ms = answered->ms, .bytes = answered->result.payload.size(), .updates = updates});
  }
  apply(response.update());
  if (role_ == Role::kPins) check();
  if (auto told = tell(wire::REMOVE_CONTAINER, member, false); !told) return told;
  if (auto told = tell(wire::STOP_POD_SANDBOX, member, true); !told) return told;
  return tell(wire::REMOVE_POD_SANDBOX, member, true);
}

Status Player::tell(wire::Event event, const Member& member, bool about_pod) {
  if (!runtime_.wants(event)) return {};
  wire::StateChangeEvent change;
  change.set_event(event);
  *change.mutable_pod() = member.pod;
  if (!about_pod) *change.mutable_container() = member.container;
  const auto answered = runtime_.call("StateChange", change);
  if (!answered) return failure(answered.error());
  if (answered->result.code != 0) violation("StateChange failed: " + answered->result.text);
  return {};
}

Result<Synchronized> Player::drop() {
  wire::SynchronizeRequest request;
  for (const auto& [id, member] : members_) {
    *request.add_pods() = member.pod;
    *request.add_containers() = member.container;
  }
  auto done = runtime_.take_in(request);
  if (!done) return done;
  std::map<std::string, CpuSet> before;
  for (const auto& [id, member] : members_) {
    if (member.exclusive_cpus > 0) before[id] = member.cpus;
  }
  apply(done->response.update());
  for (const auto& [id, cpus] : before) {
    if (members_.at(id).cpus != cpus) violation("Synchronize moved an exclusive container");
  }
  if (role_ == Role::kPins) check();
  return done;
}

Status Player::end() {
  while (!members_.empty()) {
    const std::string id = members_.begin()->first;
    if (auto stopped = stop(id, nullptr); !stopped) return stopped;
  }
  return process_.end();
}

template <class Updates>
void Player::apply(const Updates& updates) {
  for (const wire::ContainerUpdate& update : updates) {
    const auto found = members_.find(update.container_id());
    if (found == members_.end()) {
      violation("an update for a container that does not exist");
      continue;
    }
    take(found->second, update.linux().resources().cpu());
  }
}

void Player::take(Member& member, const wire::LinuxCPU& told) {
  const auto cpus = CpuSet::parse(told.cpus());
  if (!cpus || cpus->empty() || !cpus->is_subset_of(all_)) {
    violation("'" + told.cpus() + "' told as the CPUs of " + member.container.id());
    return;
  }
  member.cpus = *cpus;
  wire::LinuxCPU& record = *member.container.mutable_linux()->mutable_resources()->mutable_cpu();
  record.set_cpus(told.cpus());
  if (!told.mems().empty()) record.set_mems(told.mems());  // empty: no change
}

// Nobody shares a CPU with an exclusive container, and that has what it asked for.
void Player::check() {
  CpuSet taken;
  for (const auto& [id, member] : members_) {
    if (member.exclusive_cpus == 0) continue;
    if (member.cpus.intersects(taken)) violation("exclusive containers overlap");
    if (member.cpus.count() < member.exclusive_cpus) violation("fewer CPUs than asked for");
    taken |= member.cpus;
  }
  for (const auto& [id, member] : members_) {
    if (member.exclusive_cpus == 0 && member.cpus.intersects(taken)) {
      violation("a shared container may use exclusive CPUs: " + member.cpus.to_string());
    }
  }
}

void Player::violation(const std::string& text) {
  if (violations_.size() < kShownViolations) violations_.push_back(text);
}

}  // namespace pinion::bench
