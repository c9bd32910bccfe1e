#include "agent/nri/translate.h"

#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "policy/annotations.h"

namespace pinion::agent {
namespace {

using engine::ContainerEvent;
using engine::PodEvent;

constexpr std::array kPodEvents = {
    std::pair{wire::RUN_POD_SANDBOX, PodEvent::Kind::kRun},
    std::pair{wire::STOP_POD_SANDBOX, PodEvent::Kind::kStop},
    std::pair{wire::REMOVE_POD_SANDBOX, PodEvent::Kind::kRemove},
};
constexpr std::array kContainerEvents = {
    std::pair{wire::POST_CREATE_CONTAINER, ContainerEvent::Kind::kPostCreate},
    std::pair{wire::START_CONTAINER, ContainerEvent::Kind::kStart},
    std::pair{wire::POST_START_CONTAINER, ContainerEvent::Kind::kPostStart},
    std::pair{wire::POST_UPDATE_CONTAINER, ContainerEvent::Kind::kPostUpdate},
    std::pair{wire::REMOVE_CONTAINER, ContainerEvent::Kind::kRemove},
};
// These have methods of their own, with answers.
constexpr std::array kRequests = {wire::CREATE_CONTAINER, wire::UPDATE_CONTAINER,
                                  wire::STOP_CONTAINER};

engine::ContainerState to_state(wire::ContainerState state) {
  switch (state) {
    case wire::CONTAINER_CREATED:
      return engine::ContainerState::kCreated;
    case wire::CONTAINER_PAUSED:
      return engine::ContainerState::kPaused;
    case wire::CONTAINER_RUNNING:
      return engine::ContainerState::kRunning;
    case wire::CONTAINER_STOPPED:
      return engine::ContainerState::kStopped;
    default:
      return engine::ContainerState::kUnknown;
  }
}

tl::unexpected<Error> nameless(const char* what) {
  return failure(Errc::kInvalid, std::string("the request names no ") + what);
}

void fill_cpuset(const engine::Cpuset& cpuset, wire::LinuxCPU& cpu) {
  if (!cpuset.cpus.empty()) cpu.set_cpus(cpuset.cpus.to_string());
  if (!cpuset.mems.empty()) cpu.set_mems(cpuset.mems.to_string());
}

bool is_empty(const engine::Cpuset& cpuset) {
  return cpuset.cpus.empty() && cpuset.mems.empty();
}

void fill_quota(const engine::Reply& reply, wire::LinuxCPU& cpu) {
  if (reply.own_quota) cpu.mutable_quota()->set_value(*reply.own_quota);
}

template <class Response>
wire::ContainerUpdate* add_update(std::string_view id, const engine::Cpuset& cpuset,
                                  Response& response) {
  wire::ContainerUpdate* update = response.add_update();
  update->set_container_id(id.data(), id.size());
  fill_cpuset(cpuset, *update->mutable_linux()->mutable_resources()->mutable_cpu());
  return update;
}

// All entries but those for `except`.
template <class Response>
nri::UpdateCount add_updates(const engine::Reply& reply, std::string_view except,
                             Response& response) {
  nri::UpdateCount count;
  std::set<std::string_view> told;
  for (const engine::CpusetUpdate& update : reply.updates) {
    const bool usable = !update.id.empty() && update.id != except && !is_empty(update.cpuset);
    if (!usable || !told.insert(update.id).second) {
      ++count.dropped;
      continue;
    }
    add_update(update.id, update.cpuset, response);
    ++count.sent;
  }
  return count;
}

// Of a device's type and numbers; nothing for what is none, as a pipe.
std::optional<engine::DeviceNumber> to_device(const wire::LinuxDevice& device) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  const bool block = device.type() == "b";
  if (!block && device.type() != "c" && device.type() != "u") return std::nullopt;
  if (device.major() < 0 || device.major() > most) return std::nullopt;
  if (device.minor() < 0 || device.minor() > most) return std::nullopt;
  using Kind = engine::DeviceNumber::Kind;
  return engine::DeviceNumber{.kind = block ? Kind::kBlock : Kind::kChar,
                              .major = static_cast<std::uint32_t>(device.major()),
                              .minor = static_cast<std::uint32_t>(device.minor())};
}

std::vector<engine::DeviceNumber> to_devices(const wire::LinuxContainer& container) {
  std::vector<engine::DeviceNumber> devices;
  if (container.devices_size() > kMostDevices) return devices;
  for (const wire::LinuxDevice& device : container.devices()) {
    if (const auto number = to_device(device)) devices.push_back(*number);
  }
  return devices;
}

}  // namespace

engine::Resources to_resources(const wire::LinuxResources& resources) {
  engine::Resources out;
  const wire::LinuxCPU& cpu = resources.cpu();
  if (cpu.has_shares()) out.shares = cpu.shares().value();
  if (cpu.has_quota()) out.quota = cpu.quota().value();
  if (cpu.has_period()) out.period = cpu.period().value();
  if (resources.memory().has_limit()) out.memory = resources.memory().limit().value();
  out.cpus = cpu.cpus();
  out.mems = cpu.mems();
  return out;
}

engine::Pod to_pod(const wire::PodSandbox& pod) {
  engine::Pod out{.id = pod.id(),
                  .uid = pod.uid(),
                  .name = clean_text(pod.name()),
                  .name_space = clean_text(pod.namespace_()),
                  .annotations = {},
                  .cgroup_parent = pod.linux().cgroup_parent(),
                  .runtime_handler = clean_text(pod.runtime_handler()),
                  .resources = to_resources(pod.linux().pod_resources()),
                  .pid = pod.pid()};
  for (const auto& [key, value] : pod.annotations()) {
    if (!key.starts_with(annotation::kPrefix)) continue;  // nobody here reads those
    out.annotations.emplace(clean_text(key), clean_text(value));
  }
  return out;
}

engine::Container to_container(const wire::Container& container) {
  std::optional<std::int64_t> oom_score_adj;
  if (container.linux().has_oom_score_adj()) {
    oom_score_adj = container.linux().oom_score_adj().value();
  }
  return engine::Container{.id = container.id(),
                           .pod_id = container.pod_sandbox_id(),
                           .name = clean_text(container.name()),
                           .state = to_state(container.state()),
                           .resources = to_resources(container.linux().resources()),
                           .cgroups_path = container.linux().cgroups_path(),
                           .pid = container.pid(),
                           .devices = to_devices(container.linux()),
                           .oom_score_adj = oom_score_adj};
}

Result<engine::Event> to_event(const wire::CreateContainerRequest& request) {
  if (request.container().id().empty()) return nameless("container");
  return engine::CreateContainer{.pod = to_pod(request.pod()),
                                 .container = to_container(request.container())};
}

Result<engine::Event> to_event(const wire::UpdateContainerRequest& request) {
  if (request.container().id().empty()) return nameless("container");
  return engine::UpdateContainer{.pod = to_pod(request.pod()),
                                 .container = to_container(request.container()),
                                 .wanted = to_resources(request.linux_resources())};
}

Result<engine::Event> to_event(const wire::StopContainerRequest& request) {
  if (request.container().id().empty()) return nameless("container");
  return engine::StopContainer{.pod = to_pod(request.pod()),
                               .container = to_container(request.container())};
}

Result<std::optional<engine::Event>> to_event(wire::Event event, const wire::PodSandbox& pod,
                                              const wire::Container& container) {
  for (const auto& [number, kind] : kPodEvents) {
    if (number != event) continue;
    if (pod.id().empty()) return nameless("pod");
    return PodEvent{.kind = kind, .pod = to_pod(pod)};
  }
  for (const auto& [number, kind] : kContainerEvents) {
    if (number != event) continue;
    if (container.id().empty()) return nameless("container");
    return ContainerEvent{.kind = kind, .pod = to_pod(pod), .container = to_container(container)};
  }
  return std::nullopt;
}

std::int32_t subscribed_events() {
  std::uint32_t mask = 0;
  const auto subscribe = [&mask](int number) { mask |= 1U << (number - 1); };
  for (const auto& entry : kPodEvents) subscribe(entry.first);
  for (const auto& entry : kContainerEvents) subscribe(entry.first);
  for (const int number : kRequests) subscribe(number);
  return static_cast<std::int32_t>(mask);
}

nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::CreateContainerResponse& response) {
  if (reply.own && !is_empty(*reply.own)) {
    wire::LinuxResources* resources =
        response.mutable_adjust()->mutable_linux()->mutable_resources();
    fill_cpuset(*reply.own, *resources->mutable_cpu());
    fill_quota(reply, *resources->mutable_cpu());
  }
  return add_updates(reply, id, response);
}

nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::UpdateContainerResponse& response) {
  const bool own = reply.own && !is_empty(*reply.own);
  if (own) {
    wire::ContainerUpdate* update = add_update(id, *reply.own, response);
    fill_quota(reply, *update->mutable_linux()->mutable_resources()->mutable_cpu());
  }
  nri::UpdateCount count = add_updates(reply, own ? id : std::string_view(), response);
  if (own) ++count.sent;
  return count;
}

nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::StopContainerResponse& response) {
  return add_updates(reply, id, response);
}

nri::UpdateCount fill(const engine::Reply& reply, wire::SynchronizeResponse& response) {
  return add_updates(reply, {}, response);
}

}  // namespace pinion::agent
