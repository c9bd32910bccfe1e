#include "agent/api/server.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <random>
#include <vector>

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

// gRPC logs a line to standard error for each failed handshake, so that anybody who connects could
// fill the log. What a certificate file lacks is worth it.
void log_of_grpc(gpr_log_func_args* line) {
  if (std::string_view(line->file).find("certificate_provider") == std::string_view::npos) return;
  std::fprintf(stderr, "gRPC: %s\n", line->message);
}

// Settings of gRPC that hold for the whole process.
void prepare_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(log_of_grpc);
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

}  // namespace

// An address, and who hands its connections to gRPC.
struct Entrance {
  std::unique_ptr<Door> door;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;

  void let_in() {
    door->start([this](int socket) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = socket;
      acceptor->HandleNewConnection(&connection);
    });
  }
};
using Entrances = std::vector<std::unique_ptr<Entrance>>;

namespace {

// Tells the doors of each call, whatever its service.
class ProofOfCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ProofOfCalls(const Entrances& entrances) : entrances_(entrances) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    for (const auto& one : entrances_) one->door->proved(info->server_context()->peer());
    return nullptr;  // nothing is intercepted
  }

 private:
  const Entrances& entrances_;
};

Result<std::unique_ptr<Entrance>> open_entrance(const std::string& listen, const DoorLimits& limits,
                                                const ApiOptions& options,
                                                net::ConnectionFigures& figures,
                                                grpc::ServerBuilder& builder) {
  Result<Endpoint> endpoint = Endpoint::parse(listen);
  if (!endpoint) return failure(std::move(endpoint.error()).within("serve gRPC"));
  const auto credentials = credentials_of(*endpoint, options);
  if (!credentials) return failure(credentials.error().within("serve gRPC"));
  auto door = Door::open(*endpoint, limits, figures);
  if (!door) return failure(std::move(door.error()).within("serve gRPC at " + listen));
  auto entrance = std::make_unique<Entrance>();
  entrance->door = std::move(*door);
  using Experimental = grpc::ServerBuilder::experimental_type;
  entrance->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, *credentials);
  return entrance;
}

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
        watchers(pictures, views, samples, options.watch, figures),
        service(pictures, watchers, figures) {}

  ApiFigures figures;
  Pictures pictures;
  Watchers watchers;
  NodeService service;
  Entrances entrances;
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
  prepare_process();
  auto parts = std::make_unique<Parts>(options, views, samples);
  grpc::ServerBuilder builder;
  set_limits(builder);
  auto entrance =
      open_entrance(options.listen, options.door, options, parts->figures.connections, builder);
  if (!entrance) return failure(std::move(entrance.error()));
  parts->entrances.push_back(std::move(*entrance));
  if (!options.local.empty()) {
    auto local =
        open_entrance(options.local, kLocalDoor, options, parts->figures.connections, builder);
    if (!local) return failure(std::move(local.error()));
    parts->entrances.push_back(std::move(*local));
  }
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> proofs;
  proofs.push_back(std::make_unique<ProofOfCalls>(parts->entrances));
  builder.experimental().SetInterceptorCreators(std::move(proofs));
  builder.RegisterService(&parts->service);
  parts->server = builder.BuildAndStart();
  if (!parts->server) {
    return failure(Error{Errc::kInternal, 0, "gRPC does not say why"}.within("serve gRPC at " +
                                                                             options.listen));
  }
  parts->server->GetHealthCheckService()->SetServingStatus(v1::Node::service_full_name(), true);
  for (auto& one : parts->entrances) one->let_in();
  const std::string address = parts->entrances.front()->door->endpoint().to_string();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts), address));
}

void ApiServer::stop(std::chrono::milliseconds limit) {
  if (!parts_->server) return;
  for (auto& entrance : parts_->entrances) entrance->door->close();
  parts_->watchers.stop();
  parts_->server->Shutdown(std::chrono::system_clock::now() + limit);
  parts_->server.reset();
}

}  // namespace pinion::agent::api
