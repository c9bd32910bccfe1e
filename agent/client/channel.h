// A gRPC channel to an agent.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "agent/client/endpoint.h"
#include "agent/client/tls.h"
#include "base/error.h"

namespace pinion::agent::api {

using Credentials = std::shared_ptr<grpc::ChannelCredentials>;

// For TCP the files are read now. Errors: kInvalid for TCP without files, and as read_tls.
Result<Credentials> credentials_for(const Endpoint& endpoint, const TlsFiles& files);

// Nothing is connected yet; an attempt to connect fails after 5 s. `server_name` is the one in the
// agent's certificate; empty: the endpoint's host.
std::shared_ptr<grpc::Channel> open_channel(const Endpoint& endpoint,
                                            const Credentials& credentials,
                                            const std::string& server_name);

}  // namespace pinion::agent::api
