#include "agent/settings.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "agent/client/endpoint.h"
#include "base/net/listen_address.h"
#include "base/usual_paths.h"
#include "base/utf8.h"
#include "nri-plugin/session.h"
#include "policy/reserved_settings.h"
#include "policy/settings.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;
using settings::Setting;

// A text that is set where `good` has nothing against it.
Setting checked(std::string key, std::string help, std::string& value,
                std::function<Status(const std::string& given)> good) {
  Setting setting = settings::text(std::move(key), std::move(help), value);
  setting.set = [set = std::move(setting.set),
                 good = std::move(good)](const std::string& given) -> Status {
    Status done = good(given);
    return done ? set(given) : done;
  };
  return setting;
}

Setting nri_index(std::string& index) {
  return checked("nriIndex", "Two digits: turn among the runtime's plugins [10]", index,
                 [](const std::string& given) {
                   nri::SessionOptions options;
                   options.index = given;
                   return nri::validate(options);
                 });
}

Status check_path(const std::string& given) {
  return given.empty() ? failure(Errc::kInvalid, "it may not be empty") : Status();
}

Setting nri_socket(std::string& path) {
  return checked("nriSocket", std::string("The runtime's NRI socket [") + kUsualNriSocket + "]",
                 path, [](const std::string& given) -> Status {
                   if (Status some = check_path(given); !some) return some;
                   const auto address = api::unix_address(given);
                   return address ? Status() : failure(address.error());
                 });
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

// "ADDR:PORT", or nothing.
Setting address(std::string key, std::string help, std::string& value) {
  return checked(std::move(key), std::move(help), value, [](const std::string& given) -> Status {
    if (given.empty()) return {};
    const auto parsed = net::parse_listen_address(given);
    return parsed ? Status() : failure(parsed.error());
  });
}

Setting api_listen(std::string& value) {
  return checked("apiListen",
                 "gRPC: unix:PATH, ADDR:PORT (mutual TLS) beside the default, or off "
                 "[unix:STATE_DIR/agent.sock]",
                 value, [](const std::string& given) -> Status {
                   if (given.empty() || given == "off") return {};
                   const auto parsed = api::Endpoint::parse(given);
                   return parsed ? Status() : failure(parsed.error());
                 });
}

}  // namespace

std::vector<Setting> settings_of(Config& config) {
  using settings::duration;
  using settings::text;
  using settings::word;
  std::vector<Setting> all{
      nri_socket(config.nri_socket),
      nri_index(config.nri_index),
      topology_source(config.topology),
      text("hostRoot", "Directory that holds the host's /sys and /proc [/]", config.host_root),
      policy::reserved_cpus(config.reserved),
      policy::reserved_memory(config.reserved_memory)};
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
      checked("stateDir",
              std::string("Directory of the lock and of agent.sock [") + kUsualStateDir + "]",
              config.state_dir, check_path),
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
