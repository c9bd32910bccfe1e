// pinion-extender: reads the configuration, runs until it is told to end. Nothing is decided here.
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string_view>

#include "base/log/ready_file.h"
#include "base/open_files.h"
#include "base/settings/daemon.h"
#include "base/signals.h"
#include "base/version.h"
#include "cluster/extender/program/extender.h"
#include "cluster/extender/program/keep_certificates.h"

namespace pinion::cluster {
namespace {

// From one tick to the next at least: the scheduler's questions wait while one lasts.
constexpr std::chrono::milliseconds kLeast{200};

constexpr const char* kAbout =
    "pinion-extender answers kube-scheduler's filter, prioritize, bind and preempt calls: pods "
    "that\n"
    "need whole CPUs go where Pinion's agents have them free inside one NUMA node, and a job's "
    "pods\n"
    "go all at once or not at all. Flags win over the file given with --config;\n"
    "docs/kubernetes.md explains every setting.";

// Each agent's stream is an open file, and so is each connection of the scheduler; systemd and many
// container runtimes allow 1024 unless asked for more.
void raise_open_files(Log& log) {
  if (const auto limit = allow_open_files(std::numeric_limits<std::uint64_t>::max())) {
    log.info("open files", {{"limit", std::to_string(limit->soft)}});
  } else {
    log.warn("the limit of open files cannot be raised", {{"why", limit.error().text}});
  }
}

// gRPC writes a line by itself whenever a handshake with an agent fails, at each try; our log has
// it once. What it says before it aborts is wanted.
void write_if_fatal(gpr_log_func_args* line) {
  const std::string_view text = line->message;
  if (text.substr(0, 16) == "assertion failed") std::cerr << "gRPC: " << text << std::endl;
}

Status run(const Config& config) {
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function(write_if_fatal);
  const auto signals = take_signals();
  if (!signals) return failure(signals.error());
  Log log(config.log_level, config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  raise_open_files(log);
  const auto certificates = KeepCertificates::start(config, log);
  if (!certificates) return failure(certificates.error());
  while (*certificates && !(*certificates)->ready()) {
    if (wait_for_signal(*signals, kLeast)) return {};
  }
  const auto extender = Extender::start(config, log);
  if (!extender) return failure(extender.error());
  const std::string listen = (*extender)->address();
  const std::string web = (*extender)->web_address();
  log.info("started", {{"version", kVersion}, {"listen", listen}, {"webListen", web}});
  ReadyFile ready(config.ready_file, {{"scheduler", listen}, {"http", web}}, log);
  std::chrono::milliseconds pause{};
  while (!wait_for_signal(*signals, kLeast) &&
         !wait_for_signal(*signals, std::max(pause, kLeast) - kLeast, (*extender)->hurry())) {
    pause = (*extender)->tick();
    if ((*extender)->closed().empty()) ready.make(std::chrono::steady_clock::now());
    if ((*extender)->deposed()) {
      return failure(Errc::kUnavailable, "the lead is lost, to be started anew as a follower");
    }
  }
  log.info("stopping");
  return {};
}

}  // namespace
}  // namespace pinion::cluster

int main(int argc, char** argv) {
  using namespace pinion;
  cluster::Config config;
  return settings::run_daemon(
      argc, argv,
      {.program = {.name = "pinion-extender", .about = cluster::kAbout, .version = kVersion},
       .settings = cluster::settings_of(config),
       .run = [&] { return cluster::run(config); },
       .check = [&] { return cluster::check(config); }});
}
