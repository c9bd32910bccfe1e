// The Node service of proto/pinion/v1: every call is answered from what is published, none waits
// for the engine.
#pragma once

#include <grpcpp/grpcpp.h>

#include "agent/api/figures.h"
#include "agent/api/pictures.h"
#include "agent/api/watchers.h"
#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::agent::api {

class NodeService final : public v1::Node::CallbackService {
 public:
  // All must live longer than the gRPC server that has this service.
  NodeService(Pictures& pictures, Watchers& watchers, ApiFigures& figures)
      : pictures_(pictures), watchers_(watchers), figures_(figures) {}

  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context,
                                    const v1::GetNodeRequest* request,
                                    v1::GetNodeResponse* response) override;
  grpc::ServerUnaryReactor* ListContainers(grpc::CallbackServerContext* context,
                                           const v1::ListContainersRequest* request,
                                           v1::ListContainersResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchNodeResponse>* WatchNode(
      grpc::CallbackServerContext* context, const v1::WatchNodeRequest* request) override;
  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext* context,
                                 const v1::PlanRequest* request,
                                 v1::PlanResponse* response) override;

 private:
  Pictures& pictures_;
  Watchers& watchers_;
  ApiFigures& figures_;
};

}  // namespace pinion::agent::api
