#include "cluster/sim/mixed.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "cluster/sim/job_list.h"
#include "cluster/sim/node_machine.h"
#include "cluster/sim/simulation.h"
#include "cluster/sim/split_machine.h"

namespace pinion::sim {
namespace {

using cluster::PlacementPolicy;

// Of the paper's run "least loaded": 90 % of 320 threads for 11,200 s.
constexpr double kAllWork = 0.9 * 320 * 11'200;  // CPU seconds
constexpr double kMeanRun = 600;                 // seconds, of an HPC job
constexpr int kServiceServers = 2;               // of a partitioned cluster

struct JobSize {
  int threads;
  int servers;
  double share;  // of the HPC jobs' CPU time
};
constexpr std::array kSizes{JobSize{16, 1, 0.05}, JobSize{32, 2, 0.20}, JobSize{64, 2, 0.65},
                            JobSize{128, 2, 0.10}};

struct Service {
  const char* name;
  int replicas;
  int threads;
  topology::Profile profile;
};
constexpr std::array kServices{Service{"nginx", 5, 6, topology::Profile::kCpu},
                               Service{"memcached", 5, 6, topology::Profile::kMemory},
                               Service{"spark", 5, 20, topology::Profile::kMemory}};

Ms ms_of(double seconds) {
  return static_cast<Ms>(std::llround(1000 * seconds));
}

// The paper's HPC programs are NAS benchmarks; how much they wait for memory it does not say. These
// are what `pinion-sim fit` finds for DGEMM and MiniFE (docs/papers.md), half of the jobs each. The
// network is InfiniBand, and no limit; that nothing is pinned costs nothing here.
Model model_of(double crowded) {
  Model model;
  model.bandwidth = 0.0977;
  model.kinds["compute"] = {.memory = 0.1, .crowded = crowded};
  model.kinds["memory"] = {.memory = 0.84, .crowded = crowded};
  model.kinds["nginx"] = {.memory = 0.1};
  model.kinds["memcached"] = {.memory = 0.84};
  model.kinds["spark"] = {.memory = 0.84};
  return model;
}

void add_services(const MixedSettings& settings, std::vector<Job>& jobs) {
  int threads = 0;
  for (const Service& service : kServices) threads += service.replicas * service.threads;
  const Ms run = ms_of(kAllWork * settings.services / threads);
  for (const Service& service : kServices) {
    for (int replica = 0; replica < service.replicas; ++replica) {
      Job job;
      job.name = service.name + ("-" + std::to_string(replica));
      job.kind = service.name;
      job.service = true;
      job.run = job.request = run;
      job.shape.tasks = service.threads;
      job.shape.workers = 1;
      job.shape.profile = service.profile;
      jobs.push_back(std::move(job));
    }
  }
}

// Of one size: random run times that together are exactly its work.
std::vector<Job> jobs_of(const JobSize& size, double work, std::mt19937_64& random) {
  const double all = work * size.share / size.threads;  // seconds
  const auto count = static_cast<std::size_t>(std::max(1L, std::lround(all / kMeanRun)));
  std::uniform_real_distribution<double> part(0.5, 1.5);
  std::vector<double> parts(count);
  for (double& one : parts) one = part(random);
  double sum = 0;
  for (const double one : parts) sum += one;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    Job job;
    job.name = "hpc-" + std::to_string(size.threads) + "-" + std::to_string(i);
    job.kind = i % 2 == 0 ? "compute" : "memory";
    job.shape.profile = i % 2 == 0 ? topology::Profile::kCpu : topology::Profile::kMemory;
    job.run = job.request = ms_of(all * parts[i] / sum);
    job.shape.tasks = size.threads;
    job.shape.workers = job.nodes = size.servers;
    job.apart = true;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::unique_ptr<NodeMachine>> servers(const MixedServer& server, int first, int count,
                                             PlacementPolicy placement, bool aligned) {
  NodeRules rules{.queue = QueueRule::kEasy, .placement = placement, .keeps_to_nodes = false};
  rules.shape.pinned = aligned;
  if (aligned) {
    rules.services = PlacementPolicy::kFill;
    rules.shape.granularity = cluster::Policy::kAuto;
  }
  auto machine = std::make_unique<NodeMachine>(rules);
  for (int i = first; i < first + count; ++i) {
    cluster::NodeReport report;
    report.name = "server-" + std::to_string(i);
    report.topology = server.with_system;
    report.reserved = server.system;
    if (Status good = machine->add(std::move(report)); !good) return failure(good.error());
  }
  return machine;
}

Result<std::unique_ptr<Machine>> machine_of(const MixedServer& server, MixedPolicy policy) {
  using Made = Result<std::unique_ptr<Machine>>;
  const auto one = [&](PlacementPolicy placement, bool aligned) -> Made {
    auto all = servers(server, 0, kMixedServers, placement, aligned);
    if (!all) return failure(std::move(all.error()));
    return std::move(*all);
  };
  const bool shared = policy == MixedPolicy::kUnmanaged;
  switch (policy) {
    case MixedPolicy::kLeastLoaded:
      return one(PlacementPolicy::kLeastLoaded, false);
    case MixedPolicy::kMostLoaded:
      return one(PlacementPolicy::kMostLoaded, false);
    case MixedPolicy::kOurs:
      return one(PlacementPolicy::kHoles, true);
    case MixedPolicy::kPartitioned:
    case MixedPolicy::kUnmanaged:
      break;
  }
  const int first = shared ? 0 : kServiceServers;
  auto services = servers(server, 0, shared ? kMixedServers : kServiceServers,
                          PlacementPolicy::kLeastLoaded, false);
  if (!services) return failure(std::move(services.error()));
  auto hpc = servers(server, first, kMixedServers - first, PlacementPolicy::kFirstFit, false);
  if (!hpc) return failure(std::move(hpc.error()));
  const std::int64_t processors = (*hpc)->processors() / (kMixedServers - first) * kMixedServers;
  return std::make_unique<SplitMachine>(std::move(*services), std::move(*hpc), first, processors);
}

// The servers as they are, for those who disturb each other there.
Status fill(const MixedServer& server, cluster::Fleet& fleet) {
  for (int i = 0; i < kMixedServers; ++i) {
    cluster::NodeReport report;
    report.name = "server-" + std::to_string(i);
    report.topology = server.machine;
    if (const auto good = fleet.report(std::move(report), 0); !good) return failure(good.error());
  }
  return {};
}

// CPU milliseconds during which something ran on a CPU: of a server never more than its CPUs.
double busy_of(const std::vector<JobRecord>& records, int cpus) {
  std::map<int, std::map<Ms, int>> changes;  // of what is wanted, by server
  for (const JobRecord& record : records) {
    for (const Piece& piece : record.pieces) {
      const int wanted = piece.tasks * record.job.shape.cpus_per_task;
      changes[piece.node][record.start] += wanted;
      changes[piece.node][record.end] -= wanted;
    }
  }
  double busy = 0;
  for (const auto& [server, moments] : changes) {
    int wanted = 0;
    Ms since = 0;
    for (const auto& [now, change] : moments) {
      busy += static_cast<double>(std::min(wanted, cpus)) * static_cast<double>(now - since);
      wanted += change;
      since = now;
    }
  }
  return busy;
}

MixedRun run_of(std::vector<JobRecord> records, int cpus) {
  MixedRun run;
  double stretch = 0;
  int hpc = 0;
  for (const JobRecord& record : records) {
    const double end = static_cast<double>(record.end) / 1000;
    double& last = record.job.service ? run.services_seconds : run.hpc_seconds;
    last = std::max(last, end);
    if (record.job.service) continue;
    stretch += static_cast<double>(record.end - record.start) /
               static_cast<double>(std::max<Ms>(record.job.run, 1));
    ++hpc;
  }
  run.seconds = std::max(run.services_seconds, run.hpc_seconds);
  if (hpc > 0) run.hpc_stretch = stretch / hpc;
  if (run.seconds > 0) {
    run.utilisation = busy_of(records, cpus) / (1000 * run.seconds * cpus * kMixedServers);
  }
  run.records = std::move(records);
  return run;
}

}  // namespace

std::vector<Job> mixed_jobs(const MixedSettings& settings) {
  std::vector<Job> jobs;
  add_services(settings, jobs);
  std::mt19937_64 random(settings.seed);
  std::vector<Job> hpc;
  for (const JobSize& size : kSizes) {
    auto some = jobs_of(size, kAllWork * (1 - settings.services), random);
    std::move(some.begin(), some.end(), std::back_inserter(hpc));
  }
  std::shuffle(hpc.begin(), hpc.end(), random);
  std::move(hpc.begin(), hpc.end(), std::back_inserter(jobs));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].number = static_cast<std::int64_t>(i + 1);
    // Ours cuts HPC jobs itself, and cares for NUMA nodes instead.
    if (settings.policy != MixedPolicy::kOurs || jobs[i].service) continue;
    jobs[i].shape.workers = 0;
    jobs[i].apart = false;
  }
  return jobs;
}

Result<MixedRun> run_mixed(const MixedServer& server, const MixedSettings& settings) {
  auto machine = machine_of(server, settings.policy);
  if (!machine) return failure(std::move(machine.error()));
  cluster::Fleet fleet;
  if (Status good = fill(server, fleet); !good) return failure(good.error());
  const Model model = model_of(settings.crowded);
  // Where nobody is pinned: all policies lay out servers alone.
  Contention contention(model, fleet, false);
  JobList source(mixed_jobs(settings));
  Simulation simulation(source, **machine, {.check = settings.check, .contention = &contention});
  std::vector<JobRecord> records;
  simulation.on_end = [&](const JobRecord& record) { records.push_back(record); };
  std::string refused;
  simulation.on_refused = [&](const Job& job, const std::string& why) {
    if (refused.empty()) refused = "job " + job.called() + " " + why;
  };
  const auto figures = simulation.run();
  if (!figures) return failure(figures.error());
  if (!refused.empty()) return failure(Errc::kInvalid, refused);
  return run_of(std::move(records), server.machine->online.count());
}

}  // namespace pinion::sim
