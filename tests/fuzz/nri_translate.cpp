// Any protobuf message that a runtime could send, through translation and back: no crash, and never
// an empty cpuset in what goes out. The first byte picks the message.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/nri/translate.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::nri_translate {
using namespace pinion::agent;

namespace {

// Replies with what the runtime itself said, so that the fuzzer chooses the ids and the sets.
engine::Reply echo(const engine::Container& container) {
  engine::Cpuset cpuset;
  if (const auto cpus = topology::CpuSet::parse(container.resources.cpus)) cpuset.cpus = *cpus;
  if (const auto mems = topology::NodeSet::parse(container.resources.mems)) cpuset.mems = *mems;
  return engine::Reply{.refusal = {},
                       .own = cpuset,
                       .updates = {{.id = container.id, .cpuset = cpuset},
                                   {.id = container.name, .cpuset = cpuset},
                                   {.id = container.pod_id, .cpuset = cpuset}}};
}

template <class Updates>
void check_updates(const Updates& updates) {
  for (const auto& update : updates) {
    const auto& cpu = update.linux().resources().cpu();
    require(!update.container_id().empty());
    require(!cpu.cpus().empty() || !cpu.mems().empty());
  }
}

template <class Request, class Event, class Response>
void round_trip(std::string_view text) {
  Request request;
  if (!request.ParseFromArray(text.data(), static_cast<int>(text.size()))) return;
  const auto event = to_event(request);
  if (!event) return;
  const engine::Reply reply = echo(std::get<Event>(*event).container);
  Response response;
  const nri::UpdateCount count = fill(reply, request.container().id(), response);
  require(count.sent == static_cast<std::size_t>(response.update_size()));
  check_updates(response.update());
}

void state_change(std::string_view text) {
  wire::StateChangeEvent request;
  if (!request.ParseFromArray(text.data(), static_cast<int>(text.size()))) return;
  (void)to_event(request.event(), request.pod(), request.container());
}

void run(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (static_cast<unsigned char>(input[0]) % 4) {
    case 0:
      return round_trip<wire::CreateContainerRequest, engine::CreateContainer,
                        wire::CreateContainerResponse>(text);
    case 1:
      return round_trip<wire::UpdateContainerRequest, engine::UpdateContainer,
                        wire::UpdateContainerResponse>(text);
    case 2:
      return round_trip<wire::StopContainerRequest, engine::StopContainer,
                        wire::StopContainerResponse>(text);
    default:
      return state_change(text);
  }
}

}  // namespace

PINION_FUZZ_TARGET(nri_translate) {
  [[maybe_unused]] static auto* const silence = google::protobuf::SetLogHandler(nullptr);
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}

}  // namespace pinion::fuzz::nri_translate
