#include "cluster/slurm/expose.h"

namespace pinion::slurm {
namespace {

using prometheus::series;
using prometheus::Series;
using prometheus::Type;
using prometheus::Writer;

// In the order in which they are written.
enum Id : std::size_t {
  kBuild,
  kReady,
  kJobs,
  kPlaceholders,
  kNodes,
  kRelease,
  kActions,
  kGivenBack,
  kSilent,
};

const Series& series(Id id) {
  return slurm_series()[id];
}

}  // namespace

std::string expose(const Figures& figures, prometheus::Format format) {
  Writer writer(format);
  writer.family(series(kBuild));
  writer.sample({}, {{"version", figures.version}}, std::uint64_t{1});
  writer.single(series(kReady), std::uint64_t{figures.ready ? 1U : 0U});
  writer.parts(series(kJobs), "state",
               {{"waiting", figures.jobs.waiting},
                {"placed", figures.jobs.placed},
                {"running", figures.jobs.running}});
  writer.parts(series(kPlaceholders), "state",
               {{"waiting", figures.placeholders.waiting},
                {"running", figures.placeholders.running},
                {"lost", figures.placeholders.lost}});
  writer.parts(series(kNodes), "state",
               {{"serving", figures.nodes_serving}, {"out", figures.nodes_out}});
  writer.family(series(kRelease));
  writer.histogram({}, figures.release);
  writer.family(series(kActions));
  for (const auto& [action, tries] : figures.actions) {
    writer.sample({}, {{"action", action}, {"result", "done"}}, tries.done);
    writer.sample({}, {{"action", action}, {"result", "failed"}}, tries.failed);
  }
  writer.single(series(kGivenBack), figures.given_back);
  writer.single(series(kSilent), figures.slurm_silent);
  return writer.finish();
}

const std::vector<Series>& slurm_series() {
  static const std::vector<Series> all = {
      series(Type::kInfo, "pinion_slurm_build_info", "", "version", "The program's version."),
      series(Type::kGauge, "pinion_slurm_ready", "", "",
             "1: Slurm has answered in the last minute, and the API server has told all "
             "placeholders once."),
      series(Type::kGauge, "pinion_slurm_jobs", "", "state",
             "Jobs that `pinion-slurm` places: `waiting` for their cores, `placed` (let go, Slurm "
             "has not started them yet), `running`. An array's elements count once they are told "
             "apart."),
      series(Type::kGauge, "pinion_slurm_placeholders", "", "state",
             "Placeholder pods: `waiting`, `running`, `lost` (ended, or being deleted)."),
      series(Type::kGauge, "pinion_slurm_nodes", "", "state",
             "Slurm's nodes: `serving`, or `out`, where Slurm starts no job."),
      series(Type::kHistogram, "pinion_slurm_release_delay_seconds", "seconds", "",
             "From a job's submission, or the begin that it asks for, until it was let go on its "
             "nodes. Slurm tells the former in whole seconds, so up to 1 s is too much."),
      series(Type::kCounter, "pinion_slurm_actions_total", "", "action, result",
             "What was done, and what failed and is tried again: `create` and `delete` of "
             "placeholders; `place`, `hold`, `requeue`, `cancel`, `split`, `tell` of jobs; of "
             "elastic ones `ask` and `unask` for a number of nodes, `report` and `acknowledge` to "
             "the extender, `shrink`, `grow` and `join`."),
      series(Type::kCounter, "pinion_slurm_given_back_total", "", "",
             "How often a job gave its placeholders back because Slurm refused its nodes."),
      series(Type::kCounter, "pinion_slurm_silent_total", "", "",
             "How often Slurm did not tell its jobs and nodes."),
  };
  return all;
}

}  // namespace pinion::slurm
