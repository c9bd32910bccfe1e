#include "tests/e2e/node_agent.h"

#include <filesystem>

#include "tests/e2e/cluster.h"
#include "tests/e2e/collection.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

namespace fs = std::filesystem;

Status NodeAgent::start() {
  std::error_code error;
  fs::create_directories(folder_ + "/host", error);
  fs::create_directories(folder_ + "/nri", error);
  fs::remove(folder_ + "/ready", error);
  auto process = start_mortal(
      {lab::program_folder() + "/pinion-agent", "--nri-socket", nri_socket(), "--state-dir",
       folder_ + "/state", "--ready-file", folder_ + "/ready", "--host-root", folder_ + "/host",
       "--topology", topology_, "--fence", "runtime", "--counters", "off", "--log-level", "debug",
       "--allowed-privileges", "one-per-core"},
      log_);
  if (!process) return failure(process.error());
  process_ = *std::move(process);
  return {};
}

void NodeAgent::kill() {
  process_.kill();
}

Status NodeAgent::wait_ready() {
  const bool ready = lab::eventually(
      kPatience, [&] { return !process_.running() || fs::exists(folder_ + "/ready"); });
  if (ready && process_.running()) return {};
  return failure(Errc::kUnavailable, "pinion-agent is not ready:\n" + lab::tail_of(log_, 20));
}

}  // namespace pinion::e2e
