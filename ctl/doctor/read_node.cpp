#include "ctl/doctor/read_node.h"

#include <glob.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "agent/client/endpoint.h"
#include "base/usual_paths.h"
#include "ctl/doctor/containerd_config.h"
#include "ctl/doctor/kubelet_config.h"
#include "ctl/doctor/processes.h"
#include "ctl/doctor/program_settings.h"
#include "ctl/doctor/text_file.h"
#include "metrics/text.h"

namespace pinion::ctl::doctor {
namespace {

constexpr const char* kAgentConfig = "/etc/pinion/agent.yaml";  // of the package
constexpr const char* kKubeletConfig = "/var/lib/kubelet/config.yaml";
constexpr const char* kContainerdConfig = "/etc/containerd/config.toml";
constexpr std::size_t kMaxFiles = 64;  // of a pattern

const std::vector<ProgramKey> kAgentKeys = {{"apiListen", "api-listen"},
                                            {"apiCert", "api-cert"},
                                            {"apiKey", "api-key"},
                                            {"apiClientCA", "api-client-ca"},
                                            {"nriSocket", "nri-socket"},
                                            {"reservedSystemCPUs", "reserved-cpus"},
                                            {"kubeletDir", "kubelet-dir"},
                                            {"stateDir", "state-dir"},
                                            {"fence", "fence"}};
const std::vector<ProgramKey> kExtenderKeys = {{"tlsCert", "tls-cert"},
                                               {"tlsClientCA", "tls-client-ca"},
                                               {"agentCert", "agent-cert"},
                                               {"agentCA", "agent-ca"}};

bool exists(const std::string& path) {
  struct stat any = {};
  return stat(path.c_str(), &any) == 0;
}

// The files of a pattern, ascending.
std::vector<std::string> files_of(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc && i < kMaxFiles; ++i) {
      files.emplace_back(found.gl_pathv[i]);
    }
  }
  globfree(&found);
  return files;
}

// A program of ours that runs, or only its configuration.
struct Program {
  std::optional<Process> process;
  std::vector<int> others;  // processes of the same program
  std::string root;         // of its files, where no process runs
  std::string config_path;
  ProgramSettings settings;

  // A path of its settings, where we see it.
  [[nodiscard]] std::string file(const std::string& path) const {
    return process ? path_of(*process, path) : root + path;
  }
};

Program read_program(const std::string& root, const char* name, const std::string& usual_config,
                     const std::vector<ProgramKey>& keys, Unread& unread) {
  Program program{.process = {}, .others = {}, .root = root, .config_path = {}, .settings = {}};
  for (Process& each : find_processes(root, name)) {
    if (program.process) {
      program.others.push_back(each.pid);
    } else {
      program.process = std::move(each);
    }
  }
  std::vector<std::string> arguments;
  if (program.process) {
    arguments = program.process->arguments;
    program.config_path = flag_value(arguments, "config").value_or("");
  } else if (!usual_config.empty() && exists(root + usual_config)) {
    program.config_path = usual_config;
  }
  std::optional<std::string> text;
  if (!program.config_path.empty()) {
    auto file = read_text(program.file(program.config_path));
    if (file) {
      text = *std::move(file);
    } else {
      unread.push_back(file.error().within(std::string(name) + "'s configuration"));
    }
  }
  auto settings = program_settings(text, arguments, keys);
  if (settings) {
    program.settings = *std::move(settings);
  } else {
    unread.push_back(settings.error().within(program.config_path));
  }
  return program;
}

void add_certificates(const Program& program, const char* name,
                      const std::vector<const char*>& keys, std::vector<CertificateFile>& files) {
  for (const char* key : keys) {
    const std::string path = value_of(program.settings, key, "");
    if (path.empty()) continue;
    CertificateFile file{.use = std::string(name) + "'s " + key, .path = path, .certificates = {}};
    const auto text = path.find("..") == std::string::npos
                          ? read_text(program.file(path))
                          : failure(Errc::kInvalid, path + " leads upwards");
    file.certificates = text ? x509::read_certificates(*text) : failure(text.error());
    if (text && !file.certificates) {
      file.certificates = failure(file.certificates.error().within(path));
    }
    files.push_back(std::move(file));
  }
}

// Where the agent is to be asked: by the command line, or at its socket, which it has also where it
// listens elsewhere.
SourceOptions agent_source(const ReadOptions& options, const Program& agent) {
  SourceOptions source = options.agent;
  if (options.agent_named) return source;
  const std::string state_dir = value_of(agent.settings, "stateDir", kUsualStateDir);
  const std::string listen =
      value_of(agent.settings, "apiListen", "unix:" + state_dir + "/agent.sock");
  const auto endpoint = agent::api::Endpoint::parse(listen);
  if (!endpoint) {
    source.agent = listen;  // "off", say: the error that follows names it
    return source;
  }
  const std::string path = endpoint->is_unix() ? endpoint->path : state_dir + "/agent.sock";
  source.agent = "unix:" + agent.file(path);
  return source;
}

AgentFacts read_agent(const ReadOptions& options, const Program& agent) {
  AgentFacts facts;
  facts.running = agent.process.has_value();
  if (agent.process) facts.pid = agent.process->pid;
  facts.others = agent.others;
  facts.config_path = agent.config_path;
  const SourceOptions source = agent_source(options, agent);
  facts.address = source.agent;
  auto client = connect_agent(source);
  facts.snapshot = client ? client->snapshot(/*figures=*/false) : failure(client.error());
  const std::string reserved = value_of(agent.settings, "reservedSystemCPUs", "");
  facts.configured_fence = value_of(agent.settings, "fence", "");
  if (!agent.config_path.empty() || facts.running) {
    auto cpus = topology::CpuSet::parse(reserved);
    if (cpus) {
      facts.configured_reserved = *std::move(cpus);
    } else {
      facts.unread.push_back(cpus.error().within("reservedSystemCPUs"));
    }
  }
  if (agent.process) {
    const auto status =
        read_text(options.root + "/proc/" + std::to_string(agent.process->pid) + "/status");
    if (status) facts.capabilities = effective_capabilities(*status);
  }
  return facts;
}

void apply(const std::string& path, Unread& unread, KubeletSettings& settings) {
  const auto text = read_text(path);
  Status done = text ? apply_kubelet_config(*text, settings) : failure(text.error());
  if (!done) unread.push_back(text ? done.error().within(path) : done.error());
}

KubeletFacts read_kubelet(const ReadOptions& options, const Program& agent) {
  KubeletFacts facts;
  const std::vector<Process> kubelets = find_processes(options.root, "kubelet");
  facts.running = !kubelets.empty();
  const std::vector<std::string> arguments =
      facts.running ? kubelets.front().arguments : std::vector<std::string>();
  facts.config_path = options.kubelet_config;
  if (facts.config_path.empty()) {
    facts.config_path = flag_value(arguments, "config").value_or("");
    if (facts.config_path.empty() && exists(options.root + kKubeletConfig)) {
      facts.config_path = kKubeletConfig;
    }
  }
  KubeletSettings settings;
  if (!facts.config_path.empty()) {
    apply(options.root + facts.config_path, facts.unread, settings);
  }
  if (const auto folder = flag_value(arguments, "config-dir")) {
    for (const std::string& file : files_of(options.root + *folder + "/*.conf")) {
      apply(file, facts.unread, settings);
    }
  }
  if (Status flags = apply_kubelet_flags(arguments, settings); !flags) {
    facts.unread.push_back(flags.error().within("the kubelet's flags"));
  }
  if (facts.unread.empty() && (facts.running || !facts.config_path.empty())) {
    facts.settings = std::move(settings);
  }
  facts.state_path = flag_value(arguments, "root-dir")
                         .value_or(value_of(agent.settings, "kubeletDir", "/var/lib/kubelet")) +
                     "/cpu_manager_state";
  const auto state = read_text(options.root + facts.state_path);
  if (state) {
    auto policy = policy_of_state(*state);
    if (policy) {
      facts.state_policy = *std::move(policy);
    } else {
      facts.unread.push_back(policy.error().within(facts.state_path));
    }
  } else if (state.error().code != Errc::kNotFound) {
    facts.unread.push_back(state.error());
  }
  return facts;
}

// A configuration that is there, with its imports, one level deep as containerd's own.
std::optional<ContainerdSettings> read_containerd(const std::string& root, const std::string& path,
                                                  Unread& unread) {
  ContainerdSettings settings;
  const auto add = [&](const std::string& file) {
    const auto text = read_text(file);
    const Status done = text ? apply_containerd_config(*text, settings) : failure(text.error());
    if (!done) unread.push_back(text ? done.error().within(file) : done.error());
    return done.has_value();
  };
  if (!add(root + path)) return std::nullopt;
  const std::vector<std::string> imports = std::exchange(settings.imports, {});
  for (const std::string& pattern : imports) {
    std::string where = root;
    if (!pattern.starts_with('/')) where.append(path, 0, path.rfind('/') + 1);
    for (const std::string& file : files_of(where.append(pattern))) {
      if (!add(file)) return std::nullopt;
    }
  }
  return settings;
}

// Below another root, absolute links lead elsewhere: /var/run is one as a rule.
std::string socket_below(const std::string& root, const std::string& path) {
  const bool link = !root.empty() && path.starts_with("/var/run/") && !exists(root + path);
  return root + (link ? path.substr(4) : path);
}

RuntimeFacts read_runtime(const ReadOptions& options, const Program& agent) {
  RuntimeFacts facts;
  facts.socket_path = value_of(agent.settings, "nriSocket", kUsualNriSocket);
  // The path is the agent's: the chart may mount another folder of the node there (hostPaths.nri).
  const std::string& root = agent.process ? agent.process->root : options.root;
  const bool absolute = facts.socket_path.starts_with('/');
  facts.socket = agent::api::probe_unix(absolute ? socket_below(root, facts.socket_path)
                                                 : agent.file(facts.socket_path));
  facts.config_path =
      options.containerd_config.empty() ? kContainerdConfig : options.containerd_config;
  if (!options.containerd_config.empty() || exists(options.root + facts.config_path)) {
    facts.settings = read_containerd(options.root, facts.config_path, facts.unread);
  }
  return facts;
}

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  for (std::string_view word = metrics::text::next_word(text); !word.empty();
       word = metrics::text::next_word(text)) {
    words.emplace(word);
  }
  return words;
}

// The hierarchy that has cpusets, by the mounts that init sees.
struct CpusetMount {
  std::string v1;
  std::string v2;
};

// Of PID 1's mounts: libcgroup reads those of this process, which may run in a container.
CpusetMount cpuset_mount(std::string_view mounts) {
  CpusetMount found;
  while (!mounts.empty()) {
    std::string_view line = metrics::text::next_line(mounts);
    metrics::text::next_word(line);  // the device
    const std::string_view folder = metrics::text::next_word(line);
    const std::string_view type = metrics::text::next_word(line);
    const std::string options = "," + std::string(metrics::text::next_word(line)) + ",";
    if (type == "cgroup2" && found.v2.empty()) found.v2 = folder;
    if (type == "cgroup" && options.find(",cpuset,") != std::string::npos) found.v1 = folder;
  }
  return found;
}

CgroupFacts read_cgroup(const std::string& root) {
  CgroupFacts facts;
  facts.systemd = exists(root + "/run/systemd/system");
  const auto mounts = read_text(root + "/proc/1/mounts");
  if (!mounts) {
    facts.unread.push_back(mounts.error());
    return facts;
  }
  const CpusetMount mount = cpuset_mount(*mounts);
  const std::string folder = root + (mount.v1.empty() ? mount.v2 : mount.v1);
  facts.version = !mount.v1.empty() ? 1 : !mount.v2.empty() ? 2 : 0;
  if (facts.version != 2) return facts;
  const auto controllers = read_text(folder + "/cgroup.controllers");
  if (!controllers) {
    facts.unread.push_back(controllers.error());
    return facts;
  }
  facts.controllers = words_of(*controllers);
  for (const char* name : {"/kubepods", "/kubepods.slice"}) {
    const auto found = read_text(folder + name + "/cgroup.controllers");
    if (found) facts.pods.push_back({.path = name, .controllers = words_of(*found)});
  }
  return facts;
}

PerfFacts read_perf(const std::string& root) {
  PerfFacts facts;
  const auto text = read_text(root + "/proc/sys/kernel/perf_event_paranoid");
  if (text) facts.paranoid = metrics::text::to_number<int>(metrics::text::trimmed(*text));
  return facts;
}

}  // namespace

NodeFacts read_node(const ReadOptions& options) {
  NodeFacts facts;
  Unread unread;
  const Program agent =
      read_program(options.root, "pinion-agent", kAgentConfig, kAgentKeys, unread);
  facts.agent = read_agent(options, agent);
  facts.agent.unread.insert(facts.agent.unread.begin(), unread.begin(), unread.end());
  facts.kubelet = read_kubelet(options, agent);
  facts.runtime = read_runtime(options, agent);
  facts.cgroup = read_cgroup(options.root);
  facts.perf = read_perf(options.root);
  add_certificates(agent, "pinion-agent", {"apiCert", "apiClientCA"}, facts.certificates);
  Unread of_extender;
  const Program extender =
      read_program(options.root, "pinion-extender", "", kExtenderKeys, of_extender);
  add_certificates(extender, "pinion-extender", {"tlsCert", "tlsClientCA", "agentCert", "agentCA"},
                   facts.certificates);
  for (const Error& why : of_extender) {
    facts.certificates.push_back({.use = "pinion-extender's files",
                                  .path = extender.config_path,
                                  .certificates = failure(why)});
  }
  facts.processes = metrics::host_processes(options.root);
  return facts;
}

ClockFacts read_clock() {
  timex query = {};
  const int state = adjtimex(&query);
  if (state < 0) return {};
  return {.synchronized = state != TIME_ERROR};
}

}  // namespace pinion::ctl::doctor
