// pinion-extender: reads the configuration, runs until it is told to end. Nothing is decided here.
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <poll.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <string_view>

#include "base/log/ready_file.h"
#include "base/open_files.h"
#include "base/signals.h"
#include "base/version.h"
#include "cluster/extender/program/extender.h"

namespace pinion::cluster {
namespace {

constexpr int kTickMs = 200;

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
  const auto signals = take_signals();
  if (!signals) return failure(signals.error());
  Log log(config.log_level, config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  raise_open_files(log);
  const auto extender = Extender::start(config, log);
  if (!extender) return failure(extender.error());
  const std::string listen = (*extender)->address();
  const std::string web = (*extender)->web_address();
  log.info("started", {{"version", kVersion}, {"listen", listen}, {"webListen", web}});
  ReadyFile ready(config.ready_file, {{"scheduler", listen}, {"http", web}}, log);
  while (true) {
    pollfd signal{.fd = signals->get(), .events = POLLIN, .revents = 0};
    if (poll(&signal, 1, kTickMs) > 0) break;
    (*extender)->tick();
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
  const auto settings = cluster::settings_of(config);
  const auto invocation = settings::read(
      argc, argv, {.name = "pinion-extender", .about = cluster::kAbout, .version = kVersion},
      settings);
  if (!invocation) {
    std::cerr << "pinion-extender: " << invocation.error().text << "\n";
    return 2;
  }
  if (invocation->exit_code) return *invocation->exit_code;
  if (const pinion::Status good = cluster::check(config); !good) {
    std::cerr << "pinion-extender: " << good.error().text << "\n";
    return 2;
  }
  if (invocation->check_only) {
    std::cout << settings::to_yaml(settings);
    return 0;
  }
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function(cluster::write_if_fatal);
  if (const auto done = cluster::run(config); !done) {
    std::cerr << "pinion-extender: " << done.error().text << "\n";
    return 1;
  }
  return 0;
}
