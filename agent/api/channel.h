// A gRPC channel to an agent.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "agent/api/client.h"
#include "agent/api/listen.h"
#include "base/error.h"

namespace pinion::agent::api {

// Nothing is connected yet. Errors: kInvalid for TCP without TLS files, and as read_tls.
Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint,
                                                    const ClientOptions& options);

}  // namespace pinion::agent::api
