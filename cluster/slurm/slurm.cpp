#include "cluster/slurm/slurm.h"

#include <unistd.h>

#include "base/process/run_program.h"
#include "base/words.h"
#include "cluster/slurm/job_json.h"
#include "cluster/slurm/node_json.h"

namespace pinion::slurm {
namespace {

// As the commands call it: an array's number alone would be all of its elements.
std::string called(const Job& job) {
  if (!job.element) return std::to_string(job.id);
  return std::to_string(job.array) + "_" + std::to_string(*job.element);
}

// Whether the line of this setting, in what scontrol shows, has the word.
bool says(const std::string& config, const std::string& setting, const std::string& word) {
  const std::string all = "\n" + config;
  const auto line = all.find("\n" + setting + " ");
  const auto at = line == std::string::npos ? line : all.find(word, line);
  return at != std::string::npos && at < all.find('\n', line + 1);
}

tl::unexpected<Error> said(const std::string& program, const RunEnd& end) {
  return failure(
      Errc::kUnavailable,
      program + ": " + (end.errors.empty() ? "status " + std::to_string(end.status) : end.errors));
}

}  // namespace

Result<std::vector<Job>> Slurm::jobs() {
  const auto answer = ask({"squeue", "--json"});
  if (!answer) return failure(answer.error());
  return read_jobs(*answer);
}

Result<std::string> Slurm::outline() {
  return ask({"squeue", "--noheader", "--states=all", "--format=%i %T %Q %r"});
}

Result<std::vector<Node>> Slurm::nodes() {
  Result<std::vector<Node>> nodes = failure(Errc::kUnavailable, "not asked");
  if (!sinfo_tells_groups_) {
    const auto answer = ask({"sinfo", "--json"});
    if (!answer) return failure(answer.error());
    nodes = read_nodes(*answer);
    if (nodes) return nodes;
  }
  const auto answer = ask({"scontrol", "show", "nodes", "--json"});
  auto others = answer ? read_nodes(*answer) : failure(answer.error());
  if (!others && !sinfo_tells_groups_) return nodes;
  sinfo_tells_groups_ = true;
  return others;
}

Status Slurm::hold(const Job& job, const Hold& what) {
  std::vector<std::string> changes = {"Priority=0",
                                      "ReqNodeList=", "AdminComment=" + to_text(what.mark)};
  if (what.comment) changes.push_back("Comment=" + *what.comment);
  return update(called(job), std::move(changes));
}

Status Slurm::place(const Job& job, const Place& what) {
  // A list that is longer than the number of nodes is refused later, a shorter one is filled up as
  // Slurm likes. MinCPUsNode makes it take as much on each node as the placeholder there has.
  const std::string nodes = std::to_string(what.nodes.size());
  std::vector<std::string> changes = {
      "NumNodes=" + nodes + "-" + nodes, "ReqNodeList=" + joined(what.nodes, ","),
      "MinCPUsNode=" + std::to_string(what.cpus), "AdminComment=" + to_text(what.mark)};
  if (what.comment) changes.push_back("Comment=" + *what.comment);
  // Else it waits for cred_expire, 120 s.
  if (what.at_once) changes.emplace_back("StartTime=now");
  if (Status done = update(called(job), std::move(changes)); !done) return done;
  return run({"scontrol", "release", called(job)});
}

Status Slurm::requeue(const Job& job) {
  return run({"scontrol", "requeuehold", called(job)});
}

Status Slurm::cancel(const Job& job, const Cancel& what) {
  if (Status done = update(called(job), {"Comment=" + what.comment}); !done) return done;
  return run({"scancel", called(job)});
}

Status Slurm::say(const Job& job, const Say& what) {
  return update(called(job), {"Comment=" + what.comment});
}

Status Slurm::split(const Job& job, const Split& what) {
  return update(std::to_string(job.id) + "_" + std::to_string(what.element),
                {"AdminComment=" + to_text(what.mark)});
}

Status Slurm::shrink(const Job& job, const Shrink& what) {
  return update(called(job), {"NodeList=" + joined(what.nodes, ",")});
}

Status Slurm::grow(const Job& job, const Grow& what) {
  if (Status done = update(called(job), {"AdminComment=" + to_text(what.mark)}); !done) {
    return done;
  }
  // Like the job itself in what has to be alike.
  std::vector<std::string> argv = {"salloc",
                                   "--quiet",
                                   "--no-shell",
                                   "--immediate=2",
                                   "--job-name=grow-" + std::to_string(job.id),
                                   "--dependency=expand:" + std::to_string(job.id),
                                   "--uid=" + std::to_string(job.uid),
                                   "--gid=" + std::to_string(job.gid),
                                   "--nodes=1",
                                   "--ntasks=1",
                                   "--nodelist=" + what.node,
                                   "--mincpus=" + std::to_string(what.cpus)};
  if (!job.partitions.empty()) argv.push_back("--partition=" + job.partitions.front());
  if (!job.account.empty()) argv.push_back("--account=" + job.account);
  if (job.exclusive) argv.emplace_back("--exclusive");
  if (job.memory_per_node_mib > 0) {
    argv.push_back("--mem=" + std::to_string(job.memory_per_node_mib) + "M");
  } else if (job.memory_per_cpu_mib > 0) {
    argv.push_back("--mem-per-cpu=" + std::to_string(job.memory_per_cpu_mib) + "M");
  }
  return run(std::move(argv));
}

Status Slurm::join(const Join& what) {
  return update(std::to_string(what.helper), {"NumNodes=0"});
}

Result<std::string> Slurm::keeps_size() {
  if (geteuid() != 0) return "pinion-slurm does not run as root";
  const auto config = ask({"scontrol", "show", "config"});
  if (!config) return failure(config.error());
  // Else slurmctld refuses all orders about a job that was resized.
  if (!says(*config, "AccountingStorageType", "slurmdbd")) return "this Slurm has no slurmdbd";
  if (!says(*config, "SchedulerParameters", "permit_job_expansion")) {
    return "SchedulerParameters of this Slurm has no permit_job_expansion";
  }
  // Else no prolog runs on a node that a job has had before.
  if (!says(*config, "PrologFlags", "Alloc")) return "PrologFlags of this Slurm has no Alloc";
  return "";
}

Result<std::string> Slurm::ask(const std::vector<std::string>& argv) {
  auto end = run_program(argv, {.time = limit_});
  if (end && end->status != 0) end = run_program(argv, {.time = limit_});
  if (!end) return failure(end.error());
  if (end->status != 0) return said(argv.front(), *end);
  return std::move(end->out);
}

Status Slurm::update(const std::string& job, std::vector<std::string> changes) {
  std::vector<std::string> argv = {"scontrol", "update", "JobId=" + job};
  for (std::string& change : changes) argv.push_back(std::move(change));
  return run(std::move(argv));
}

Status Slurm::run(std::vector<std::string> argv) {
  // Without the orders: it is told to the job's user, who has not given them.
  const std::string what = argv.at(0) + " " + argv.at(1);
  const auto end = run_program(std::move(argv), {.time = limit_});
  if (!end) return failure(end.error());
  if (end->status != 0) return said(what, *end);
  return {};
}

}  // namespace pinion::slurm
