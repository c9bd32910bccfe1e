#include "agent/nri/engine_handler.h"

#include <utility>

#include "agent/nri/translate.h"

namespace pinion::agent {
namespace {

using nri::Outcome;

Outcome refused(const engine::Reply& reply) {
  return {.kind = Outcome::Kind::kRefused,
          .text = *reply.refusal,
          .updates = {.sent = 0, .dropped = reply.updates.size()}};
}

Outcome invalid(const Error& error) {
  return {.kind = Outcome::Kind::kInvalid, .text = error.text};
}

// What the calls about one container have in common.
template <class Request, class Response>
Outcome answer(EngineHandler& handler, const Request& request, Response& response) {
  auto event = to_event(request);
  if (!event) return invalid(event.error());
  const engine::Reply reply = handler.handle(*std::move(event));
  if (reply.refusal) return refused(reply);
  return {.updates = fill(reply, request.container().id(), response)};
}

}  // namespace

std::int32_t EngineHandler::events() const {
  return subscribed_events();
}

std::size_t EngineHandler::list_pod(const wire::PodSandbox& pod) {
  const engine::Pod& kept = listed_.pods.emplace_back(to_pod(pod));
  std::size_t bytes = sizeof(kept) + kept.id.size() + kept.uid.size() + kept.name.size() +
                      kept.name_space.size() + kept.cgroup_parent.size();
  for (const auto& [key, value] : kept.annotations) bytes += key.size() + value.size();
  return bytes;
}

std::size_t EngineHandler::list_container(const wire::Container& container) {
  const engine::Container& kept = listed_.containers.emplace_back(to_container(container));
  return sizeof(kept) + kept.id.size() + kept.pod_id.size() + kept.name.size() +
         kept.cgroups_path.size() + kept.devices.size() * sizeof(engine::DeviceNumber);
}

void EngineHandler::forget_listed() {
  listed_ = {};
}

Outcome EngineHandler::synchronize(wire::SynchronizeResponse& response) {
  const engine::Reply reply = handle(std::exchange(listed_, {}));
  if (reply.refusal) return refused(reply);
  return {.updates = fill(reply, response)};
}

Outcome EngineHandler::create_container(const wire::CreateContainerRequest& request,
                                        wire::CreateContainerResponse& response) {
  return answer(*this, request, response);
}

Outcome EngineHandler::update_container(const wire::UpdateContainerRequest& request,
                                        wire::UpdateContainerResponse& response) {
  return answer(*this, request, response);
}

Outcome EngineHandler::stop_container(const wire::StopContainerRequest& request,
                                      wire::StopContainerResponse& response) {
  return answer(*this, request, response);
}

Outcome EngineHandler::tell(wire::Event event, const wire::PodSandbox& pod,
                            const wire::Container& container) {
  auto translated = to_event(event, pod, container);
  if (!translated) return invalid(translated.error());
  if (!*translated) return {.kind = Outcome::Kind::kIgnored};
  const engine::Reply reply = handle(**std::move(translated));
  if (reply.refusal) return refused(reply);
  return {.updates = {.sent = 0, .dropped = reply.updates.size()}};
}

}  // namespace pinion::agent
