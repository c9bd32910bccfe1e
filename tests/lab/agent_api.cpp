#include "tests/lab/agent_api.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <thread>

#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::lab {
namespace {

namespace api = ::pinion::v1;
using Service = api::Node::Stub;

constexpr Milliseconds kLimit{1000};
constexpr Milliseconds kPause{50};

template <class Method, class Request, class Response>
Status call(const std::string& socket, Method method, const Request& request, Response& response) {
  const auto stub =
      api::Node::NewStub(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patient(kLimit));
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (status.ok()) return {};
  return failure(Errc::kUnavailable, "agent's interface: " + status.error_message());
}

AgentFigures figures_of(const api::Figures& from) {
  AgentFigures to;
  if (from.has_cpu_user_ns() && from.has_cpu_system_ns()) {
    to.cpu_ns = from.cpu_user_ns() + from.cpu_system_ns();
  }
  if (from.has_intrusion_ns()) to.intrusion_ns = from.intrusion_ns();
  if (from.has_l3_misses()) to.l3_misses = from.l3_misses();
  return to;
}

}  // namespace

Result<AgentFigures> AgentApi::figures(const std::string& container) const {
  api::ListContainersResponse response;
  Status done = call(socket_, &Service::ListContainers, api::ListContainersRequest(), response);
  if (!done) return failure(done.error());
  for (const auto& one : response.containers()) {
    if (one.id() == container) return figures_of(one.figures());
  }
  return failure(Errc::kNotFound, "the agent does not know container " + container);
}

Result<AgentFigures> AgentApi::figures_after(const std::string& container, double cpu_seconds,
                                             Milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + patient(limit);
  for (;;) {
    auto answer = figures(container);
    const bool enough =
        answer && static_cast<double>(answer->cpu_ns.value_or(0)) >= cpu_seconds * 1e9;
    if (!answer || enough || std::chrono::steady_clock::now() >= deadline) return answer;
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::string> AgentApi::why_not_counted(const std::string& event) const {
  api::GetNodeResponse response;
  Status done = call(socket_, &Service::GetNode, api::GetNodeRequest(), response);
  if (!done) return failure(done.error());
  for (const auto& support : response.node().events()) {
    if (support.event() == event && support.availability() != "counted") {
      return support.availability();
    }
  }
  return std::string();
}

}  // namespace pinion::lab
