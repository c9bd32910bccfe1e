#include "cluster/sim/elastic_mix.h"

#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "cluster/sim/malleable.h"

namespace pinion::sim {
namespace {

constexpr int kSetJobs = 16;
constexpr int kMostPriority = 5;

struct GridStep {
  int workers;
  double seconds;
};
struct Grid {
  int time_steps;
  std::array<GridStep, 3> steps;
  double rebalance;  // seconds of load balancing in a rescale
};
constexpr std::array kGrids{
    Grid{40'000, {GridStep{1, 0.003}, {3, 0.0017}, {7, 0.000996}}, 0.006},
    Grid{40'000, {GridStep{3, 0.012}, {7, 0.0067}, {15, 0.0037}}, 0.01563},
    Grid{40'000, {GridStep{7, 0.049}, {15, 0.03}, {31, 0.019}}, 0.181229},
    Grid{10'000, {GridStep{15, 0.13}, {31, 0.075}, {59, 0.046}}, 0.728237},
};
// Seconds of a restart, by the line through what was measured: for each PE, and besides.
constexpr double kRestartPerPe = 0.143006;
constexpr double kRestartSeconds = 0.162208;

struct Draw {
  int grid;  // of kGrids
  int priority;
};

// Seeds the engine as Python's random.seed() does with a small number: by init_by_array() of its
// authors (Matsumoto and Nishimura, 2002) with that number as the only key.
class PythonSeed {
 public:
  using result_type = std::uint_least32_t;  // NOLINT(readability-identifier-naming): the name that
                                            // <random> looks for

  explicit PythonSeed(std::uint32_t key) : key_(key) {}

  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    const auto size = static_cast<std::uint32_t>(end - begin);
    const auto mixed = [&](std::uint32_t at, std::uint32_t factor) {
      const std::uint32_t before = begin[at - 1];
      return begin[at] ^ ((before ^ (before >> 30)) * factor);
    };
    begin[0] = 19'650'218;
    for (std::uint32_t i = 1; i < size; ++i) {
      const std::uint32_t before = begin[i - 1];
      begin[i] = 1'812'433'253 * (before ^ (before >> 30)) + i;
    }
    std::uint32_t at = 1;
    const auto step = [&] {
      if (++at < size) return;
      begin[0] = begin[size - 1];
      at = 1;
    };
    for (std::uint32_t i = 0; i < size; ++i, step()) begin[at] = mixed(at, 1'664'525) + key_;
    for (std::uint32_t i = 1; i < size; ++i, step()) begin[at] = mixed(at, 1'566'083'941) - at;
    begin[0] = 0x8000'0000;
  }

 private:
  std::uint32_t key_;
};

// As Python's random draws one of 0 to count - 1.
int draw_below(std::mt19937& random, unsigned count) {
  const int bits = static_cast<int>(std::bit_width(count));
  while (true) {
    const auto value = static_cast<std::uint32_t>(random()) >> (32 - bits);
    if (value < count) return static_cast<int>(value);
  }
}

std::vector<Job> set_of(const std::array<Draw, kSetJobs>& draws, Ms submission_gap) {
  std::vector<Job> jobs;
  for (const auto& [which, priority] : draws) {
    const Grid& grid = kGrids[static_cast<std::size_t>(which)];
    const auto number = static_cast<std::int64_t>(jobs.size());
    Job& job = jobs.emplace_back();
    job.number = number + 1;
    job.name = "j" + std::to_string(number);
    job.submit = number * submission_gap;
    job.priority = priority;
    job.shape.tasks = grid.steps.back().workers;
    auto elastic = std::make_shared<Elastic>();
    elastic->min = grid.steps.front().workers;
    elastic->max = grid.steps.back().workers;
    elastic->launcher = 1;
    elastic->restart = 1000 * (kRestartSeconds + kRestartPerPe);
    elastic->restart_per_worker = 1000 * kRestartPerPe;
    elastic->rebalance = 1000 * grid.rebalance;
    std::vector<cluster::SizeRate> rates;
    for (const GridStep& step : grid.steps) {
      // To the microsecond, so that no product is off by what cannot be said in binary.
      const double seconds = std::round(1e6 * step.seconds * grid.time_steps) / 1e6;
      rates.push_back({step.workers, 1 / seconds});
    }
    set_rates(job, *elastic, std::move(rates));
    job.request = job.run;
    job.elastic = std::move(elastic);
  }
  return jobs;
}

}  // namespace

std::vector<Job> random_elastic_jobs(std::uint64_t set, Ms submission_gap) {
  PythonSeed seed(42);
  std::mt19937 random(seed);
  std::array<Draw, kSetJobs> draws{};
  for (std::uint64_t drawn = 0; drawn < set; ++drawn) {
    for (Draw& one : draws) {
      one.grid = draw_below(random, kGrids.size());
      one.priority = 1 + draw_below(random, kMostPriority);
    }
  }
  return set_of(draws, submission_gap);
}

std::vector<Job> table1_jobs(Table1Set set, Ms submission_gap) {
  constexpr std::array<Draw, kSetJobs> latest{{{2, 2},
                                               {1, 3},
                                               {1, 4},
                                               {0, 4},
                                               {3, 2},
                                               {3, 1},
                                               {0, 4},
                                               {3, 1},
                                               {1, 4},
                                               {1, 3},
                                               {0, 4},
                                               {3, 1},
                                               {0, 5},
                                               {1, 3},
                                               {1, 3},
                                               {1, 3}}};
  constexpr std::array<Draw, kSetJobs> earlier{{{2, 2},
                                                {3, 1},
                                                {2, 3},
                                                {1, 3},
                                                {0, 4},
                                                {1, 3},
                                                {1, 3},
                                                {1, 3},
                                                {0, 5},
                                                {1, 3},
                                                {1, 3},
                                                {2, 2},
                                                {0, 4},
                                                {1, 3},
                                                {1, 3},
                                                {1, 3}}};
  return set_of(set == Table1Set::kLatest ? latest : earlier, submission_gap);
}

}  // namespace pinion::sim
