#include "tests/lab/demo_job.h"

#include <algorithm>

#include "metrics/proc_files.h"

namespace pinion::lab {
namespace {

constexpr int kMaxNoise = 16;
constexpr Milliseconds kLook{5};  // a busy thread that moves is seen many times a second

struct Running {
  std::vector<RunningPod> pods;
  std::vector<Row> rows;
  std::vector<std::string> cgroups;
};

Status start(ContainerdLab& lab, const PodSpec& spec, bool rank, Running& running) {
  const auto pod = lab.run_pod(spec);
  if (!pod) return failure(pod.error().within("pod " + spec.name));
  running.pods.push_back(*pod);
  const auto& container = spec.containers.front();
  const auto id = lab.start_container(*pod, container);
  if (!id) return failure(id.error().within("pod " + spec.name));
  Row row;
  row.name = spec.name;
  row.qos = qos_of(spec);
  row.rank = rank;
  row.asked = container.cpu_request;
  row.id = *id;
  running.rows.push_back(row);
  running.cgroups.push_back(ContainerdLab::cgroup_of(*pod, *id));
  return {};
}

Status start_all(ContainerdLab& lab, const Job& job, Running& running) {
  for (const auto* group : {&job.noise_before, &job.ranks, &job.noise_after}) {
    for (const auto& spec : *group) {
      if (Status done = start(lab, spec, group == &job.ranks, running); !done) return done;
    }
  }
  const bool working = eventually(Milliseconds(10000), [&] {
    for (std::size_t i = 0; i < running.rows.size(); ++i) {
      const auto loops =
          static_cast<std::size_t>(running.rows[i].rank ? job.cpus_per_rank : job.loops_per_noise);
      if (!is_at_work(lab.cgroups(), running.cgroups[i], loops)) return false;
    }
    return true;
  });
  if (!working) return failure(Errc::kUnavailable, "not all containers came to run within 10 s");
  return {};
}

Status look(ContainerdLab& lab, int seconds, const topology::Topology& machine, Running& running,
            const std::function<Status(std::vector<Row>&)>& while_running) {
  const auto uses =
      measure(lab.cgroups(), running.cgroups, Milliseconds(1000 * seconds), kLook, &machine);
  for (std::size_t i = 0; i < running.rows.size(); ++i) {
    running.rows[i].use = uses[i];
    const auto cpus = lab.cgroups().cpus(running.cgroups[i]);
    if (!cpus) return failure(cpus.error());
    running.rows[i].cpuset = *cpus;
  }
  return while_running(running.rows);
}

}  // namespace

Result<Job> make_job(const topology::Topology& machine, int most_ranks) {
  const int cores = static_cast<int>(machine.cores.size());
  if (cores < 2) {
    return failure(Errc::kExhausted,
                   "this machine has one core; the demo needs one for a rank "
                   "and one for everything else");
  }
  Job job;
  job.reserved = machine.cores.front().cpus;
  job.cpus_per_rank = machine.cores.back().cpus.count();
  for (const auto& core : machine.cores) {
    job.cpus_per_rank = std::min(job.cpus_per_rank, core.cpus.count());
  }
  for (int i = 0; i < std::min(cores - 1, most_ranks); ++i) {
    PodSpec rank =
        guaranteed_pod("rank-" + std::to_string(i), job.cpus_per_rank, spin(job.cpus_per_rank));
    rank.annotations["pinion.dev/job"] = "demo";
    job.ranks.push_back(rank);
  }
  const int noise = std::min(2 * cores, kMaxNoise);
  const std::int64_t request = 1000 * job.reserved.count() / (noise / 2);
  job.loops_per_noise = (2 * cores + noise - 1) / noise;
  for (int i = 0; i < noise; ++i) {
    const std::string name = "noise-" + std::to_string(i);
    auto& group = i < noise / 2 ? job.noise_before : job.noise_after;
    const auto command = spin(job.loops_per_noise);
    group.push_back(i % 2 == 0 ? burstable_pod(name, request, command)
                               : best_effort_pod(name, command));
  }
  return job;
}

bool is_at_work(const CgroupTree& tree, const std::string& cgroup, std::size_t loops) {
  const auto pids = tree.processes(cgroup);
  return pids.size() >= loops && std::all_of(pids.begin(), pids.end(), [](int pid) {
           const auto stat = metrics::read_task_stat("", pid, pid);
           return stat && stat->comm.rfind("runc", 0) != 0;
         });
}

Result<std::vector<Row>> run_job(ContainerdLab& lab, const Job& job, int seconds,
                                 const topology::Topology& machine,
                                 const std::function<Status(std::vector<Row>&)>& while_running) {
  Running running;
  Status done = start_all(lab, job, running);
  if (done) done = look(lab, seconds, machine, running, while_running);
  for (const auto& pod : running.pods) {
    Status removed = lab.remove_pod(pod);
    if (done) done = removed;
  }
  if (!done) return failure(done.error());
  return running.rows;
}

}  // namespace pinion::lab
