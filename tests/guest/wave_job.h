// An elastic job of MPI ranks on the node of a test. Its program and its launcher are real
// (examples/elastic-wave), and the extender's own code asks and tells them. Played are the Job
// controller and the kubelet, by the test that starts and removes the workers' pods; the API
// server, which has this one job; its ConfigMap's files in the pods; and ssh, by a shell in each
// worker that runs what it is sent through a pipe.
#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "cluster/extender/program/elastic_asks.h"
#include "tests/lab/pod.h"
#include "tests/support/wave_sheet.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::guest {

class WaveJob {
 public:
  // With its files in a new folder. A worker has so many CPUs.
  WaveJob(std::string folder, int cpus);

  static constexpr int kMaxWorkers = 4;
  static constexpr int kPoints = 48;  // of its sheet

  // Its pods as the Job controller makes them. That with index 0 has the launcher, and starts with
  // as many ranks as there are workers then; it ends on SIGTERM. The others do not: has_sigterm()
  // says that it came.
  [[nodiscard]] lab::PodSpec worker(int index) const;
  [[nodiscard]] bool has_sigterm(int index) const;

  // What the API server has: its workers and how many are ready; and that it is being resized.
  void has(int stated, int ready);
  void is_resized(int before, int wanted);
  void is_done();
  // The ConfigMap's files are what the extender makes of that.
  void tell();
  [[nodiscard]] std::string told(const std::string& file) const;

  // What the extender does about it: whether it is to be asked now; and asks until the application
  // has acknowledged a number of workers, which is answered; nothing where that takes too long.
  [[nodiscard]] bool is_to_be_asked() const;
  std::optional<int> ask();

  // What the program says of itself: nothing before all ranks run.
  struct Progress {
    std::int64_t step = 0;
    int ranks = 0;
  };
  [[nodiscard]] std::optional<Progress> progress() const;
  [[nodiscard]] std::string output() const;  // the launcher's and mpirun's, for messages
  // What it has left at its end.
  [[nodiscard]] std::optional<test_support::WaveSheet> result() const;

 private:
  [[nodiscard]] cluster::elastic::ElasticObject object() const;
  [[nodiscard]] std::string host_folder(int index) const;

  const std::string folder_;
  const int cpus_;
  mutable std::mutex mutex_;
  nlohmann::json job_;  // under mutex_
  kube::FakeApiServer server_;
  Log log_{"info", LogFormat::kText};
  policy::Defaults defaults_;
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<cluster::ElasticAsks> asks_;
};

}  // namespace pinion::guest
