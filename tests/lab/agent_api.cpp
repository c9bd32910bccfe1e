#include "tests/lab/agent_api.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::lab {
namespace {

namespace api = ::pinion::v1;
using NodeService = api::Node::Stub;

constexpr Milliseconds kApiLimit{5000};  // the machine may be full of spinning ranks
constexpr Milliseconds kPause{50};

std::unique_ptr<NodeService> connect(const std::string& socket) {
  return api::Node::NewStub(
      grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
}

tl::unexpected<Error> no_answer(const grpc::Status& status) {
  return failure(Errc::kUnavailable, "agent's interface: " + status.error_message());
}

template <class Method, class Request, class Response>
Status call(const std::string& socket, Method method, const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patient(kApiLimit));
  const auto stub = connect(socket);
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (status.ok()) return {};
  return no_answer(status);
}

Result<AgentContainer> container_of(const api::Container& from) {
  const auto decided = topology::CpuSet::parse(from.cpus());
  if (!decided) return failure(decided.error());
  const auto told = topology::CpuSet::parse(from.told());
  if (!told) return failure(told.error());
  return AgentContainer{.id = from.id(),
                        .name = from.name(),
                        .pod = from.pod(),
                        .exclusive = from.exclusive(),
                        .decided = *decided,
                        .told = *told,
                        .trouble = from.trouble()};
}

Result<AgentStatus> status_of(const api::Snapshot& snapshot) {
  AgentStatus status;
  for (const auto& one : snapshot.containers()) {
    if (one.finished()) continue;
    auto container = container_of(one);
    if (!container) return failure(container.error().within("container " + one.id()));
    status.containers.push_back(std::move(*container));
  }
  for (const auto& [name, value] : snapshot.node().counters()) status.counters[name] = value;
  status.phase = snapshot.node().runtime().phase();
  status.shared_memory = snapshot.node().shared_memory();
  return status;
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

const AgentContainer* AgentStatus::find(const std::string& id) const {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const AgentContainer& one) { return one.id == id; });
  return found == containers.end() ? nullptr : &*found;
}

// The first message of a watch is the only one that holds both, node and containers.
Result<AgentStatus> AgentApi::status() const {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patient(kApiLimit));
  const auto stub = connect(socket_);
  const auto reader = stub->WatchNode(&context, api::WatchNodeRequest());
  api::WatchNodeResponse first;
  const bool read = reader->Read(&first);
  context.TryCancel();
  const grpc::Status ended = reader->Finish();
  if (!read) return no_answer(ended);
  return status_of(first.snapshot());
}

Result<AgentFigures> AgentApi::figures(const std::string& container) const {
  api::ListContainersResponse response;
  Status done = call(socket_, &NodeService::ListContainers, api::ListContainersRequest(), response);
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
  Status done = call(socket_, &NodeService::GetNode, api::GetNodeRequest(), response);
  if (!done) return failure(done.error());
  for (const auto& support : response.node().events()) {
    if (support.event() == event && support.availability() != "counted") {
      return support.availability();
    }
  }
  return std::string();
}

}  // namespace pinion::lab
