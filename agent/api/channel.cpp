#include "agent/api/channel.h"

namespace pinion::agent::api {
namespace {

constexpr int kMaxAnswerBytes = 16 << 20;  // as the server's

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const Endpoint& endpoint,
                                                                 const TlsFiles& files) {
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

}  // namespace

Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint,
                                                    const ClientOptions& options) {
  const auto credentials = credentials_of(endpoint, options.tls);
  if (!credentials) return failure(credentials.error());
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // Without this, clients of one address share a connection and its back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  return grpc::CreateCustomChannel(endpoint.grpc_uri(), *credentials, arguments);
}

}  // namespace pinion::agent::api
