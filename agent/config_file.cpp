#include "agent/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "agent/client/endpoint.h"
#include "base/net/listen_address.h"
#include "base/quantity.h"
#include "base/settings/settings.h"
#include "base/yaml_documents.h"
#include "nri-plugin/session.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;
using settings::parse_bool;
using settings::parse_duration;
using topology::Align;
using topology::Smt;
using topology::Strength;

using Setter = std::function<Status(const std::string&, Config&)>;

Status unknown_value(const std::string& value, const std::string& known) {
  return failure(Errc::kInvalid, "unknown value '" + value + "', use one of: " + known);
}

Setter text_into(std::string Config::*member) {
  return [member](const std::string& value, Config& config) -> Status {
    config.*member = value;
    return {};
  };
}

Status set_reserved(const std::string& value, Config& config) {
  const auto cpus = topology::CpuSet::parse(value);
  if (!cpus) return failure(cpus.error());
  config.reserved = *cpus;
  return {};
}

Status set_index(const std::string& value, Config& config) {
  nri::SessionOptions options;
  options.index = value;
  if (auto valid = nri::validate(options); !valid) return valid;
  config.nri_index = value;
  return {};
}

Status set_topology(const std::string& value, Config& config) {
  const auto source = topology::Source::parse(value);
  if (!source) return failure(source.error());
  config.topology = value;
  return {};
}

// A setting that is one of a few words.
template <class T, std::size_t N>
Setter word_into(T Config::*member, const std::array<Word<T>, N>& words) {
  return [member, &words](const std::string& value, Config& config) -> Status {
    const auto known = value_of(value, words);
    if (!known) return unknown_value(value, list_of(words));
    config.*member = *known;
    return {};
  };
}

Setter duration_into(std::chrono::milliseconds Config::*member, std::chrono::milliseconds least,
                     std::chrono::milliseconds most, const char* range) {
  return [=](const std::string& value, Config& config) -> Status {
    const auto interval = parse_duration(value);
    if (!interval) return failure(interval.error());
    if (*interval < least || *interval > most) {
      return failure(Errc::kInvalid, "'" + value + "' is not between " + range);
    }
    config.*member = *interval;
    return {};
  };
}

// The parts of a list, without blanks before them.
std::vector<std::string> parts_of(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    auto part = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    parts.emplace_back(part);
  }
  return parts;
}

// "irq, workqueue"; empty: none.
template <class T, std::size_t N>
Result<std::set<T>> set_of(const std::string& value, const std::array<Word<T>, N>& words) {
  std::set<T> values;
  for (const std::string& word : parts_of(value, ',')) {
    const auto known = value_of(word, words);
    if (!known) return failure(unknown_value(word, list_of(words)).error());
    values.insert(*known);
  }
  return values;
}

Status set_kernel_noise(const std::string& value, Config& config) {
  auto kinds = set_of(value, noise::kKindWords);
  if (!kinds) return failure(kinds.error());
  config.kernel_noise = std::move(*kinds);
  return {};
}

Status set_allowed_wishes(const std::string& value, Config& config) {
  auto privileges = set_of(value, policy::kPrivilegeWords);
  if (!privileges) return failure(privileges.error());
  config.defaults.privileges = std::move(*privileges);
  return {};
}

Status set_exclusive_pods(const std::string& value, Config& config) {
  const auto pods = value_of(value, policy::kExclusivePodsWords);
  if (!pods) return unknown_value(value, list_of(policy::kExclusivePodsWords));
  config.defaults.pods = *pods;
  return {};
}

Status set_exclusive_namespaces(const std::string& value, Config& config) {
  std::set<std::string> namespaces;
  for (std::string& name : parts_of(value, ',')) {
    constexpr auto known = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (name.empty() || name.size() > 63 || name.find_first_not_of(known) != std::string::npos) {
      return failure(Errc::kInvalid, "'" + name.substr(0, 64) + "' is no name of a namespace");
    }
    namespaces.insert(std::move(name));
  }
  config.defaults.namespaces = std::move(namespaces);
  return {};
}

// One resource of a node; hugepages, which the kubelet reserves here too, are not promised.
Status reserve(topology::NodeId node, const std::string& resource, const std::string& amount,
               topology::ReservedMemory& reserved) {
  if (resource != "memory" && !resource.starts_with("hugepages-")) {
    return failure(Errc::kInvalid, "unknown resource '" + resource.substr(0, 64) +
                                       "', use memory (hugepages-SIZE is passed over)");
  }
  const auto bytes = byte_quantity(amount);
  if (!bytes) return failure(bytes.error().within(resource));
  if (resource == "memory" && !reserved.emplace(node, *bytes).second) {
    return failure(Errc::kInvalid, "NUMA node " + std::to_string(node) + " is stated twice");
  }
  return {};
}

Result<topology::NodeId> node_number(const std::string& text) {
  const auto node = topology::NodeSet::parse(text);
  if (!node || node->count() != 1) {
    return failure(Errc::kInvalid, "'" + text.substr(0, 64) + "' is no number of a NUMA node");
  }
  return node->first();
}

// As the kubelet's --reserved-memory: "0:memory=1Gi;1:memory=2Gi,hugepages-2Mi=1Gi".
Status set_reserved_memory(const std::string& value, Config& config) {
  topology::ReservedMemory reserved;
  for (const std::string& part : parts_of(value, ';')) {
    const auto colon = part.find(':');
    const auto node = node_number(part.substr(0, colon));
    if (!node) return failure(node.error());
    if (colon == std::string::npos) {
      return failure(Errc::kInvalid,
                     "expected NODE:memory=AMOUNT, not '" + part.substr(0, 64) + "'");
    }
    for (const std::string& limit : parts_of(std::string_view(part).substr(colon + 1), ',')) {
      const auto equals = limit.find('=');
      const std::string amount = equals == std::string::npos ? "" : limit.substr(equals + 1);
      if (Status done = reserve(*node, limit.substr(0, equals), amount, reserved); !done)
        return done;
    }
  }
  config.reserved_memory = std::move(reserved);
  return {};
}

Status set_log_level(const std::string& value, Config& config) {
  if (std::find(kLogLevels.begin(), kLogLevels.end(), value) == kLogLevels.end()) {
    return unknown_value(value, "trace, debug, info, warn, error");
  }
  config.log_level = value;
  return {};
}

// "ADDR:PORT", or nothing.
Setter address_into(std::string Config::*member) {
  return [member](const std::string& value, Config& config) -> Status {
    if (!value.empty()) {
      if (const auto address = net::parse_listen_address(value); !address) {
        return failure(address.error());
      }
    }
    config.*member = value;
    return {};
  };
}

Status set_api_listen(const std::string& value, Config& config) {
  if (!value.empty() && value != "off") {
    if (const auto endpoint = api::Endpoint::parse(value); !endpoint) {
      return failure(endpoint.error());
    }
  }
  config.api_listen = value;
  return {};
}

Status set_page_anywhere(const std::string& value, Config& config) {
  const auto on = parse_bool(value);
  if (!on) return failure(on.error());
  config.page_anywhere = *on;
  return {};
}

// The kubelet's topology manager policies, as far as they have a meaning here.
Status set_topology_manager(const std::string& value, Config& config) {
  if (value == "single-numa-node") {
    config.defaults.align = Align::kNuma;
    config.defaults.strength = Strength::kRequired;
  } else if (value == "best-effort") {
    config.defaults.align = Align::kNuma;
    config.defaults.strength = Strength::kPreferred;
  } else if (value == "none") {
    config.defaults.align = Align::kNone;
    config.defaults.strength.reset();
  } else {
    return unknown_value(value,
                         "single-numa-node, best-effort, none (restricted has no counterpart)");
  }
  return {};
}

// An entry of the kubelet's cpuManagerPolicyOptions.
Status set_policy_option(const std::string& name, const std::string& value, Config& config) {
  const auto on = parse_bool(value);
  if (!on) return failure(on.error());
  if (name == "full-pcpus-only") {
    config.defaults.smt = *on ? Smt::kFullCore : Smt::kPreferFull;
  } else if (name == "strict-cpu-reservation") {
    config.strict_reservation = *on;
  } else if (name == "align-by-socket") {
    if (*on) config.defaults.align = Align::kSocket;
  } else if (name == "prefer-align-cpus-by-uncorecache") {
    if (*on) config.defaults.align = Align::kL3;
  } else {
    return failure(Errc::kInvalid,
                   "policy option '" + name +
                       "' is not supported, use one of: full-pcpus-only, strict-cpu-reservation, "
                       "align-by-socket, prefer-align-cpus-by-uncorecache");
  }
  return {};
}

Status set_policy(const std::string& value, Config& /*config*/) {
  if (value == "static") return {};
  return unknown_value(value, "static (Pinion is that policy; to switch it off, stop the agent)");
}

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> table = {
      {"nriSocket", text_into(&Config::nri_socket)},
      {"nriIndex", set_index},
      {"hostRoot", text_into(&Config::host_root)},
      {"topology", set_topology},
      {"reservedSystemCPUs", set_reserved},
      {"reservedMemory", set_reserved_memory},
      {"exclusivePods", set_exclusive_pods},
      {"exclusiveNamespaces", set_exclusive_namespaces},
      {"allowedWishes", set_allowed_wishes},
      {"cpuManagerPolicy", set_policy},
      {"topologyManagerPolicy", set_topology_manager},
      {"fence", word_into(&Config::fence, kFenceWords)},
      {"partition", word_into(&Config::partition, kPartitionWords)},
      {"kernelNoise", set_kernel_noise},
      {"stateDir", text_into(&Config::state_dir)},
      {"kubeletDir", text_into(&Config::kubelet_dir)},
      {"auditInterval", duration_into(&Config::audit_interval, 100ms, 60min, "100ms and 60m")},
      {"readyFile", text_into(&Config::ready_file)},
      {"logLevel", set_log_level},
      {"logFormat", word_into(&Config::log_format, kLogFormatWords)},
      {"metricsListen", address_into(&Config::metrics_listen)},
      {"probeListen", address_into(&Config::probe_listen)},
      {"pageAnywhere", set_page_anywhere},
      {"apiListen", set_api_listen},
      {"apiCert", text_into(&Config::api_cert)},
      {"apiKey", text_into(&Config::api_key)},
      {"apiClientCA", text_into(&Config::api_client_ca)},
      {"counters", word_into(&Config::counters, kCountersWords)},
      {"sharedCounters", word_into(&Config::shared_counters, kSharedCountersWords)},
      {"countersInterval", duration_into(&Config::counters_interval, 100ms, 1min, "100ms and 1m")},
  };
  return table;
}

std::string at_line(const YAML::Node& node) {
  return "line " + std::to_string(node.Mark().line + 1);
}

Result<std::string> scalar(const YAML::Node& node) {
  if (!node.IsScalar()) return failure(Errc::kInvalid, "expected a single value");
  return node.Scalar();
}

Status apply_options(const YAML::Node& node, Config& config) {
  if (!node.IsMap())
    return failure(Errc::kInvalid, "expected a map of option: \"true\" or \"false\"");
  for (const auto& entry : node) {
    const auto value = scalar(entry.second);
    if (!value) return failure(value.error().within(entry.first.Scalar()));
    if (auto done = set_policy_option(entry.first.Scalar(), *value, config); !done) {
      return failure(done.error().within(at_line(entry.first)));
    }
  }
  return {};
}

constexpr std::string_view kOptions = "cpuManagerPolicyOptions";
constexpr std::string_view kReservedMemory = "reservedMemory";

// As the kubelet's file: a list of {numaNode: N, limits: {memory: AMOUNT}}.
Status apply_reserved_memory(const YAML::Node& list, Config& config) {
  topology::ReservedMemory reserved;
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap() || entry.size() != 2 || !entry["numaNode"] || !entry["limits"] ||
        !entry["limits"].IsMap()) {
      return failure(Errc::kInvalid,
                     at_line(entry) + ": expected {numaNode: N, limits: {memory: AMOUNT}}");
    }
    const auto number = scalar(entry["numaNode"]);
    if (!number) return failure(number.error().within("numaNode"));
    const auto node = node_number(*number);
    if (!node) return failure(node.error().within("numaNode"));
    for (const auto& limit : entry["limits"]) {
      const auto amount = scalar(limit.second);
      if (!amount) return failure(amount.error().within("limits"));
      if (Status done = reserve(*node, limit.first.Scalar(), *amount, reserved); !done) {
        return failure(done.error().within(at_line(limit.first)));
      }
    }
  }
  config.reserved_memory = std::move(reserved);
  return {};
}

Status apply_entry(const std::string& key, const YAML::Node& value, Config& config) {
  if (key == kOptions) {
    if (auto done = apply_options(value, config); !done) return failure(done.error().within(key));
    return {};
  }
  if (key == kReservedMemory && value.IsSequence()) {
    auto done = apply_reserved_memory(value, config);
    if (!done) return failure(done.error().within(key));
    return done;
  }
  const auto text = scalar(value);
  if (!text) return failure(text.error().within(key));
  return apply_setting(key, *text, config);
}

// The options refine what topologyManagerPolicy says, so they come last wherever they stand.
Status apply_document(const YAML::Node& document, Config& config) {
  if (document.IsNull()) return {};
  if (!document.IsMap()) return failure(Errc::kInvalid, "expected a map of settings");
  std::set<std::string> seen;
  for (const auto& entry : document) {
    if (!entry.first.IsScalar()) {
      return failure(Errc::kInvalid, at_line(entry.first) + ": a key is not a word");
    }
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) {
      return failure(Errc::kInvalid, at_line(entry.first) + ": " + key + ": set twice");
    }
  }
  for (const bool options : {false, true}) {
    for (const auto& entry : document) {
      const std::string& key = entry.first.Scalar();
      if ((key == kOptions) != options) continue;
      if (auto done = apply_entry(key, entry.second, config); !done) {
        return failure(done.error().within(at_line(entry.first)));
      }
    }
  }
  return {};
}

}  // namespace

Status apply_setting(std::string_view key, const std::string& value, Config& config) {
  const auto setter = setters().find(key);
  if (setter == setters().end()) {
    return failure(Errc::kInvalid, "unknown key '" + std::string(key.substr(0, 64)) + "'");
  }
  auto done = setter->second(value, config);
  if (!done) return failure(done.error().within(std::string(key)));
  return done;
}

Status apply_yaml(const std::string& text, Config& config) {
  try {
    const std::vector<YamlDocument> documents = yaml_documents(text);
    if (documents.empty()) return {};
    if (documents.size() > 1) {
      return failure(Errc::kInvalid, "line " + std::to_string(documents[1].line) +
                                         ": a second document, of which nothing would be read");
    }
    return apply_document(YAML::Load(alone(documents.front())), config);
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid,
                   "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace pinion::agent
