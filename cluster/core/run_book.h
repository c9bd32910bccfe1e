// Runs of jobs that are under way, from the counters of their containers as agents tell them: when
// the last container of a job is gone, the run is over and its figures are complete.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/core/learnt_profile.h"

namespace pinion::cluster {

// A container of a job that has cores of its own. Counters are sums since some moment of the
// container's or its agent's life; where one goes back it began anew.
struct ContainerUse {
  std::string job;                    // by job_key(), never empty
  std::string id;                     // its own on its node, another one for each start
  int cpus = 0;                       // that it runs on, >= 1
  std::optional<double> used_s = {};  // CPU-seconds; absent: nothing is measured (yet)
  std::optional<double> misses = {};  // of the L3; these two both or none
  std::optional<double> instructions = {};
  std::optional<double> waits = {};  // voluntary context switches
};

// How a job is called here, "NAMESPACE/JOB"; empty for what is not learnt: names that are empty,
// longer than a Kubernetes name (63 and 253 bytes) or of other characters than one has (letters,
// digits, '-', '.', '_').
[[nodiscard]] std::string job_key(std::string_view name_space, std::string_view job);

// Counters are compared after so many seconds: agents read the slowest of them every ten.
inline constexpr double kUseInterval = 30;
// An interval in which a container used less of its CPUs counts for nothing: no rank runs there. An
// MPIJob's workers wait like this for their launcher, and may stay after it.
inline constexpr double kLeastUse = 0.01;
// So long nothing is heard of a node: its containers are taken for gone.
inline constexpr double kNodeSilence = 300;

struct EndedRun {
  std::string job;
  RunFigures figures;
};

// No clock of its own: `now_s` is a steady one's seconds. It keeps a few numbers for each container
// of a job that its agent shows now.
class RunBook {
 public:
  // All containers of jobs on this node as they are now. What was there before and is not here is
  // gone. Returns the runs that are over with it, without those in which nothing was measured.
  std::vector<EndedRun> observe(const std::string& node, const std::vector<ContainerUse>& now,
                                double now_s);
  // To be called now and then: ends what is on nodes that are silent.
  std::vector<EndedRun> expire(double now_s);

  [[nodiscard]] std::size_t runs() const { return runs_.size(); }
  // What was counted so far of the run that is under way, if there is one.
  [[nodiscard]] std::optional<RunFigures> under_way(const std::string& job) const;

 private:
  struct Container {
    ContainerUse at;  // when it was compared last
    double at_s = 0;
  };
  struct Node {
    std::map<std::string, Container, std::less<>> containers;  // by id
    double heard_s = 0;
  };
  struct Run {
    int containers = 0;
    double counted_until_s = 0;  // its seconds go on from here
    RunFigures figures;
  };

  void compare(Container& container, const ContainerUse& now, double now_s);
  void leave(const std::string& job, std::vector<EndedRun>& ended);

  std::map<std::string, Node, std::less<>> nodes_;
  std::map<std::string, Run, std::less<>> runs_;  // by job
};

}  // namespace pinion::cluster
