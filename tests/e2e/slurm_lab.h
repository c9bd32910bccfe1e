// A real Slurm of a test's own: munged, slurmctld and several slurmd on this machine, each a node
// of imagined CPUs. Ports are the system's choice, files in a folder of its own. It ends with the
// thread that started it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/job.h"
#include "tests/e2e/cluster.h"
#include "tests/lab/process.h"
#include "tests/support/tree.h"

namespace pinion::e2e {

struct SlurmOptions {
  std::vector<std::string> nodes = {"node-0", "node-1", "node-2"};
  int cpus = 8;             // of each
  std::string more = {};    // lines of slurm.conf
  bool accounting = false;  // with slurmdbd and a database of its own: a job can be resized
};

class SlurmLab {
 public:
  // With job_submit.lua and the prologs of cluster/slurm; answers, and its nodes are idle. Errors:
  // kNotFound where Slurm is not installed or this is not root; kUnavailable with the ends of the
  // logs.
  static Result<std::unique_ptr<SlurmLab>> start(const SlurmOptions& options = {});
  SlurmLab(const SlurmLab&) = delete;
  SlurmLab& operator=(const SlurmLab&) = delete;
  ~SlurmLab();  // cancels what runs

  // A command of Slurm as root, or as a user without rights. What it prints. Error: kInternal with
  // it where its status is not 0.
  Result<std::string> run(std::vector<std::string> argv) const;
  Result<std::string> run_as_nobody(std::vector<std::string> argv) const;
  // `sbatch` with these options, of a script that sleeps. The job's number.
  Result<std::uint32_t> submit(std::vector<std::string> options, int sleep_s = 300) const;

  // The job as the product reads it; of id 0 when there is none.
  [[nodiscard]] slurm::Job job(std::uint32_t id) const;
  // As soon as the job is in this state; false when it does not come to it.
  [[nodiscard]] bool wait_for(std::uint32_t id, slurm::Job::State state) const;
  [[nodiscard]] std::string show(std::uint32_t id) const;  // `scontrol show job`

  void cancel_all() const;

  void stop_slurmctld();
  Status restart_slurmctld();  // and waits until it answers

  [[nodiscard]] std::string conf() const { return folder() + "/slurm.conf"; }
  [[nodiscard]] std::string folder() const { return dir_.path(); }
  [[nodiscard]] std::string logs() const;  // their ends

 private:
  static Result<std::unique_ptr<SlurmLab>> try_start(const SlurmOptions& options);
  SlurmLab() = default;

  Status make_files(const SlurmOptions& options);
  Status start_accounting();
  [[nodiscard]] Status install_script(const std::string& name) const;
  Status start_part(lab::Process& process, const std::string& name, std::vector<std::string> argv);
  [[nodiscard]] std::vector<std::string> with_conf(std::vector<std::string> argv) const;
  [[nodiscard]] bool idle(std::size_t nodes) const;

  test_support::TempDir dir_;
  std::vector<std::string> parts_;  // that have a log
  lab::Process munged_;
  lab::Process database_;
  lab::Process slurmdbd_;
  lab::Process slurmctld_;
  std::vector<lab::Process> slurmds_;
};

}  // namespace pinion::e2e
