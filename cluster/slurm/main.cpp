// pinion-slurm: reads the configuration, runs until it is told to end. Nothing is decided here.
#include <poll.h>

#include <array>
#include <chrono>
#include <memory>

#include "base/log/ready_file.h"
#include "base/settings/daemon.h"
#include "base/signals.h"
#include "base/version.h"
#include "cluster/slurm/site.h"

namespace pinion::slurm {
namespace {

using namespace std::chrono_literals;

// Between two rounds, however much happens.
constexpr std::chrono::milliseconds kLeastPause{20};

constexpr const char* kAbout =
    "pinion-slurm runs beside slurmctld and lets an unmodified Slurm place its jobs on cores that\n"
    "placeholder pods hold: a job is held until Kubernetes has given each of its nodes a pod with\n"
    "its CPUs, then it is let go on just those nodes. It needs job_submit.lua in Slurm, and runs\n"
    "as root or SlurmUser. Flags win over the file given with --config;\n"
    "docs/virtual-clusters.md explains every setting.";

Status run(const Config& config) {
  const auto signals = take_signals();
  if (!signals) return failure(signals.error());
  Log log(config.log_level, config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  const auto bridge = Bridge::start(config, log, {});
  if (!bridge) return failure(bridge.error());
  log.info("started", {{"version", kVersion}, {"cluster", config.cluster}});
  std::unique_ptr<Site> site;
  if (!config.listen.empty()) {
    auto listening = Site::start(config.listen, **bridge);
    if (!listening) return failure(listening.error());
    site = *std::move(listening);
    log.info("listening", {{"address", site->address()}});
  }
  ReadyFile ready(config.ready_file, {{"cluster", config.cluster}}, log);
  while (!wait_for_signal(*signals, 0ms)) {
    const auto pause = (*bridge)->round([&] { return wait_for_signal(*signals, 0ms); });
    if ((*bridge)->ready()) ready.make(std::chrono::steady_clock::now());
    if (wait_for_signal(*signals, kLeastPause)) break;
    std::array<pollfd, 2> woken{
        pollfd{.fd = signals->get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = (*bridge)->descriptor(), .events = POLLIN, .revents = 0}};
    (void)poll(woken.data(), woken.size(), static_cast<int>(pause.count()));
  }
  log.info("stopping");
  return {};
}

}  // namespace
}  // namespace pinion::slurm

int main(int argc, char** argv) {
  using namespace pinion;
  slurm::Config config;
  return settings::run_daemon(
      argc, argv,
      {.program = {.name = "pinion-slurm", .about = slurm::kAbout, .version = kVersion},
       .settings = slurm::settings_of(config),
       .run = [&] { return slurm::run(config); },
       .check = [&] { return slurm::check(config); }});
}
