#include "agent/config.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "agent/config_file.h"
#include "base/version.h"
#include "base/whole_file.h"

namespace pinion::agent {
namespace {

struct Flag {
  const char* name;
  const char* key;  // of the configuration file
  const char* help;
};

constexpr Flag kFlags[] = {
    {"--nri-socket", "nriSocket", "The runtime's NRI socket [/var/run/nri/nri.sock]"},
    {"--nri-index", "nriIndex", "Two digits: turn among the runtime's plugins [10]"},
    {"--topology", "topology",
     "live | xml:FILE | synthetic:STRING | root:DIR [the machine at --host-root]"},
    {"--host-root", "hostRoot", "Directory that holds the host's /sys and /proc [/]"},
    {"--reserved-cpus", "reservedSystemCPUs", "CPUs never given away, e.g. 0-1,64 [none]"},
    {"--reserved-memory", "reservedMemory",
     "Never promised to bound containers, as 0:memory=1Gi;1:memory=1Gi [1/32 of each node, 100 MiB "
     "to 1 GiB]"},
    {"--exclusive-pods", "exclusivePods",
     "Guaranteed pods that get CPUs of their own: guaranteed (all) | annotated [guaranteed]"},
    {"--exclusive-namespaces", "exclusiveNamespaces",
     "Namespaces of pods that get CPUs of their own, with commas [all]"},
    {"--allowed-wishes", "allowedWishes",
     "What annotations may ask: some of one-per-core,isolated,near-device [near-device]"},
    {"--fence", "fence",
     "How others are kept off: auto | partition | tree | leaf | runtime [auto]"},
    {"--partition", "partition",
     "Partitions made: root | asked | isolated (asked: by the pod) [root]"},
    {"--kernel-noise", "kernelNoise",
     "Kept off exclusive CPUs: some of irq,workqueue,rcu, with commas [nothing]"},
    {"--state-dir", "stateDir", "Directory of the lock and of agent.sock [/run/pinion]"},
    {"--kubelet-dir", "kubeletDir",
     "The kubelet's directory, under --host-root [/var/lib/kubelet]"},
    {"--audit-interval", "auditInterval",
     "How often cgroup files are compared, 100ms to 60m [10s]"},
    {"--ready-file", "readyFile",
     "File made once all containers are known; holds the addresses in use [none]"},
    {"--metrics-listen", "metricsListen",
     "ADDR:PORT of /metrics, /livez, /readyz and the page; port 0 picks one [not served]"},
    {"--probe-listen", "probeListen",
     "ADDR:PORT of /livez and /readyz alone, for the kubelet's probes [not served]"},
    {"--page-anywhere", "pageAnywhere",
     "true: serve the page on other than loopback addresses too [false]"},
    {"--api-listen", "apiListen",
     "gRPC: unix:PATH, ADDR:PORT (mutual TLS) or off [unix:STATE_DIR/agent.sock]"},
    {"--api-cert", "apiCert", "PEM file of the server's certificate, read again when it changes"},
    {"--api-key", "apiKey", "PEM file of its key"},
    {"--api-client-ca", "apiClientCA", "PEM file of the authority of clients' certificates"},
    {"--counters", "counters", "What perf counts: all | software | off [all]"},
    {"--shared-counters", "sharedCounters",
     "Containers without cores of their own: light (no perf) | full [light]"},
    {"--counters-interval", "countersInterval", "Time between readings, 100ms to 1m [1s]"},
    {"--log-level", "logLevel", "trace | debug | info | warn | error [info]"},
    {"--log-format", "logFormat", "text | json [text]"},
};

constexpr const char* kAbout =
    "pinion-agent gives containers of Guaranteed pods exclusive CPU cores inside one NUMA node,\n"
    "through containerd's NRI. Stop the kubelet's own CPU manager first (cpuManagerPolicy: none).\n"
    "Flags win over the file given with --config; docs/configuration.md explains every setting.";

Status load_file(const std::string& path, Config& config) {
  const auto text = read_file(path, 1);  // an error for a directory, too
  if (!text) return failure(text.error().within("configuration"));
  auto done = apply_yaml(*text, config);
  if (!done) return failure(done.error().within(path));
  return done;
}

// YAML's single quotes: nothing in them but the quote itself has a meaning.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

template <class T, std::size_t N>
std::string words_of(const std::set<T>& values, const std::array<Word<T>, N>& table) {
  std::string words;
  for (const T value : values) {
    words.append(words.empty() ? "" : ",").append(word_of(value, table));
  }
  return words;
}

std::string joined(const std::set<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list.append(list.empty() ? "" : ",").append(word);
  return list;
}

// As the kubelet's configuration file has it.
std::string yaml_of(const topology::ReservedMemory& reserved) {
  if (reserved.empty()) return "reservedMemory: []\n";
  std::string yaml = "reservedMemory:\n";
  for (const auto& [node, bytes] : reserved) {
    yaml += "  - numaNode: " + std::to_string(node) + "\n    limits:\n      memory: \"" +
            std::to_string(bytes) + "\"\n";
  }
  return yaml;
}

}  // namespace

std::string Config::on_host(const std::string& path) const {
  return host_root == "/" ? path : host_root + path;
}

Result<topology::Source> Config::source() const {
  if (topology) return topology::Source::parse(*topology);
  if (host_root == "/") return topology::Source{.kind = topology::Source::Kind::kLive, .value = {}};
  return topology::Source{.kind = topology::Source::Kind::kRoot, .value = host_root};
}

Result<Invocation> read_command_line(int argc, const char* const* argv) {
  CLI::App app(kAbout, "pinion-agent");
  Invocation invocation;
  std::string config_file;
  app.add_option("--config", config_file,
                 "YAML file with the settings below under their long names");
  app.add_flag("--check-config", invocation.check_only,
               "Print the resulting configuration and exit");
  app.set_version_flag("--version", std::string(kVersion));
  bool strict = false;
  app.add_flag("--strict-cpu-reservation", strict, "Keep reserved CPUs for kube-system alone");
  std::map<std::string, std::string> given;
  for (const Flag& flag : kFlags) {
    app.add_option_function<std::string>(
        flag.name, [&given, &flag](const std::string& value) { given[flag.key] = value; },
        flag.help);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    invocation.exit_code = app.exit(error) == 0 ? 0 : 2;
    return invocation;
  }
  if (!config_file.empty()) {
    if (auto loaded = load_file(config_file, invocation.config); !loaded)
      return failure(loaded.error());
  }
  for (const Flag& flag : kFlags) {
    const auto value = given.find(flag.key);
    if (value == given.end()) continue;
    if (auto set = apply_setting(flag.key, value->second, invocation.config); !set) {
      return failure(set.error().within(flag.name));
    }
  }
  if (strict) invocation.config.strict_reservation = true;
  return invocation;
}

std::string to_yaml(const Config& config) {
  const auto manager = [&]() -> std::string {
    if (config.defaults.align == topology::Align::kNone) return "topologyManagerPolicy: none\n";
    if (!config.defaults.strength) return "";
    const bool required = config.defaults.strength == topology::Strength::kRequired;
    return std::string("topologyManagerPolicy: ") +
           (required ? "single-numa-node\n" : "best-effort\n");
  };
  const auto yes_no = [](bool on) { return on ? "\"true\"" : "\"false\""; };
  std::ostringstream out;
  out << "nriSocket: " << quoted(config.nri_socket) << "\nnriIndex: \"" << config.nri_index
      << "\"\n";
  if (config.topology) out << "topology: " << quoted(*config.topology) << "\n";
  out << "hostRoot: " << quoted(config.host_root) << "\nreservedSystemCPUs: \""
      << config.reserved.to_string() << "\"\n"
      << manager() << "cpuManagerPolicyOptions:\n"
      << "  full-pcpus-only: " << yes_no(config.defaults.smt == topology::Smt::kFullCore)
      << "\n  strict-cpu-reservation: " << yes_no(config.strict_reservation)
      << "\n  align-by-socket: " << yes_no(config.defaults.align == topology::Align::kSocket)
      << "\n  prefer-align-cpus-by-uncorecache: "
      << yes_no(config.defaults.align == topology::Align::kL3)
      << "\nexclusivePods: " << word_of(config.defaults.pods, policy::kExclusivePodsWords)
      << "\nexclusiveNamespaces: " << quoted(joined(config.defaults.namespaces))
      << "\nallowedWishes: "
      << quoted(words_of(config.defaults.privileges, policy::kPrivilegeWords))
      << "\nfence: " << word_of(config.fence, kFenceWords)
      << "\npartition: " << word_of(config.partition, kPartitionWords)
      << "\nkernelNoise: " << quoted(words_of(config.kernel_noise, noise::kKindWords))
      << "\nstateDir: " << quoted(config.state_dir)
      << "\nkubeletDir: " << quoted(config.kubelet_dir)
      << "\nauditInterval: " << config.audit_interval.count() << "ms\n";
  out << "metricsListen: " << quoted(config.metrics_listen)
      << "\nprobeListen: " << quoted(config.probe_listen)
      << "\npageAnywhere: " << (config.page_anywhere ? "true" : "false")
      << "\napiListen: " << quoted(config.api_listen) << "\napiCert: " << quoted(config.api_cert)
      << "\napiKey: " << quoted(config.api_key) << "\napiClientCA: " << quoted(config.api_client_ca)
      << "\ncounters: " << word_of(config.counters, kCountersWords)
      << "\nsharedCounters: " << word_of(config.shared_counters, kSharedCountersWords)
      << "\ncountersInterval: " << config.counters_interval.count() << "ms\n";
  if (config.reserved_memory) out << yaml_of(*config.reserved_memory);
  if (!config.ready_file.empty()) out << "readyFile: " << quoted(config.ready_file) << "\n";
  out << "logLevel: " << config.log_level
      << "\nlogFormat: " << word_of(config.log_format, kLogFormatWords) << "\n";
  return out.str();
}

}  // namespace pinion::agent
