// pinion-agent: composes everything. Nothing is decided here.
#include <google/protobuf/stubs/logging.h>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "agent/collector_thread.h"
#include "agent/config.h"
#include "agent/counting.h"
#include "agent/host_daemons.h"
#include "agent/kept_file.h"
#include "agent/main_loop.h"
#include "agent/noise_thread.h"
#include "agent/preflight.h"
#include "agent/reload.h"
#include "agent/serving.h"
#include "agent/settings.h"
#include "base/log/log.h"
#include "base/log/ready_file.h"
#include "base/process/memory.h"
#include "base/settings/daemon.h"
#include "base/signals.h"
#include "base/state_lock.h"
#include "base/version.h"
#include "metrics/perf/limits.h"
#include "nri-plugin/launch.h"

namespace pinion::agent {
namespace {

nri::Connection connect(const Config& config, const std::optional<nri::Launch>& launch,
                        RuntimeLock& beside, nri::Handler& handler) {
  nri::ConnectionOptions options;
  options.socket = config.nri_socket;
  options.before_session = [&beside] { return beside.hold(); };
  options.session.index = config.nri_index;
  if (!launch) return {options, handler};
  if (!launch->name.empty()) options.session.name = launch->name;
  if (!launch->index.empty()) options.session.index = launch->index;
  return {options, handler, Fd(launch->fd)};
}

// How often settings of the kernel are looked at while CPUs are held exclusively. irqbalance, which
// may change them, looks every 10 s.
constexpr std::chrono::seconds kNoiseLook{5};

// What is to keep kernel noise off; nothing where that is not asked for. What a killed agent has
// left is restored then.
std::optional<noise::KernelNoise> open_noise(const Config& config, const topology::Source& source,
                                             Log& log) {
  const bool elsewhere = config.topology && source.kind != topology::Source::Kind::kLive;
  if (elsewhere) {
    if (config.kernel_noise.empty()) return std::nullopt;
    log.warn("kernelNoise has no effect: the topology is not this machine's");
    return std::nullopt;
  }
  noise::KernelNoise noise(
      {.roots = {.proc = config.on_host("/proc"), .sys = config.on_host("/sys")},
       .saved_file = config.state_dir + "/" + noise::kSavedName,
       .kinds = config.kernel_noise});
  if (!config.kernel_noise.empty()) return noise;
  const noise::Pass pass = noise.apply({});
  tell_restored(pass, log);
  for (const std::string& why : pass.failed) {
    log.warn("kernel noise of an agent before this one is not restored", {{"why", why}});
  }
  return std::nullopt;
}

// Devices are of this machine, whatever the topology is.
DeviceNodes find_device_nodes(const Config& config, const topology::Source& source) {
  using Kind = topology::Source::Kind;
  const bool here = source.kind == Kind::kLive || source.kind == Kind::kRoot;
  return here ? DeviceNodes(config.host_root) : DeviceNodes();
}

// Holds the lock of a state directory that somebody has removed again, and has what stood there
// written again. `trouble`: why that failed, as said last. Error: another agent holds it now.
Status keep_state_dir(StateLock& lock, Node& node, std::string& trouble, Log& log) {
  const auto taken = lock.hold();
  if (!taken && taken.error().code == Errc::kExhausted) return failure(taken.error());
  const std::string why = taken ? std::string() : taken.error().text;
  if (std::exchange(trouble, why) != why && !taken) {
    log.warn("the state directory is gone and cannot be made again", {{"why", why}});
  }
  if (taken && *taken) {
    log.warn("the state directory was gone, it is made again");
    node.save_again();
  }
  return {};
}

Status run(Config config, const std::function<Result<Config>()>& read_again) {
  give_back_memory();  // the linker and what runs before main() have read most of the program
  // Else protobuf writes to standard error by itself when a message holds broken text.
  google::protobuf::SetLogHandler(nullptr);
  auto signals = take_signals({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return failure(signals.error());
  if (auto enough = reserve_descriptors(); !enough) return enough;
  const auto launch = nri::read_launch([](const char* name) { return std::getenv(name); });
  if (!launch) return failure(launch.error());
  if (auto allowed = check_kubelet(config); !allowed) return allowed;
  StateLock lock(config.state_dir);
  if (const auto held = lock.hold(); !held) return failure(held.error());
  RuntimeLock beside(config.nri_socket);
  if (auto alone = beside.hold(); !alone) return alone;
  const auto source = config.source();
  if (!source) return failure(source.error());
  auto topology = topology::discover(*source);
  if (!topology) return failure(topology.error().within("read the machine"));
  if (auto fits = check_described(config, *topology); !fits) return fits;
  const policy::Reserved reserved = config.kept_back();
  if (auto valid = policy::check_reserved(reserved, *topology); !valid) return valid;
  const topology::ReservedMemory reserved_memory = reserved.memory_of(*topology);
  topology = topology::without_reserved_memory(std::move(*topology), reserved_memory);
  auto enforcement = choose_enforcement(config, topology->online);
  if (!enforcement) return failure(enforcement.error());

  Log log(config.log_level, config.log_format);
  engine::Engine engine(std::move(*topology),
                        {.reserved = config.reserved,
                         .strict_reservation = config.strict_reservation,
                         .defaults = config.defaults,
                         .machine_memory = config.topology ? 0 : machine_memory(),
                         .partition_kinds = config.partition},
                        enforcement->fence);
  log.info("started", {{"version", kVersion},
                       {"cpus", engine.state().topology.online.to_string()},
                       {"numa_nodes", std::to_string(engine.state().topology.nodes.size())},
                       {"reserved", config.reserved.to_string()},
                       {"fence", std::string(engine.fence_name())},
                       {"cgroups", enforcement->why}});
  for (const std::string& key : without_effect(config)) {
    log.warn("a setting has no effect", {{"setting", key}});
  }
  if (config.reserved.empty()) {
    log.warn(
        "no CPU is reserved: the kubelet, the runtime and system daemons have only what ranks "
        "leave them",
        {{"setting", "reservedSystemCPUs"}});
  } else if (engine.state().topology.online.is_subset_of(config.reserved)) {
    log.warn("all CPUs are reserved: every container that should get CPUs of its own is refused",
             {{"setting", "reservedSystemCPUs"}});
  }
  const topology::CpuSet siblings =
      policy::siblings_of_reserved(config.reserved, engine.state().topology);
  if (!siblings.empty()) {
    log.warn("a core is reserved in part: a rank may get the other CPUs of it",
             {{"setting", "reservedSystemCPUs"},
              {"reserved", config.reserved.to_string()},
              {"siblings", siblings.to_string()}});
  }
  if (!enforcement->denied.empty()) {
    log.warn("the fence is weaker than this machine allows: the agent lacks rights",
             {{"fence", std::string(engine.fence_name())}, {"why", enforcement->denied}});
  }
  std::jthread looking_for_daemons;  // a large machine has many: nobody waits
  if (enforcement->files && enforcement->fence != engine::FenceKind::kPartition) {
    looking_for_daemons =
        std::jthread([&log, root = config.on_host(""), reserved = config.reserved,
                      online = engine.state().topology.online](const std::stop_token& stop) {
          const auto warning = warning_of_host_daemons(root, online - reserved, reserved, stop);
          if (warning) log.write(*warning);
        });
  }
  metrics::perf::KernelPerf perf(metrics::perf::kReservedDescriptors);
  metrics::Collector collector(choose_counting(config, enforcement->files.has_value(),
                                               engine.state().topology.online, perf, log));
  Published<NodeView> views;
  Published<metrics::Sample> samples;
  Published<noise::Figures> noise_figures;
  Heartbeat heart(std::chrono::steady_clock::now());
  const auto serving = Serving::start(config, views, samples, noise_figures, heart);
  if (!serving) return failure(serving.error());
  for (const auto& [what, address] : (*serving)->addresses()) {
    log.info("serving", {{"what", what}, {"address", address}});
  }
  const CollectorThread collecting(collector, views, samples, config.counters_interval);

  auto kernel_noise = open_noise(config, *source, log);
  std::optional<NoiseThread> keeping_off;
  if (kernel_noise) keeping_off.emplace(*kernel_noise, views, noise_figures, log, kNoiseLook);

  const std::string kept_file = config.state_dir + "/" + kKeptFile;
  if (auto kept = load_kept(kept_file)) {
    engine.restore(*std::move(kept));
  } else {
    log.warn("what pods kept before the restart is not known", {{"why", kept.error().text}});
  }
  Node node(std::move(engine), std::move(enforcement->files),
            MachineWatch::of(*source, reserved_memory), log, config.audit_interval,
            find_device_nodes(config, *source), kept_file);
  nri::Connection connection = connect(config, *launch, beside, node);
  ViewPublisher publisher(node, views, !enforcement->denied.empty());
  ReadyFile ready(config.ready_file, (*serving)->addresses(), log);
  const auto again = [&] {
    if (reload(config, read_again, log)) node.use(config.defaults, config.audit_interval);
  };
  std::string trouble;
  const auto alone = [&] {
    if (Status still = keep_state_dir(lock, node, trouble, log); !still) return still;
    // A runtime that launches its agents makes its socket's directory after that.
    return *launch && !beside.held() ? beside.hold() : Status();
  };
  auto done = run_main_loop(node, connection, publisher, *signals, again, alone, ready, heart);
  if (done) node.end(std::chrono::steady_clock::now());
  publisher.publish(std::chrono::steady_clock::now(), node, connection);
  log.info("stopped, containers keep their cores");
  return done;
}

}  // namespace
}  // namespace pinion::agent

int main(int argc, char** argv) {
  using namespace pinion;
  agent::Config config;
  const auto read_again = [&] { return agent::read_config(argc, argv); };
  return settings::run_daemon(argc, argv,
                              {.program = agent::program(),
                               .settings = agent::settings_of(config),
                               .run = [&] { return agent::run(config, read_again); },
                               .check = [&] { return agent::check(config); },
                               .without_effect = [&] { return agent::without_effect(config); }});
}
