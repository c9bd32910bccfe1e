#include "agent/config.h"

#include <utility>

#include "agent/settings.h"
#include "base/version.h"

namespace pinion::agent {
namespace {

constexpr const char* kAbout =
    "pinion-agent gives containers of Guaranteed pods exclusive CPU cores inside one NUMA node,\n"
    "through containerd's NRI. Stop the kubelet's own CPU manager first (cpuManagerPolicy: none).\n"
    "Flags win over the file given with --config; docs/configuration.md explains every setting.";

}  // namespace

std::string Config::on_host(const std::string& path) const {
  return host_root == "/" ? path : host_root + path;
}

Result<topology::Source> Config::source() const {
  if (topology) return topology::Source::parse(*topology);
  if (host_root == "/") return topology::Source{.kind = topology::Source::Kind::kLive, .value = {}};
  return topology::Source{.kind = topology::Source::Kind::kRoot, .value = host_root};
}

settings::Program program() {
  return {.name = "pinion-agent", .about = kAbout, .version = kVersion};
}

Result<Config> read_config(int argc, const char* const* argv) {
  Config config;
  const auto read = settings::read(argc, argv, program(), settings_of(config));
  if (!read) return failure(read.error());
  if (const Status good = check(config); !good) return failure(good.error());
  return config;
}

Status apply_yaml(const std::string& text, Config& config) {
  return settings::read_yaml(text, settings_of(config));
}

std::string to_yaml(Config config) {
  return settings::to_yaml(settings_of(config));
}

}  // namespace pinion::agent
