// All settings of the agent together.
#include <array>
#include <utility>

#include "agent/client/endpoint.h"
#include "agent/config.h"
#include "base/net/listen_address.h"

namespace pinion::agent {
namespace {

// "ADDR:PORT" in one form; empty where any free port will do.
std::string fixed_address(const std::string& listen) {
  const auto parsed = net::parse_listen_address(listen);
  if (!parsed) return {};
  std::string text = parsed->to_string();
  return text.ends_with(":0") ? std::string() : text;
}

Status check_addresses(const Config& config) {
  const std::array<std::pair<const char*, std::string>, 3> all{
      {{"metricsListen", fixed_address(config.metrics_listen)},
       {"probeListen", fixed_address(config.probe_listen)},
       {"apiListen", fixed_address(config.api_listen)}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      if (all[i].second.empty() || all[i].second != all[k].second) continue;
      return failure(Errc::kInvalid, std::string(all[i].first) + " and " + all[k].first +
                                         " are the same address: " + all[i].second);
    }
  }
  return {};
}

bool served_by_tcp(const Config& config) {
  const auto endpoint = api::Endpoint::parse(config.api_listen);
  return endpoint && !endpoint->is_unix();
}

Status check_api(const Config& config) {
  const bool tcp = served_by_tcp(config);
  if (tcp && (config.api_cert.empty() || config.api_key.empty() || config.api_client_ca.empty())) {
    return failure(Errc::kInvalid, "apiListen: " + config.api_listen +
                                       " is served with mutual TLS only: set apiCert, apiKey and "
                                       "apiClientCA, or listen on unix:PATH");
  }
  if (!tcp && !config.api_listen.empty()) return {};
  const auto local = api::Endpoint::parse(config.local_api());
  return local ? Status() : failure(local.error().within("stateDir"));
}

}  // namespace

Status check(const Config& config) {
  if (Status addresses = check_addresses(config); !addresses) return addresses;
  if (Status api = check_api(config); !api) return api;
  const auto source = config.source();
  if (!source || source->kind != topology::Source::Kind::kSynthetic) return {};
  const auto machine = topology::discover(*source);
  return machine ? Status() : failure(machine.error());
}

std::vector<std::string> without_effect(const Config& config) {
  std::vector<std::string> all;
  const bool certificates =
      !config.api_cert.empty() || !config.api_key.empty() || !config.api_client_ca.empty();
  if (certificates && !served_by_tcp(config)) {
    all.emplace_back("apiCert, apiKey and apiClientCA: apiListen is no ADDR:PORT");
  }
  const bool partitions =
      config.fence == FenceChoice::kAuto || config.fence == FenceChoice::kPartition;
  if (config.partition != engine::PartitionKinds::kRoot && !partitions) {
    all.push_back("partition: the fence is " + std::string(word_of(config.fence, kFenceWords)));
  }
  return all;
}

}  // namespace pinion::agent
