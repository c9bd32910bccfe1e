// HPC Challenge (Debian's hpcc) as the demo runs it: its input, and its results as values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::lab {

// P x Q ranks, as square as they can be; P <= Q.
struct Grid {
  int rows = 1;
  int columns = 1;

  bool operator==(const Grid&) const = default;
};
Grid grid_of(int ranks);

// The order of the matrix of linear equations: each rank holds as much of it for any number of
// ranks, so that a run of a few seconds on one core stays one of a few seconds. `ranks` >= 1.
int order_of(int ranks);

// The text of hpccinf.txt. HPCC derives the sizes of all its other parts from the order.
std::string hpcc_input(int order, const Grid& grid);

// Of the summary in hpccoutf.txt. What HPCC did not measure (the ring with one rank) is not set.
struct HpccFigures {
  std::optional<double> hpl_gflops;             // of all ranks together
  std::optional<double> dgemm_gflops;           // these three: of one rank, while all work
  std::optional<double> triad_gbytes;           // per second
  std::optional<double> random_mups;            // 10^6 updates of memory per second
  std::optional<double> ring_latency_us;        // between ranks in random order
  std::optional<double> ring_bandwidth_gbytes;  // per second

  bool operator==(const HpccFigures&) const = default;
};

// Errors: kInvalid where there is no whole summary, HPCC itself says that a result is wrong, or a
// value is no number.
Result<HpccFigures> parse_hpcc_output(std::string_view text);

// What the run's script leaves behind: "STATUS START END\n", the exit status of mpirun and the
// machine's uptime in seconds before and after it.
struct RunRecord {
  int status = 0;
  double seconds = 0;

  bool operator==(const RunRecord&) const = default;
};
// Errors: kInvalid where the text is not of that form or the end lies before the start.
Result<RunRecord> parse_run_record(std::string_view text);

}  // namespace pinion::lab
