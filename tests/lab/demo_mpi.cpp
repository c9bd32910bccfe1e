#include "tests/lab/demo_mpi.h"

#include "tests/lab/demo_say.h"
#include "tests/lab/mpi_report.h"
#include "tests/lab/mpi_rounds.h"

namespace pinion::lab {

Status show_mpi_job(ContainerdLab& lab, const Job& noise, int rounds,
                    const topology::Topology& machine, const std::string& svg) {
  const auto job = make_mpi_job(machine, noise.reserved);
  if (!job) return failure(job.error());
  const auto loops = noise.loops_per_noise *
                     static_cast<int>(noise.noise_before.size() + noise.noise_after.size());
  say("\nA real MPI program: HPC Challenge under Open MPI, " + std::to_string(job->ranks) +
      " rank(s) in a container of " + std::to_string(job->cpus) + " CPU(s) beside " +
      std::to_string(loops) + " busy loops,\n" + std::to_string(rounds) +
      " rounds with the agent and without in turn:\n");
  const auto done = run_rounds(
      lab, noise, *job, rounds,
      [](int round, bool pinned, const MpiRun& run) { say(progress_text(round, pinned, run)); });
  if (!done) return failure(done.error().within("MPI program"));
  const auto comparison = comparison_of(*done);
  say("\n" + ctl::comparison_table(comparison));
  say(meaning_of(*done, *job));
  if (Status written = write_file(svg, ctl::comparison_svg(comparison)); !written) {
    return failure(written.error());
  }
  say("Plot: " + svg);
  return {};
}

}  // namespace pinion::lab
