#include "tests/e2e/bridge_process.h"

#include <filesystem>

#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

constexpr lab::Milliseconds kReadyLimit{120'000};

}  // namespace

Result<BridgeProcess> BridgeProcess::start(Cluster& cluster, const SlurmLab& slurm,
                                           const std::vector<std::string>& more) {
  BridgeProcess bridge;
  bridge.ready_file_ = cluster.folder() + "/pinion-slurm.ready";
  bridge.log_ = cluster.log_of("pinion-slurm");
  cluster.has_log("pinion-slurm");
  bridge.argv_ = {"env",
                  "SLURM_CONF=" + slurm.conf(),
                  lab::program_folder() + "/pinion-slurm",
                  "--cluster",
                  "wind",
                  "--kubeconfig",
                  cluster.kubeconfig(),
                  "--lend-to",
                  "wind-node-*/slurm",
                  "--ready-file",
                  bridge.ready_file_};
  bridge.argv_.insert(bridge.argv_.end(), more.begin(), more.end());
  if (Status done = bridge.restart(); !done) return failure(done.error());
  return bridge;
}

Status BridgeProcess::restart() {
  std::error_code ignored;
  std::filesystem::remove(ready_file_, ignored);
  auto process = start_mortal(argv_, log_);
  if (!process) return failure(process.error());
  process_ = *std::move(process);
  const bool ready = lab::eventually(
      kReadyLimit, [&] { return !process_.running() || std::filesystem::exists(ready_file_); });
  if (ready && process_.running()) return {};
  return failure(Errc::kUnavailable, "pinion-slurm is not ready:\n" + lab::tail_of(log_, 20));
}

Result<int> BridgeProcess::stop() {
  return process_.stop(kReadyLimit);
}

}  // namespace pinion::e2e
