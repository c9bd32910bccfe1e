// pinion-slurm: reads the configuration, runs until it is told to end. Nothing is decided here.
#include <poll.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "base/log/ready_file.h"
#include "base/signals.h"
#include "base/version.h"
#include "cluster/slurm/bridge.h"

namespace pinion::slurm {
namespace {

// Between two rounds, however much happens.
constexpr int kLeastPauseMs = 20;

constexpr const char* kAbout =
    "pinion-slurm runs beside slurmctld and lets an unmodified Slurm place its jobs on cores that\n"
    "placeholder pods hold: a job is held until Kubernetes has given each of its nodes a pod with\n"
    "its CPUs, then it is let go on just those nodes. It needs job_submit.lua in Slurm, and runs\n"
    "as root or SlurmUser. Flags win over the file given with --config;\n"
    "docs/virtual-clusters.md explains every setting.";

bool has_come(const Fd& signals, int wait_ms) {
  pollfd signal{.fd = signals.get(), .events = POLLIN, .revents = 0};
  return poll(&signal, 1, wait_ms) > 0;
}

Status run(const Config& config) {
  const auto signals = take_signals();
  if (!signals) return failure(signals.error());
  Log log(config.log_level, config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  const auto bridge = Bridge::start(config, log);
  if (!bridge) return failure(bridge.error());
  log.info("started", {{"version", kVersion}, {"cluster", config.cluster}});
  ReadyFile ready(config.ready_file, {{"cluster", config.cluster}}, log);
  while (!has_come(*signals, 0)) {
    const auto pause = (*bridge)->round([&] { return has_come(*signals, 0); });
    if ((*bridge)->ready()) ready.make(std::chrono::steady_clock::now());
    if (has_come(*signals, kLeastPauseMs)) break;
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
  const auto settings = slurm::settings_of(config);
  const auto invocation = settings::read(
      argc, argv, {.name = "pinion-slurm", .about = slurm::kAbout, .version = kVersion}, settings);
  if (!invocation) {
    std::cerr << "pinion-slurm: " << invocation.error().text << "\n";
    return 2;
  }
  if (invocation->exit_code) return *invocation->exit_code;
  if (const Status good = slurm::check(config); !good) {
    std::cerr << "pinion-slurm: " << good.error().text << "\n";
    return 2;
  }
  if (invocation->check_only) {
    std::cout << settings::to_yaml(settings);
    return 0;
  }
  if (const auto done = slurm::run(config); !done) {
    std::cerr << "pinion-slurm: " << done.error().text << "\n";
    return 1;
  }
  return 0;
}
