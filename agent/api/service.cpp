#include "agent/api/service.h"

#include "agent/api/plan.h"

namespace pinion::agent::api {
namespace {

grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext& context, grpc::Status status) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(std::move(status));
  return reactor;
}

// Between the start and the first view, a fraction of a second.
grpc::Status too_early() {
  return {grpc::StatusCode::UNAVAILABLE, "the agent is starting"};
}

}  // namespace

grpc::ServerUnaryReactor* NodeService::GetNode(grpc::CallbackServerContext* context,
                                               const v1::GetNodeRequest* /*request*/,
                                               v1::GetNodeResponse* response) {
  ++figures_.calls;
  const auto picture = pictures_.newest();
  if (!picture) return answer(*context, too_early());
  *response->mutable_node() = picture->node;
  return answer(*context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* NodeService::ListContainers(grpc::CallbackServerContext* context,
                                                      const v1::ListContainersRequest* /*request*/,
                                                      v1::ListContainersResponse* response) {
  ++figures_.calls;
  const auto picture = pictures_.newest();
  if (!picture) return answer(*context, too_early());
  response->set_generation(picture->node.generation());
  for (const auto& record : picture->containers) {
    *response->add_containers() = message_of(*record);
  }
  return answer(*context, grpc::Status::OK);
}

grpc::ServerWriteReactor<v1::WatchNodeResponse>* NodeService::WatchNode(
    grpc::CallbackServerContext* context, const v1::WatchNodeRequest* request) {
  ++figures_.calls;
  return watchers_.watch(*context, *request);
}

grpc::ServerUnaryReactor* NodeService::Plan(grpc::CallbackServerContext* context,
                                            const v1::PlanRequest* request,
                                            v1::PlanResponse* response) {
  ++figures_.calls;
  const auto requests = requests_of(*request);
  if (!requests) {
    return answer(*context, {grpc::StatusCode::INVALID_ARGUMENT, requests.error().text});
  }
  const auto view = pictures_.view();
  if (!view) return answer(*context, too_early());
  *response = response_of(*view, *requests, dry_run(*view, *requests));
  return answer(*context, grpc::Status::OK);
}

}  // namespace pinion::agent::api
