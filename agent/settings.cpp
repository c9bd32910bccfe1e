#include "agent/settings.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "agent/client/endpoint.h"
#include "base/net/listen_address.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "nri-plugin/session.h"
#include "policy/settings.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;
using settings::Setting;

Setting reserved_cpus(topology::CpuSet& reserved) {
  return {.key = "reservedSystemCPUs",
          .help = "CPUs never given away, e.g. 0-1,64 [none]",
          .set = [&reserved](const std::string& value) -> Status {
            const auto cpus = topology::CpuSet::parse(value);
            if (!cpus) return failure(cpus.error());
            reserved = *cpus;
            return {};
          },
          .show = [&reserved] { return reserved.to_string(); },
          .flag = "--reserved-cpus"};
}

Setting nri_index(std::string& index) {
  Setting setting =
      settings::text("nriIndex", "Two digits: turn among the runtime's plugins [10]", index);
  setting.set = [&index](const std::string& value) -> Status {
    nri::SessionOptions options;
    options.index = value;
    if (auto valid = nri::validate(options); !valid) return valid;
    index = value;
    return {};
  };
  return setting;
}

Setting topology_source(std::optional<std::string>& topology) {
  return {.key = "topology",
          .help = "live | xml:FILE | synthetic:STRING | root:DIR [the machine at --host-root]",
          .set = [&topology](const std::string& value) -> Status {
            const auto source = topology::Source::parse(value);
            if (!source) return failure(source.error());
            topology = value;
            return {};
          },
          .show = {},
          .show_lines =
              [&topology] {
                return topology ? "topology: " + settings::yaml_quoted(*topology) + "\n" : "";
              }};
}

// One resource of a node; hugepages, which the kubelet reserves here too, are not promised.
Status reserve(topology::NodeId node, const std::string& resource, const std::string& amount,
               topology::ReservedMemory& reserved) {
  if (resource != "memory" && !resource.starts_with("hugepages-")) {
    return failure(Errc::kInvalid, "unknown resource " + quoted_value(resource) +
                                       ", use memory (hugepages-SIZE is passed over)");
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
    return failure(Errc::kInvalid, quoted_value(text) + " is no number of a NUMA node");
  }
  return node->first();
}

// As the kubelet's --reserved-memory: "0:memory=1Gi;1:memory=2Gi,hugepages-2Mi=1Gi".
Result<topology::ReservedMemory> reserved_memory_of(const std::string& value) {
  topology::ReservedMemory reserved;
  for (const std::string& part : settings::parts_of(value, ';')) {
    const auto colon = part.find(':');
    const auto node = node_number(part.substr(0, colon));
    if (!node) return failure(node.error());
    if (colon == std::string::npos) {
      return failure(Errc::kInvalid, "expected NODE:memory=AMOUNT, not " + quoted_value(part));
    }
    const auto limits = std::string_view(part).substr(colon + 1);
    for (const std::string& limit : settings::parts_of(limits, ',')) {
      const auto equals = limit.find('=');
      const std::string amount = equals == std::string::npos ? "" : limit.substr(equals + 1);
      const auto done = reserve(*node, limit.substr(0, equals), amount, reserved);
      if (!done) return failure(done.error());
    }
  }
  return reserved;
}

// As the kubelet's file: a list of {numaNode: N, limits: {memory: AMOUNT}}.
Result<topology::ReservedMemory> reserved_memory_of(const YAML::Node& list) {
  const auto wrong = [](const YAML::Node& entry) {
    return failure(Errc::kInvalid,
                   settings::at_line(entry) + ": expected {numaNode: N, limits: {memory: AMOUNT}}");
  };
  topology::ReservedMemory reserved;
  if (!list.IsSequence()) return wrong(list);
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap() || entry.size() != 2 || !entry["numaNode"] || !entry["limits"] ||
        !entry["numaNode"].IsScalar() || !entry["limits"].IsMap()) {
      return wrong(entry);
    }
    const auto node = node_number(entry["numaNode"].Scalar());
    if (!node) return failure(node.error().within("numaNode"));
    for (const auto& limit : entry["limits"]) {
      if (!limit.first.IsScalar() || !limit.second.IsScalar()) return wrong(entry);
      const auto done = reserve(*node, limit.first.Scalar(), limit.second.Scalar(), reserved);
      if (!done) return failure(done.error().within(settings::at_line(limit.first)));
    }
  }
  return reserved;
}

// As the kubelet's file has it; nothing where it is not set.
std::string reserved_memory_lines(const std::optional<topology::ReservedMemory>& reserved) {
  if (!reserved) return "";
  if (reserved->empty()) return "reservedMemory: []\n";
  std::string yaml = "reservedMemory:\n";
  for (const auto& [node, bytes] : *reserved) {
    yaml += "  - numaNode: " + std::to_string(node) + "\n    limits:\n      memory: \"" +
            std::to_string(bytes) + "\"\n";
  }
  return yaml;
}

Setting reserved_memory(std::optional<topology::ReservedMemory>& reserved) {
  const auto take_over = [&reserved](Result<topology::ReservedMemory> read) -> Status {
    if (!read) return failure(read.error());
    reserved = std::move(*read);
    return {};
  };
  return {
      .key = "reservedMemory",
      .help =
          "Never promised to bound containers, as 0:memory=1Gi;1:memory=1Gi [1/32 of each "
          "node, 100 MiB to 1 GiB]",
      .set = [take_over](const std::string& value) { return take_over(reserved_memory_of(value)); },
      .show = {},
      .set_tree =
          [take_over](const YAML::Node& list) { return take_over(reserved_memory_of(list)); },
      .show_lines = [&reserved] { return reserved_memory_lines(reserved); }};
}

// "ADDR:PORT", or nothing.
Setting address(std::string key, std::string help, std::string& value) {
  Setting setting = settings::text(std::move(key), std::move(help), value);
  setting.set = [&value](const std::string& given) -> Status {
    if (!given.empty()) {
      if (const auto good = net::parse_listen_address(given); !good) return failure(good.error());
    }
    value = given;
    return {};
  };
  return setting;
}

Setting api_listen(std::string& value) {
  Setting setting = settings::text(
      "apiListen", "gRPC: unix:PATH, ADDR:PORT (mutual TLS) or off [unix:STATE_DIR/agent.sock]",
      value);
  setting.set = [&value](const std::string& given) -> Status {
    if (!given.empty() && given != "off") {
      if (const auto good = api::Endpoint::parse(given); !good) return failure(good.error());
    }
    value = given;
    return {};
  };
  return setting;
}

}  // namespace

std::vector<Setting> settings_of(Config& config) {
  using settings::duration;
  using settings::text;
  using settings::word;
  std::vector<Setting> all{
      text("nriSocket", "The runtime's NRI socket [/var/run/nri/nri.sock]", config.nri_socket),
      nri_index(config.nri_index),
      topology_source(config.topology),
      text("hostRoot", "Directory that holds the host's /sys and /proc [/]", config.host_root),
      reserved_cpus(config.reserved),
      reserved_memory(config.reserved_memory)};
  for (Setting& setting : policy::settings_of(config.defaults, config.strict_reservation)) {
    all.push_back(std::move(setting));
  }
  std::vector<Setting> rest{
      word("fence", "How others are kept off: auto | partition | tree | leaf | runtime [auto]",
           config.fence, kFenceWords),
      word("partition", "Partitions made: root | asked | isolated (asked: by the pod) [root]",
           config.partition, kPartitionWords),
      settings::words("kernelNoise",
                      "Kept off exclusive CPUs: some of irq,workqueue,rcu, with commas [nothing]",
                      config.kernel_noise, noise::kKindWords),
      text("stateDir", "Directory of the lock and of agent.sock [/run/pinion]", config.state_dir),
      text("kubeletDir", "The kubelet's directory, under --host-root [/var/lib/kubelet]",
           config.kubelet_dir),
      duration("auditInterval", "How often cgroup files are compared, 100ms to 60m [10s]",
               config.audit_interval, 100ms, 60min),
      text("readyFile",
           "File made once all containers are known; holds the addresses in use [none]",
           config.ready_file),
      address("metricsListen",
              "ADDR:PORT of /metrics, /livez, /readyz and the page; port 0 picks one [not served]",
              config.metrics_listen),
      address("probeListen",
              "ADDR:PORT of /livez and /readyz alone, for the kubelet's probes [not served]",
              config.probe_listen),
      settings::yes_no("pageAnywhere",
                       "true: serve the page on other than loopback addresses too [false]",
                       config.page_anywhere),
      api_listen(config.api_listen),
      text("apiCert", "PEM file of the server's certificate, read again when it changes [none]",
           config.api_cert),
      text("apiKey", "PEM file of its key [none]", config.api_key),
      text("apiClientCA", "PEM file of the authority of clients' certificates [none]",
           config.api_client_ca),
      word("counters", "What perf counts: all | software | off [all]", config.counters,
           kCountersWords),
      word("sharedCounters",
           "Containers without cores of their own: light (no perf) | full [light]",
           config.shared_counters, kSharedCountersWords),
      duration("countersInterval", "Time between readings, 100ms to 1m [1s]",
               config.counters_interval, 100ms, 1min),
      word("logLevel", "trace | debug | info | warn | error [info]", config.log_level,
           {kLogLevels.begin(), kLogLevels.end()}),
      word("logFormat", "text | json [text]", config.log_format, kLogFormatWords)};
  for (Setting& setting : rest) all.push_back(std::move(setting));
  return all;
}

}  // namespace pinion::agent
