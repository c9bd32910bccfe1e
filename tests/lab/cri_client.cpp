#include "tests/lab/cri_client.h"

#include <grpcpp/grpcpp.h>

#include "cri.grpc.pb.h"

namespace pinion::lab {
namespace {

namespace cri = ::runtime::v1;

Errc code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::ALREADY_EXISTS:
      return Errc::kInvalid;
    case grpc::StatusCode::NOT_FOUND:
      return Errc::kNotFound;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Errc::kExhausted;
    case grpc::StatusCode::PERMISSION_DENIED:
      return Errc::kDenied;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Errc::kUnavailable;
    default:
      return Errc::kInternal;
  }
}

ContainerState state_of(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return ContainerState::kCreated;
    case cri::CONTAINER_RUNNING:
      return ContainerState::kRunning;
    case cri::CONTAINER_EXITED:
      return ContainerState::kExited;
    default:
      return ContainerState::kUnknown;
  }
}

void set_resources(const LinuxResources& from, cri::LinuxContainerResources& to) {
  to.set_cpu_shares(from.cpu_shares);
  to.set_cpu_quota(from.cpu_quota);
  to.set_cpu_period(from.cpu_period);
  to.set_memory_limit_in_bytes(from.memory);
  to.set_oom_score_adj(from.oom_score_adj);
}

void set_pod(const PodSpec& pod, const PodPlace& place, cri::PodSandboxConfig& config) {
  config.mutable_metadata()->set_name(pod.name);
  config.mutable_metadata()->set_uid(uid_of(pod));
  config.mutable_metadata()->set_namespace_(pod.name_space);
  config.set_log_directory(place.log_directory);
  auto& labels = *config.mutable_labels();
  labels["io.kubernetes.pod.name"] = pod.name;
  labels["io.kubernetes.pod.namespace"] = pod.name_space;
  labels["io.kubernetes.pod.uid"] = uid_of(pod);
  for (const auto& [key, value] : pod.annotations) (*config.mutable_annotations())[key] = value;
  auto& linux = *config.mutable_linux();
  linux.set_cgroup_parent(place.cgroup_parent);
  linux.mutable_security_context()->mutable_namespace_options()->set_network(cri::NODE);
  std::int64_t quota = 0;
  for (const auto& container : pod.containers) quota += resources_of(pod, container).cpu_quota;
  linux.mutable_resources()->set_cpu_shares(static_cast<std::int64_t>(pod_shares(pod)));
  linux.mutable_resources()->set_cpu_quota(quota);
  linux.mutable_resources()->set_cpu_period(100000);
}

void set_container(const PodSpec& pod, const ContainerSpec& spec, cri::ContainerConfig& config) {
  config.mutable_metadata()->set_name(spec.name);
  config.mutable_metadata()->set_attempt(spec.attempt);
  config.mutable_image()->set_image(kImage);
  for (const auto& word : spec.command) config.add_command(word);
  for (const auto& [key, value] : spec.env) {
    auto& variable = *config.add_envs();
    variable.set_key(key);
    variable.set_value(value);
  }
  for (const auto& mount : spec.mounts) {
    auto& entry = *config.add_mounts();
    entry.set_host_path(mount.host);
    entry.set_container_path(mount.container);
    entry.set_readonly(mount.read_only);
  }
  auto& labels = *config.mutable_labels();
  labels["io.kubernetes.container.name"] = spec.name;
  labels["io.kubernetes.pod.name"] = pod.name;
  labels["io.kubernetes.pod.namespace"] = pod.name_space;
  labels["io.kubernetes.pod.uid"] = uid_of(pod);
  (*config.mutable_annotations())["io.kubernetes.container.restartCount"] =
      std::to_string(spec.attempt);
  config.set_log_path(spec.name + "_" + std::to_string(spec.attempt) + ".log");
  auto& linux = *config.mutable_linux();
  set_resources(resources_of(pod, spec), *linux.mutable_resources());
  linux.mutable_security_context()->mutable_namespace_options()->set_network(cri::NODE);
  linux.mutable_security_context()->mutable_namespace_options()->set_pid(cri::CONTAINER);
}

}  // namespace

struct CriClient::Stub {
  std::unique_ptr<cri::RuntimeService::Stub> service;
  std::unique_ptr<cri::ImageService::Stub> images;

  template <class Method, class Request, class Response>
  Status call(const char* name, Method method, const Request& request, Response& response,
              Milliseconds limit, bool wait_for_ready = true) {
    return call_of(*service, name, method, request, response, limit, wait_for_ready);
  }
  // One unary call: method(&context, request, &response), with its deadline.
  template <class Of, class Method, class Request, class Response>
  static Status call_of(Of& of, const char* name, Method method, const Request& request,
                        Response& response, Milliseconds limit, bool wait_for_ready = true) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patient(limit));
    context.set_wait_for_ready(wait_for_ready);
    const grpc::Status status = (of.*method)(&context, request, &response);
    if (status.ok()) return {};
    return failure(code_of(status.error_code()),
                   std::string("CRI ") + name + ": " + status.error_message());
  }
};

using Service = cri::RuntimeService::Stub;

CriClient::CriClient(const std::string& socket) : stub_(std::make_unique<Stub>()) {
  grpc::ChannelArguments arguments;
  // A containerd that is being restarted is back within a tenth of a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  // Without this, two clients of one address share a connection and its back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  stub_->service = cri::RuntimeService::NewStub(channel);
  stub_->images = cri::ImageService::NewStub(channel);
}

CriClient::CriClient(CriClient&& other) noexcept = default;
CriClient& CriClient::operator=(CriClient&& other) noexcept = default;
CriClient::~CriClient() = default;

Result<bool> CriClient::has_image(const std::string& name) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(name);
  cri::ImageStatusResponse response;
  Status done = Stub::call_of(*stub_->images, "ImageStatus", &cri::ImageService::Stub::ImageStatus,
                              request, response, limit_);
  if (!done) return failure(done.error());
  return response.has_image();
}

Result<std::string> CriClient::version(Milliseconds limit) {
  cri::VersionRequest request;
  cri::VersionResponse response;
  Status done = stub_->call("Version", &Service::Version, request, response, limit, false);
  if (!done) return failure(done.error());
  return response.runtime_name() + " " + response.runtime_version();
}

Result<std::string> CriClient::run_pod(const PodSpec& pod, const PodPlace& place) {
  cri::RunPodSandboxRequest request;
  cri::RunPodSandboxResponse response;
  set_pod(pod, place, *request.mutable_config());
  Status done = stub_->call("RunPodSandbox", &Service::RunPodSandbox, request, response, limit_);
  if (!done) return failure(done.error());
  return response.pod_sandbox_id();
}

Status CriClient::stop_pod(const std::string& pod_id) {
  cri::StopPodSandboxRequest request;
  cri::StopPodSandboxResponse response;
  request.set_pod_sandbox_id(pod_id);
  return stub_->call("StopPodSandbox", &Service::StopPodSandbox, request, response, limit_);
}

Status CriClient::remove_pod(const std::string& pod_id) {
  cri::RemovePodSandboxRequest request;
  cri::RemovePodSandboxResponse response;
  request.set_pod_sandbox_id(pod_id);
  return stub_->call("RemovePodSandbox", &Service::RemovePodSandbox, request, response, limit_);
}

Result<std::vector<std::string>> CriClient::list_pods() {
  cri::ListPodSandboxRequest request;
  cri::ListPodSandboxResponse response;
  Status done = stub_->call("ListPodSandbox", &Service::ListPodSandbox, request, response, limit_);
  if (!done) return failure(done.error());
  std::vector<std::string> ids;
  for (const auto& pod : response.items()) ids.push_back(pod.id());
  return ids;
}

Result<std::string> CriClient::create_container(const std::string& pod_id, const PodSpec& pod,
                                                const PodPlace& place,
                                                const ContainerSpec& container) {
  cri::CreateContainerRequest request;
  cri::CreateContainerResponse response;
  request.set_pod_sandbox_id(pod_id);
  set_container(pod, container, *request.mutable_config());
  set_pod(pod, place, *request.mutable_sandbox_config());
  Status done =
      stub_->call("CreateContainer", &Service::CreateContainer, request, response, limit_);
  if (!done) return failure(done.error());
  return response.container_id();
}

Status CriClient::start_container(const std::string& id) {
  cri::StartContainerRequest request;
  cri::StartContainerResponse response;
  request.set_container_id(id);
  return stub_->call("StartContainer", &Service::StartContainer, request, response, limit_);
}

Status CriClient::stop_container(const std::string& id, std::chrono::seconds grace) {
  cri::StopContainerRequest request;
  cri::StopContainerResponse response;
  request.set_container_id(id);
  request.set_timeout(grace.count());
  return stub_->call("StopContainer", &Service::StopContainer, request, response, limit_ + grace);
}

Status CriClient::remove_container(const std::string& id) {
  cri::RemoveContainerRequest request;
  cri::RemoveContainerResponse response;
  request.set_container_id(id);
  return stub_->call("RemoveContainer", &Service::RemoveContainer, request, response, limit_);
}

Result<std::vector<ListedContainer>> CriClient::list_containers() {
  cri::ListContainersRequest request;
  cri::ListContainersResponse response;
  Status done = stub_->call("ListContainers", &Service::ListContainers, request, response, limit_);
  if (!done) return failure(done.error());
  std::vector<ListedContainer> result;
  for (const auto& container : response.containers()) {
    result.push_back({.id = container.id(),
                      .pod_id = container.pod_sandbox_id(),
                      .name = container.metadata().name(),
                      .state = state_of(container.state())});
  }
  return result;
}

Result<ContainerStatus> CriClient::container_status(const std::string& id) {
  cri::ContainerStatusRequest request;
  cri::ContainerStatusResponse response;
  request.set_container_id(id);
  Status done =
      stub_->call("ContainerStatus", &Service::ContainerStatus, request, response, limit_);
  if (!done) return failure(done.error());
  return ContainerStatus{.state = state_of(response.status().state()),
                         .exit_code = response.status().exit_code(),
                         .reason = response.status().reason(),
                         .message = response.status().message()};
}

Status CriClient::update_resources(const std::string& id, const LinuxResources& resources) {
  cri::UpdateContainerResourcesRequest request;
  cri::UpdateContainerResourcesResponse response;
  request.set_container_id(id);
  set_resources(resources, *request.mutable_linux());
  return stub_->call("UpdateContainerResources", &Service::UpdateContainerResources, request,
                     response, limit_);
}

Result<ExecResult> CriClient::exec(const std::string& id, const std::vector<std::string>& command) {
  cri::ExecSyncRequest request;
  cri::ExecSyncResponse response;
  request.set_container_id(id);
  for (const auto& word : command) request.add_cmd(word);
  request.set_timeout(10);
  Status done = stub_->call("ExecSync", &Service::ExecSync, request, response, limit_);
  if (!done) return failure(done.error());
  return ExecResult{
      .exit_code = response.exit_code(), .output = response.stdout(), .errors = response.stderr()};
}

}  // namespace pinion::lab
