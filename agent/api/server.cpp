#include "agent/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <random>

#include "agent/api/listen.h"
#include "agent/api/service.h"

namespace pinion::agent::api {
namespace {

// Limits for all callers together, or for each connection.
constexpr int kMaxRequestBytes = 1 << 20;
constexpr int kMaxAnswerBytes = 16 << 20;
constexpr int kMaxStreams = 100;                // of one connection
constexpr std::size_t kMaxMemory = 64U << 20U;  // of gRPC's buffers
constexpr int kMaxThreads = 8;                  // that wait for calls of the reflection service
constexpr int kIdleMs = 300000;                 // a connection without calls is closed
constexpr int kPingMs = 30000;
constexpr int kPingAnswerMs = 10000;
constexpr int kLeastPingMs = 5000;  // callers that ping more often are closed
constexpr int kHandshakeMs = 5000;

// Settings of gRPC that hold for the whole process.
void prepare_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void set_limits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.SetMaxSendMessageSize(kMaxAnswerBytes);
  builder.SetResourceQuota(
      grpc::ResourceQuota("pinion-api").Resize(kMaxMemory).SetMaxThreads(kMaxThreads));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingAnswerMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  // Two agents on one port would each get a part of the callers.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const Endpoint& endpoint,
                                                                const ApiOptions& options) {
  if (endpoint.is_unix()) return grpc::InsecureServerCredentials();
  if (options.tls.empty()) {
    return failure(Errc::kInvalid,
                   endpoint.to_string() +
                       " is served with mutual TLS only: give certificate, key and CA, or listen "
                       "on unix:PATH");
  }
  if (auto texts = read_tls(options.tls); !texts) {
    return failure(std::move(texts.error()).within("TLS"));
  }
  using grpc::experimental::FileWatcherCertificateProvider;
  const auto reload = static_cast<unsigned>(std::max<std::int64_t>(1, options.tls_reload.count()));
  grpc::experimental::TlsServerCredentialsOptions tls(
      std::make_shared<FileWatcherCertificateProvider>(options.tls.key, options.tls.certificate,
                                                       options.tls.ca, reload));
  tls.watch_root_certs();
  tls.watch_identity_key_cert_pairs();
  tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(tls);
}

// The umask of the process while this lives, so that a new socket is its owner's alone from the
// first moment.
class OwnerOnly {
 public:
  OwnerOnly() : before_(::umask(0177)) {}
  OwnerOnly(const OwnerOnly&) = delete;
  OwnerOnly& operator=(const OwnerOnly&) = delete;
  ~OwnerOnly() { ::umask(before_); }

 private:
  mode_t before_;
};

}  // namespace

std::string new_instance() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device random;
  std::string instance;
  for (int i = 0; i < 16; ++i) instance += digits[random() % digits.size()];
  return instance;
}

// In the order of dependence: the server goes first, the pictures last.
struct ApiServer::Parts {
  Parts(const ApiOptions& options, Published<NodeView>& views, Published<metrics::Sample>& samples)
      : pictures(options.name, views, samples),
        hub(pictures, views, samples, options.watch, figures),
        service(pictures, hub, figures) {}

  ApiFigures figures;
  Pictures pictures;
  WatchHub hub;
  NodeService service;
  std::unique_ptr<grpc::Server> server;
};

ApiServer::ApiServer(std::unique_ptr<Parts> parts, std::string address)
    : parts_(std::move(parts)), address_(std::move(address)) {}

ApiServer::~ApiServer() {
  stop();
}

const ApiFigures& ApiServer::figures() const {
  return parts_->figures;
}

Result<std::unique_ptr<ApiServer>> ApiServer::start(const ApiOptions& options,
                                                    Published<NodeView>& views,
                                                    Published<metrics::Sample>& samples) {
  const std::string what = "serve gRPC at " + options.listen;
  Result<Endpoint> endpoint = Endpoint::parse(options.listen);
  if (!endpoint) return failure(std::move(endpoint.error()).within("serve gRPC"));
  const auto credentials = credentials_of(*endpoint, options);
  if (!credentials) return failure(credentials.error().within("serve gRPC"));
  if (endpoint->is_unix()) {
    if (Status clear = clear_stale(endpoint->path); !clear) {
      return failure(std::move(clear.error()).within(what));
    }
  }
  prepare_process();
  auto parts = std::make_unique<Parts>(options, views, samples);
  grpc::ServerBuilder builder;
  set_limits(builder);
  int port = 0;
  builder.AddListeningPort(endpoint->grpc_uri(), *credentials, &port);
  builder.RegisterService(&parts->service);
  {
    const OwnerOnly mask;
    parts->server = builder.BuildAndStart();
  }
  if (!parts->server) {
    return failure(
        Error{.code = Errc::kUnavailable, .sys_errno = 0, .text = why_not(*endpoint)}.within(what));
  }
  parts->server->GetHealthCheckService()->SetServingStatus(v1::Node::service_full_name(), true);
  if (!endpoint->is_unix()) endpoint->port = static_cast<std::uint16_t>(port);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts), endpoint->to_string()));
}

void ApiServer::stop(std::chrono::milliseconds limit) {
  if (!parts_->server) return;
  parts_->hub.stop();
  parts_->server->Shutdown(std::chrono::system_clock::now() + limit);
  parts_->server.reset();
}

}  // namespace pinion::agent::api
