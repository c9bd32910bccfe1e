// Between the runtime's messages and the engine's values. No state, no I/O.
#pragma once

#include <optional>
#include <string_view>

#include "agent/engine/events.h"
#include "base/error.h"
#include "nri-plugin/handler.h"

namespace pinion::agent {

namespace wire = pinion::nri::wire;

// --- the runtime's messages. Names and annotations, which anybody may write, are cleaned here;
// annotations of others than Pinion are left out.

// A container with more devices than this has all of the host's (it is privileged), which says
// nothing of where it should be: none is told.
inline constexpr int kMostDevices = 64;

[[nodiscard]] engine::Pod to_pod(const wire::PodSandbox& pod);
[[nodiscard]] engine::Container to_container(const wire::Container& container);
[[nodiscard]] engine::Resources to_resources(const wire::LinuxResources& resources);

// Errors of all three: kInvalid when the request names no container.
Result<engine::Event> to_event(const wire::CreateContainerRequest& request);
Result<engine::Event> to_event(const wire::UpdateContainerRequest& request);
Result<engine::Event> to_event(const wire::StopContainerRequest& request);

// An event without an answer; nothing for those that Pinion does not subscribe to and for numbers
// that a newer protocol may have.
// Errors: kInvalid when the event is about a container (a pod) and names none.
Result<std::optional<engine::Event>> to_event(wire::Event event, const wire::PodSandbox& pod,
                                              const wire::Container& container);

// Bit n-1 for each event numbered n that to_event() knows.
[[nodiscard]] std::int32_t subscribed_events();

// --- the engine's replies

// Each gives how many entries of Reply::updates went into the message, and how many did not: empty
// ones (to the runtime an empty cpuset reads "no change"), further ones for the same container, and
// ones for a container that is being created. The last two make the runtime fail the whole request.

// The `id` is the container that the request was about. Only cpus and mems are set, and the quota
// of the container itself where the engine says so, so the runtime keeps the shares and memory
// limit that were asked for.
nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::CreateContainerResponse& response);
// The container's own cpuset becomes an entry of update[], which the runtime merges over the
// requested resources.
nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::UpdateContainerResponse& response);
nri::UpdateCount fill(const engine::Reply& reply, std::string_view id,
                      wire::StopContainerResponse& response);
nri::UpdateCount fill(const engine::Reply& reply, wire::SynchronizeResponse& response);

}  // namespace pinion::agent
