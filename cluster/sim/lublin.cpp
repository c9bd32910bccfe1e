#include "cluster/sim/lublin.h"

#include <algorithm>
#include <cmath>

namespace pinion::sim {
namespace {

// The model's parameters, jobs of no type.
constexpr double kSerial = 0.244;      // share of jobs with one processor
constexpr double kPowerOfTwo = 0.576;  // share with a power of two above that
constexpr double kLow = 0.8;           // of the logarithm of the size
constexpr double kMiddleBelow = 2.5;   // the middle lies so much below the largest
constexpr double kLowShare = 0.86;     // below the middle
constexpr double kShape1 = 4.2;        // two gamma distributions of the run time's logarithm
constexpr double kScale1 = 0.94;
constexpr double kShape2 = 312;
constexpr double kScale2 = 0.03;
constexpr double kFirstBySize = -0.0054;  // the share of the first of them falls with the size
constexpr double kFirst = 0.78;
constexpr double kGapShape = 10.2303 * 1.0225;
constexpr double kGapScale = 0.4871;
constexpr double kDayShape = 8.1737;
constexpr double kDayScale = 3.9631;
constexpr int kDayStart = 11;    // the half hour in which the daily cycle begins
constexpr double kMostRun = 12;  // logarithms of seconds: what is above is drawn again
constexpr double kMostGap = 13;
constexpr double kBucketSeconds = 1800;

double day_density(double half_hour) {
  return std::pow(half_hour, kDayShape - 1) * std::exp(-half_hour / kDayScale);
}

double gamma_below(std::mt19937_64& random, double shape, double scale, double most) {
  while (true) {
    const double value = std::gamma_distribution<double>(shape, scale)(random);
    if (value <= most) return value;
  }
}

}  // namespace

Lublin::Lublin(const LublinSettings& settings) : settings_(settings), random_(settings.seed) {
  double sum = 0;
  for (int i = kDayStart; i < kDayStart + static_cast<int>(kBuckets); ++i) {
    // Simpson's rule over the half hour around i.
    const double weight = (day_density(i - 0.5) + 4 * day_density(i) + day_density(i + 0.5)) / 6;
    weights_[static_cast<std::size_t>(i - 1) % kBuckets] = weight;
    sum += weight;
  }
  for (double& weight : weights_) weight *= static_cast<double>(kBuckets) / sum;
  if (settings.load > 0) stretch_ = gap_factor();
}

double Lublin::uniform() {
  return std::uniform_real_distribution<double>(0, 1)(random_);
}

int Lublin::draw_size() {
  const double type = uniform();
  if (type <= kSerial) return 1;
  const double high = std::log2(settings_.largest);
  const double low = std::min(kLow, high);
  const double middle = std::max(low, high - kMiddleBelow);
  const bool small = uniform() <= kLowShare;
  double power = small ? low + (middle - low) * uniform() : middle + (high - middle) * uniform();
  if (type <= kSerial + kPowerOfTwo) power = std::floor(power + 0.5);
  return std::clamp(static_cast<int>(std::lround(std::exp2(power))), 1, settings_.largest);
}

double Lublin::draw_run(int size) {
  const double first = std::clamp(kFirstBySize * size + kFirst, 0.0, 1.0);
  const bool is_first = uniform() <= first;
  return std::exp(is_first ? gamma_below(random_, kShape1, kScale1, kMostRun)
                           : gamma_below(random_, kShape2, kScale2, kMostRun));
}

double Lublin::draw_gap() {
  points_ += std::exp(gamma_below(random_, kGapShape, kGapScale, kMostGap)) / kBucketSeconds;
  double gap = 0;
  while (points_ > weights_[bucket_]) {
    points_ -= weights_[bucket_];
    bucket_ = (bucket_ + 1) % kBuckets;
    gap += kBucketSeconds;
  }
  const double into = points_ / weights_[bucket_];
  gap += kBucketSeconds * (into - into_bucket_);
  into_bucket_ = into;
  return gap;
}

// Draws the same jobs once before.
double Lublin::gap_factor() const {
  LublinSettings plain = settings_;
  plain.load = 0;
  Lublin same(plain);
  double work = 0;  // processor seconds
  double first = 0;
  for (std::int64_t i = 0; i < settings_.jobs; ++i) {
    const Job job = same.draw();
    work += static_cast<double>(job.run) / 1000 * job.shape.tasks;
    if (i == 0) first = same.now_;
  }
  const double span = same.now_ - first;
  if (span <= 0) return 1;
  return work / (static_cast<double>(settings_.processors) * settings_.load) / span;
}

Result<std::optional<Job>> Lublin::next() {
  if (given_ == settings_.jobs) return std::nullopt;
  return draw();
}

Job Lublin::draw() {
  Job job;
  job.number = ++given_;
  job.shape.tasks = draw_size();
  // In whole seconds, as in traces.
  job.run = 1000 * std::max<Ms>(1, std::llround(draw_run(job.shape.tasks)));
  const double asked = 1 + (settings_.overestimate - 1) * uniform();
  job.request = 1000 * std::llround(std::ceil(static_cast<double>(job.run) / 1000 * asked));
  now_ += draw_gap() * stretch_;
  job.submit = 1000 * std::llround(now_);
  return job;
}

double Lublin::progress() const {
  return settings_.jobs == 0 ? 1
                             : static_cast<double>(given_) / static_cast<double>(settings_.jobs);
}

}  // namespace pinion::sim
