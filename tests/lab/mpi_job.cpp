#include "tests/lab/mpi_job.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace pinion::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxRanks = 16;
constexpr Milliseconds kLimit{300000};
constexpr Milliseconds kMpiLook{20};  // seldom enough that looking is no noise itself
constexpr std::int64_t kMemoryOfRank = 192LL << 20;

constexpr const char* kHpcc = "/usr/bin/hpcc";
constexpr const char* kMpirun = "/usr/bin/mpirun.openmpi";
constexpr const char* kScratch = "/scratch";

// What the programs need of the machine beside /usr; what is missing here is not needed here.
constexpr const char* kShared[] = {"/etc/alternatives", "/etc/openmpi", "/etc/ld.so.cache"};

std::vector<Mount> mounts_of(const std::string& scratch) {
  std::vector<Mount> mounts = {{.host = "/usr", .container = "/usr"},
                               {.host = scratch, .container = kScratch, .read_only = false}};
  for (const char* path : kShared) {
    if (fs::exists(path)) mounts.push_back({.host = path, .container = path});
  }
  return mounts;
}

// Open MPI neither binds its ranks (Pinion does, or nobody) nor looks for other hosts; the number
// of slots is said, because it would count the cores that it sees.
std::string mpirun(int ranks) {
  const std::string n = std::to_string(ranks);
  return std::string(kMpirun) + " --allow-run-as-root -np " + n + " --host localhost:" + n +
         " --bind-to none --mca plm isolated --mca btl self,vader " + kHpcc;
}

// Times mpirun itself, then waits to be removed: whoever counts reads the last figures meanwhile.
std::string script(int ranks) {
  return std::string("cd ") + kScratch + " && read start rest </proc/uptime\n" + mpirun(ranks) +
         " >output 2>&1\nstatus=$?\nread end rest </proc/uptime\n"
         "echo $status $start $end >record.new\n/bin/busybox mv record.new record\n"
         "while :; do /bin/busybox sleep 60; done";
}

PodSpec pod_of(const MpiJob& job, const std::string& name, const std::string& scratch) {
  PodSpec pod = guaranteed_pod(name, job.cpus, {"/bin/busybox", "sh", "-c", script(job.ranks)});
  pod.annotations["pinion.dev/job"] = "hpcc";
  auto& container = pod.containers.front();
  container.memory_request = container.memory_limit = kMemoryOfRank * job.ranks;
  container.mounts = mounts_of(scratch);
  // One thread for each rank, whatever BLAS is installed.
  container.env = {{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}, {"TMPDIR", kScratch}};
  return pod;
}

Status make_scratch(const std::string& scratch, const MpiJob& job) {
  std::error_code error;
  fs::create_directories(scratch, error);
  if (error) return failure(Errc::kUnavailable, "make " + scratch + ": " + error.message());
  return write_file(scratch + "/hpccinf.txt", hpcc_input(order_of(job.ranks), grid_of(job.ranks)));
}

Status read_results(const std::string& scratch, MpiRun& run) {
  const auto output = [&] { return "\n" + tail_of(scratch + "/output", 10); };
  const auto text = read_file(scratch + "/record");
  if (!text) return failure(Errc::kUnavailable, "HPCC has not ended in time" + output());
  const auto record = parse_run_record(*text);
  if (!record) return failure(record.error());
  if (record->status != 0) {
    return failure(Errc::kInternal,
                   "mpirun ended with status " + std::to_string(record->status) + output());
  }
  const auto results = read_file(scratch + "/hpccoutf.txt");
  if (!results) return failure(results.error());
  const auto figures = parse_hpcc_output(*results);
  if (!figures) return failure(figures.error());
  run.seconds = record->seconds;
  run.hpcc = *figures;
  return {};
}

Status run_in(ContainerdLab& lab, const RunningPod& pod, const std::string& scratch, MpiRun& run) {
  run.begun = std::chrono::steady_clock::now();
  const auto id = lab.start_container(pod, pod.spec.containers.front());
  if (!id) return failure(id.error());
  run.container = *id;
  const std::string cgroup = ContainerdLab::cgroup_of(pod, *id);
  run.use = measure_until(
      lab.cgroups(), cgroup,
      [&] {
        // Its shell outlives the program: an empty group has been killed.
        return fs::exists(scratch + "/record") || lab.cgroups().processes(cgroup).empty();
      },
      kLimit, kMpiLook);
  const auto cpus = lab.cgroups().cpus(cgroup);
  if (!cpus) return failure(cpus.error());
  run.cpuset = *cpus;
  return read_results(scratch, run);
}

}  // namespace

Result<MpiJob> make_mpi_job(const topology::Topology& machine, const topology::CpuSet& reserved) {
  std::map<topology::Index, int> free_cores;  // by NUMA node
  int width = machine.cores.front().cpus.count();
  for (const auto& core : machine.cores) {
    width = std::min(width, core.cpus.count());
    if (!core.cpus.intersects(reserved)) ++free_cores[core.node];
  }
  int ranks = 0;
  for (const auto& [node, cores] : free_cores) ranks = std::max(ranks, cores);
  ranks = std::min(ranks, kMaxRanks);
  if (ranks == 0) return failure(Errc::kExhausted, "no core is left for a rank");
  return MpiJob{.ranks = ranks, .cpus = ranks * width};
}

std::string why_no_mpi() {
  for (const char* program : {kMpirun, kHpcc}) {
    if (::access(program, X_OK) != 0) {
      return std::string(program) +
             " is missing: run scripts/deps.sh, or leave it out with --quick";
    }
  }
  return {};
}

Result<MpiRun> run_mpi(ContainerdLab& lab, const MpiJob& job, const std::string& name,
                       const std::function<Status(const MpiRun&)>& at_end) {
  const std::string scratch = lab.dir() + "/scratch/" + name;
  if (Status made = make_scratch(scratch, job); !made) return failure(made.error());
  const auto pod = lab.run_pod(pod_of(job, name, scratch));
  if (!pod) return failure(pod.error().within("pod " + name));
  MpiRun run;
  Status done = run_in(lab, *pod, scratch, run);
  if (done) done = at_end(run);
  Status removed = lab.remove_pod(*pod);
  if (done) done = removed;
  if (!done) return failure(done.error().within("pod " + name));
  return run;
}

}  // namespace pinion::lab
