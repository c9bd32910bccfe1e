#include "agent/client/channel.h"

namespace pinion::agent::api {
namespace {

constexpr int kMaxAnswerBytes = 16 << 20;  // as the server's
constexpr int kConnectMs = 5000;           // as long as the server waits for a handshake

}  // namespace

Result<Credentials> credentials_for(const Endpoint& endpoint, const TlsFiles& files) {
  if (endpoint.is_unix()) return grpc::InsecureChannelCredentials();
  if (files.empty()) {
    return failure(Errc::kInvalid, "the agent at " + endpoint.to_string() +
                                       " wants mutual TLS: give certificate, key and CA");
  }
  Result<TlsTexts> texts = read_tls(files);
  if (!texts) return failure(std::move(texts.error()).within("TLS"));
  return grpc::SslCredentials({.pem_root_certs = texts->ca,
                               .pem_private_key = texts->key,
                               .pem_cert_chain = texts->certificate});
}

std::shared_ptr<grpc::Channel> open_channel(const Endpoint& endpoint,
                                            const Credentials& credentials,
                                            const std::string& server_name) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // Without this, clients of one address share a connection and its back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // The name misleads: it is the least time that an attempt is given, and with a channel's first
  // one it is the time. gRPC's own is 20 s.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  if (!server_name.empty()) arguments.SetSslTargetNameOverride(server_name);
  return grpc::CreateCustomChannel(endpoint.grpc_uri(), credentials, arguments);
}

}  // namespace pinion::agent::api
