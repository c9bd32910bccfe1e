#include "tests/bench/chart_agent.h"

#include <fstream>
#include <utility>

#include "tests/unit/api/certificates.h"

namespace pinion::bench {
namespace {

constexpr int kCpus = 256;
constexpr const char* kMachine =
    "synthetic:package:2 group:4 [numa(memory=64GiB)] l3:4 core:4 pu:2";

}  // namespace

Result<ChartAgent> start_as_chart(const std::string& agent, const std::filesystem::path& folder) {
  using namespace agent::api;
  if (!has_openssl() || !make_certificates(folder, "ca")) {
    return failure(Errc::kUnavailable, "the openssl command makes no certificates");
  }
  const TlsFiles server = files_of(folder, "ca", "server");
  const std::string any = "127.0.0.1:0";
  const std::string socket = folder / "nri.sock";
  auto runtime = BenchRuntime::listen(socket);
  if (!runtime) return failure(runtime.error());
  auto process = PluginProcess::start({agent,
                                       "--topology",
                                       kMachine,
                                       "--state-dir",
                                       folder / "state",
                                       "--host-root",
                                       "/nonexistent",
                                       "--nri-socket",
                                       socket,
                                       "--ready-file",
                                       folder / "ready",
                                       "--metrics-listen",
                                       any,
                                       "--probe-listen",
                                       any,
                                       "--api-listen",
                                       any,
                                       "--api-cert",
                                       server.certificate,
                                       "--api-key",
                                       server.key,
                                       "--api-client-ca",
                                       server.ca},
                                      folder / "log");
  if (!process) return failure(process.error());
  const pid_t pid = process->pid();
  Player player(std::move(*runtime), std::move(*process), Role::kPins, kCpus);
  if (auto begun = player.begin(); !begun) return failure(begun.error());
  return ChartAgent{
      .player = std::move(player), .pid = pid, .client = files_of(folder, "ca", "client")};
}

std::string address_of(const std::filesystem::path& folder, const std::string& listener) {
  std::ifstream file(folder / "ready");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(listener + "=")) return line.substr(line.find('=') + 1);
  }
  return {};
}

}  // namespace pinion::bench
