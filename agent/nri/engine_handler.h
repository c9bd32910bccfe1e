// Brings what a runtime says to the engine and the engine's replies back: the messages of NRI on
// one side, the engine's values on the other.
#pragma once

#include "agent/engine/events.h"
#include "nri-plugin/handler.h"

namespace pinion::agent {

class EngineHandler : public nri::Handler {
 public:
  // One event, and what is to be answered. Called for every message that makes sense.
  virtual engine::Reply handle(engine::Event event) = 0;

  // nri::Handler
  [[nodiscard]] std::int32_t events() const final;
  std::size_t list_pod(const nri::wire::PodSandbox& pod) final;
  std::size_t list_container(const nri::wire::Container& container) final;
  void forget_listed() final;
  nri::Outcome synchronize(nri::wire::SynchronizeResponse& response) final;
  nri::Outcome create_container(const nri::wire::CreateContainerRequest& request,
                                nri::wire::CreateContainerResponse& response) final;
  nri::Outcome update_container(const nri::wire::UpdateContainerRequest& request,
                                nri::wire::UpdateContainerResponse& response) final;
  nri::Outcome stop_container(const nri::wire::StopContainerRequest& request,
                              nri::wire::StopContainerResponse& response) final;
  nri::Outcome tell(nri::wire::Event event, const nri::wire::PodSandbox& pod,
                    const nri::wire::Container& container) final;

 private:
  engine::Synchronize listed_;  // of a Synchronize that is not complete
};

}  // namespace pinion::agent
