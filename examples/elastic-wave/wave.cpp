// A wave on a square sheet by any number of MPI ranks: each computes some of its rows. Whatever
// their number, and wherever the run was stopped and started again, the result is the same bit for
// bit.
//
// Usage: elastic-wave FOLDER POINTS STEPS [REST]
//
// All ranks see FOLDER. There, `checkpoint` is what a run begins with and leaves at its end: after
// STEPS steps, or soon after somebody has made the file `stop`. `progress` says "STEP RANKS" while
// it runs. The sheet has POINTS x POINTS points that move; between its rounds each rank rests for
// REST milliseconds, so that a small sheet lasts.
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRound = 8;  // steps between two looks for `stop`
constexpr double kSpeed = 0.25;     // squared, in points per step

// Some rows of the sheet, with one above and one below that belong to the neighbours, and in each
// row a point to the left and one to the right that never move.
class Rows {
 public:
  Rows(int count, int points)
      : width_(points + 2), values_(std::size_t(count + 2) * std::size_t(points + 2)) {}
  double* row(int i) { return values_.data() + std::ptrdiff_t(i) * width_; }
  double* own() { return row(1); }

 private:
  int width_;
  std::vector<double> values_;
};

// Who computes what: rank r the rows from first(r) to first(r + 1).
struct Share {
  int rank = 0;
  int ranks = 1;
  int points = 0;

  [[nodiscard]] int first(int r) const { return int(std::int64_t(points) * r / ranks); }
  [[nodiscard]] int rows() const { return first(rank + 1) - first(rank); }
  [[nodiscard]] int above() const { return rank > 0 ? rank - 1 : MPI_PROC_NULL; }
  [[nodiscard]] int below() const { return rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL; }
  // Of each rank, for MPI: its numbers, and how many are before them.
  [[nodiscard]] std::vector<int> counts() const {
    std::vector<int> counts(std::size_t(ranks), 0);
    for (int r = 0; r < ranks; ++r)
      counts[std::size_t(r)] = (first(r + 1) - first(r)) * (points + 2);
    return counts;
  }
  [[nodiscard]] std::vector<int> offsets() const {
    std::vector<int> offsets(std::size_t(ranks), 0);
    for (int r = 0; r < ranks; ++r) offsets[std::size_t(r)] = first(r) * (points + 2);
    return offsets;
  }
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "elastic-wave: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Nobody sees half of it.
void replace(const fs::path& file, const void* bytes, std::size_t size) {
  const fs::path fresh = file.string() + ".new";
  std::ofstream out(fresh, std::ios::binary);
  out.write(static_cast<const char*>(bytes), std::streamsize(size));
  out.close();
  if (!out) give_up("cannot write " + fresh.string());
  fs::rename(fresh, file);
}

// The whole sheet at two moments, as rank 0 and the checkpoint have it.
struct Sheet {
  std::int64_t step = 0;
  std::vector<double> before, now;
};

// At rest, with a bump off its middle.
Sheet make_sheet(int points) {
  Sheet sheet;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points + 2; ++j) {
      const double x = double(j) / (points + 1) - 0.3;
      const double y = double(i + 1) / (points + 1) - 0.4;
      const bool moves = j > 0 && j <= points;
      sheet.now.push_back(moves ? 1 / (1 + 100 * (x * x + y * y)) : 0);
    }
  }
  sheet.before = sheet.now;
  return sheet;
}

Sheet read_sheet(const fs::path& file, int points) {
  Sheet sheet = make_sheet(points);
  std::ifstream in(file, std::ios::binary);
  if (!in) return sheet;
  in.read(reinterpret_cast<char*>(&sheet.step), sizeof(sheet.step));
  for (auto* values : {&sheet.before, &sheet.now}) {
    in.read(reinterpret_cast<char*>(values->data()),
            std::streamsize(values->size() * sizeof(double)));
  }
  if (!in) give_up(file.string() + " is of another sheet");
  return sheet;
}

void write_sheet(const fs::path& file, const Sheet& sheet) {
  std::string bytes(reinterpret_cast<const char*>(&sheet.step), sizeof(sheet.step));
  for (const auto* values : {&sheet.before, &sheet.now}) {
    bytes.append(reinterpret_cast<const char*>(values->data()), values->size() * sizeof(double));
  }
  replace(file, bytes.data(), bytes.size());
}

// The rows next to ours, from who has them.
void exchange(Rows& now, const Share& share) {
  const int width = share.points + 2;
  const int last = share.rows();
  MPI_Sendrecv(now.row(1), width, MPI_DOUBLE, share.above(), 0, now.row(last + 1), width,
               MPI_DOUBLE, share.below(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(now.row(last), width, MPI_DOUBLE, share.below(), 0, now.row(0), width, MPI_DOUBLE,
               share.above(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Writes what comes after `now` over what was before.
void step(Rows& before, Rows& now, const Share& share) {
  exchange(now, share);
  for (int i = 1; i <= share.rows(); ++i) {
    double* next = before.row(i);
    const double* up = now.row(i - 1);
    const double* at = now.row(i);
    const double* down = now.row(i + 1);
    for (int j = 1; j <= share.points; ++j) {
      const double pull = up[j] + down[j] + at[j - 1] + at[j + 1] - 4 * at[j];
      next[j] = 2 * at[j] - next[j] + kSpeed * pull;
    }
  }
  std::swap(before, now);
}

// Rank 0 looks, so that all stop after the same step.
bool is_to_stop(const fs::path& folder, const Share& share, std::int64_t steps_done) {
  int stop = 0;
  if (share.rank == 0) {
    const std::string progress =
        std::to_string(steps_done) + " " + std::to_string(share.ranks) + "\n";
    replace(folder / "progress", progress.data(), progress.size());
    stop = fs::exists(folder / "stop") ? 1 : 0;
  }
  MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return stop != 0;
}

void run(const fs::path& folder, int points, std::int64_t steps, std::chrono::milliseconds rest) {
  Share share{.points = points};
  MPI_Comm_rank(MPI_COMM_WORLD, &share.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &share.ranks);
  if (share.ranks > points) give_up("more ranks than rows");

  Sheet sheet;
  if (share.rank == 0) sheet = read_sheet(folder / "checkpoint", points);
  MPI_Bcast(&sheet.step, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  Rows before(share.rows(), points);
  Rows now(share.rows(), points);
  const auto counts = share.counts();
  const auto offsets = share.offsets();
  const int own = counts[std::size_t(share.rank)];
  MPI_Scatterv(sheet.before.data(), counts.data(), offsets.data(), MPI_DOUBLE, before.own(), own,
               MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Scatterv(sheet.now.data(), counts.data(), offsets.data(), MPI_DOUBLE, now.own(), own,
               MPI_DOUBLE, 0, MPI_COMM_WORLD);

  while (sheet.step < steps && !is_to_stop(folder, share, sheet.step)) {
    for (std::int64_t i = 0; i < kRound && sheet.step < steps; ++i, ++sheet.step) {
      step(before, now, share);
    }
    std::this_thread::sleep_for(rest);
  }

  MPI_Gatherv(before.own(), own, MPI_DOUBLE, sheet.before.data(), counts.data(), offsets.data(),
              MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gatherv(now.own(), own, MPI_DOUBLE, sheet.now.data(), counts.data(), offsets.data(),
              MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (share.rank == 0) write_sheet(folder / "checkpoint", sheet);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: elastic-wave FOLDER POINTS STEPS [REST]\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  run(argv[1], std::atoi(argv[2]), std::atoll(argv[3]),
      std::chrono::milliseconds(argc == 5 ? std::atoi(argv[4]) : 0));
  MPI_Finalize();
  return 0;
}
