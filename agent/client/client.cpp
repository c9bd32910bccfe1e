#include "agent/client/client.h"

#include <grpcpp/grpcpp.h>

#include "agent/client/channel.h"
#include "base/utf8.h"
#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::agent::api {
namespace {

constexpr std::size_t kMaxSaid = 1000;  // bytes of what an agent says of an error

Errc code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
      return Errc::kInvalid;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Errc::kExhausted;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return Errc::kDenied;
    case grpc::StatusCode::UNIMPLEMENTED:
      return Errc::kNotFound;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Errc::kUnavailable;
    default:
      return Errc::kInternal;
  }
}

// What a failed connect() to the socket means to an operator.
Error explained(const Endpoint& endpoint, const Error& error) {
  const std::string address = endpoint.to_string();
  if (error.sys_errno == ENOENT || error.sys_errno == ECONNREFUSED) {
    return {.code = Errc::kUnavailable,
            .sys_errno = error.sys_errno,
            .text = "no agent listens at " + address + ": is pinion-agent running?"};
  }
  if (error.code == Errc::kDenied) {
    return {.code = Errc::kDenied,
            .sys_errno = error.sys_errno,
            .text = "the agent's socket " + address + " is for its owner only: try as root"};
  }
  return error;
}

std::chrono::system_clock::time_point after(std::chrono::milliseconds limit) {
  return std::chrono::system_clock::now() + limit;
}

}  // namespace

struct Client::Parts {
  Endpoint endpoint;
  std::chrono::milliseconds limit;
  std::unique_ptr<v1::Node::Stub> stub;

  [[nodiscard]] Error error_of(const grpc::Status& status) const {
    const std::string address = endpoint.to_string();
    const Errc code = code_of(status.error_code());
    const std::string said = clean_text(cut_utf8(status.error_message(), kMaxSaid));
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return {.code = code,
              .sys_errno = 0,
              .text = "the agent at " + address + " did not answer in time: " + said};
    }
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      return {.code = code,
              .sys_errno = 0,
              .text = "the agent at " + address +
                      " does not know this call: it is of another "
                      "version"};
    }
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && endpoint.is_unix()) {
      const Status answered = probe_unix(endpoint.path);
      if (!answered) return explained(endpoint, answered.error());
    }
    return {.code = code, .sys_errno = 0, .text = "the agent at " + address + ": " + said};
  }

  // One call: method(&context, request, &response).
  template <class Response, class Method, class Request>
  Result<Response> call(Method method, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(after(limit));
    Response response;
    const grpc::Status status = (stub.get()->*method)(&context, request, &response);
    if (!status.ok()) return failure(error_of(status));
    return response;
  }
};

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(const std::string& address, const ClientOptions& options) {
  Result<Endpoint> endpoint = Endpoint::parse(address);
  if (!endpoint) return failure(endpoint.error());
  if (endpoint->is_unix()) {
    const Status answered = probe_unix(endpoint->path);
    if (!answered) return failure(explained(*endpoint, answered.error()));
  }
  const auto credentials = credentials_for(*endpoint, options.tls);
  if (!credentials) return failure(credentials.error());
  auto parts = std::make_unique<Parts>();
  parts->endpoint = *endpoint;
  parts->limit = options.limit;
  parts->stub = v1::Node::NewStub(open_channel(*endpoint, *credentials, options.server_name));
  return Client(std::move(parts));
}

Result<v1::NodeState> Client::get_node() {
  auto response = parts_->call<v1::GetNodeResponse>(&v1::Node::Stub::GetNode, v1::GetNodeRequest());
  if (!response) return failure(response.error());
  return std::move(*response->mutable_node());
}

Result<v1::ListContainersResponse> Client::list_containers() {
  return parts_->call<v1::ListContainersResponse>(&v1::Node::Stub::ListContainers,
                                                  v1::ListContainersRequest());
}

Result<v1::Snapshot> Client::snapshot(bool figures) {
  v1::Snapshot snapshot;
  const Status watched = watch({.figures = figures, .min_interval = {}, .limit = parts_->limit},
                               [&snapshot](const v1::WatchNodeResponse& message) {
                                 snapshot = message.snapshot();
                                 return false;
                               });
  if (!watched) return failure(watched.error());
  if (!snapshot.has_node()) {
    return failure(Errc::kInternal, "the agent at " + parts_->endpoint.to_string() +
                                        ": its first message is no snapshot");
  }
  return snapshot;
}

Result<v1::PlanResponse> Client::plan(const v1::PlanRequest& request) {
  return parts_->call<v1::PlanResponse>(&v1::Node::Stub::Plan, request);
}

Status Client::watch(const WatchOptions& options,
                     const std::function<bool(const v1::WatchNodeResponse&)>& each) {
  v1::WatchNodeRequest request;
  request.set_figures(options.figures);
  request.set_min_interval_ms(static_cast<std::uint32_t>(options.min_interval.count()));
  grpc::ClientContext context;
  if (options.limit) context.set_deadline(after(*options.limit));
  const auto reader = parts_->stub->WatchNode(&context, request);
  v1::WatchNodeResponse message;
  while (reader->Read(&message)) {
    if (each(message)) continue;
    context.TryCancel();
    while (reader->Read(&message)) {
    }
    reader->Finish();
    return {};
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return failure(Errc::kUnavailable, "the agent has ended the watch");
  return failure(parts_->error_of(status));
}

}  // namespace pinion::agent::api
