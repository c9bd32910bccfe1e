// The virtual clock: jobs from a source go to a machine, run as long as they do there, and end. At
// one moment ends come before submissions, then there is one pass over the queue. Where a model of
// contention is given, a job's end moves as others start and end beside it; an elastic one's also
// as its size changes.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "cluster/sim/contention.h"
#include "cluster/sim/figures.h"
#include "cluster/sim/job_source.h"

namespace pinion::sim {

struct SimulationSettings {
  std::int64_t limit = 0;  // jobs that are taken from the source; 0: all
  bool check = false;      // the machine's books after every event
  Contention* contention =
      nullptr;     // must outlive the simulation; nullptr: nothing disturbs anybody
  Ms start = 0;    // from the decision until a job runs: counted as wait
  Ms release = 0;  // from a job's end until its CPUs can be given again
};

class Simulation {
 public:
  // All must outlive it.
  Simulation(JobSource& source, Machine& machine, const SimulationSettings& settings)
      : source_(source), machine_(machine), settings_(settings) {}

  // Each job as it ends, in the order of ends, ties in that of submissions.
  std::function<void(const JobRecord&)> on_end;
  // A job that can never start, and why.
  std::function<void(const Job&, const std::string& why)> on_refused;
  // After each moment: when, and the processors that run something.
  std::function<void(Ms now, std::int64_t busy)> on_moment;

  // Until the last job has ended. Errors: those of the source; kInternal when jobs wait that
  // nothing will ever start, or the books disagree.
  Result<Figures> run();

 private:
  struct Running {
    Job job;
    Ms start = 0;
    std::vector<Piece> pieces;
    double rest = 0;       // milliseconds of `run` that are still to do, at `since`
    double disturbed = 1;  // how much longer it takes because of its neighbours
    double rate = 1;       // how much faster it is because of its size
    Ms since = 0;
    Ms end = 0;
    std::int64_t processors = 0;  // that it holds
    Ms held_since = 0;
    double work = 0;  // processor milliseconds until then
    std::vector<JobRecord::Stretch> sizes{};
    Ms rescaling = 0;
    std::vector<JobRecord::Stay> stays{};

    [[nodiscard]] double slowdown() const { return disturbed / rate; }
  };

  Status fetch();
  Status arrive(Ms now);
  void begin_all(Ms now);
  void end_all(Ms now);
  void free_all(Ms now);
  void slow_down(Ms now);
  void begin(Started started, Ms now);
  void resize(const Resized& resized, Ms now);
  void hold(Running& running, std::int64_t processors, Ms now);
  static void occupy(Running& running, const std::vector<Piece>& pieces, Ms now);
  void draw(Handle handle, const Running& running);
  void change_pace(Handle handle, Running& running, double disturbed, double rate, Ms pause,
                   Ms now);
  Status pass(Ms now);
  [[nodiscard]] std::optional<Ms> next_moment() const;

  JobSource& source_;
  Machine& machine_;
  const SimulationSettings settings_;
  std::optional<Job> next_;  // to be submitted
  std::int64_t fetched_ = 0;
  Handle handles_ = 0;
  std::unordered_map<Handle, Job> waiting_;
  std::unordered_map<Handle, Running> running_;
  std::set<std::pair<Ms, Handle>> begins_;  // of jobs that were started, with contention
  std::set<std::pair<Ms, Handle>> ends_;
  std::set<std::pair<Ms, Handle>> frees_;  // of CPUs whose jobs have ended
  std::int64_t busy_ = 0;
  Accounts accounts_;
};

}  // namespace pinion::sim
