#include "tests/bench/nri_bench_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pinion::bench {
namespace {

double mean(const std::vector<Sample>& samples, std::size_t Sample::*member) {
  if (samples.empty()) return 0;
  double sum = 0;
  for (const Sample& sample : samples) sum += static_cast<double>(sample.*member);
  return sum / static_cast<double>(samples.size());
}

double most(const std::vector<Sample>& samples, std::size_t Sample::*member) {
  std::size_t most = 0;
  for (const Sample& sample : samples) most = std::max(most, sample.*member);
  return static_cast<double>(most);
}

void print_calls(const std::string& call, const std::vector<Sample>& pinion,
                 const std::vector<Sample>& floor) {
  const auto row = [&](const char* name, double q) {
    print_row(call + " " + name + ", ms", quantile(pinion, q), quantile(floor, q));
  };
  row("p50", 0.5);
  row("p99", 0.99);
  row("p99.9", 0.999);
  for (const bool with : {false, true}) {
    const std::vector<Sample> some = only(pinion, with);
    if (some.empty()) continue;
    const std::string which = with ? "  with updates " : "  without updates ";
    const double percent =
        100 * static_cast<double>(some.size()) / static_cast<double>(pinion.size());
    print_row(which + "% of answers", percent, 0, 1);
    print_row(which + "p50, ms", quantile(some, 0.5), quantile(floor, 0.5));
    print_row(which + "p99, ms", quantile(some, 0.99), quantile(floor, 0.99));
    print_row(which + "bytes, mean", mean(some, &Sample::bytes), 0, 0);
    print_row(which + "bytes, most", most(some, &Sample::bytes), 0, 0);
    if (!with) continue;
    print_row(which + "entries, mean", mean(some, &Sample::updates), 0, 1);
    print_row(which + "entries, most", most(some, &Sample::updates), 0, 0);
  }
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = std::ceil(q * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(std::max(at, 0.0))];
}

double quantile(const std::vector<Sample>& samples, double q) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.ms);
  return quantile(std::move(values), q);
}

std::vector<Sample> only(const std::vector<Sample>& samples, bool with_updates) {
  std::vector<Sample> some;
  for (const Sample& sample : samples) {
    if ((sample.updates > 0) == with_updates) some.push_back(sample);
  }
  return some;
}

void print_title(const std::string& text, const std::string& floor) {
  std::printf("\nbeside %s\n%-44s %10s %10s %8s\n", floor.c_str(), text.c_str(), "pinion", "floor",
              "ratio");
}

void print_row(const std::string& name, double pinion, double floor, int digits) {
  std::printf("%-44s %10.*f", name.c_str(), digits, pinion);
  if (floor > 0) {
    std::printf(" %10.*f %8.2f\n", digits, floor, pinion / floor);
  } else {
    std::printf(" %10s %8s\n", "-", "-");
  }
}

void print_level(const Tally& pinion, const Tally& floor) {
  print_calls("CreateContainer", pinion.creates, floor.creates);
  print_calls("StopContainer", pinion.stops, floor.stops);
  print_row("CPU per pod life, ms", pinion.cpu_ms / pinion.lives, floor.cpu_ms / floor.lives);
  const auto mib = [](std::int64_t kib) { return static_cast<double>(kib) / 1024; };
  print_row("RSS, MiB", mib(pinion.memory.rss_kib), mib(floor.memory.rss_kib), 1);
  print_row("RSS at most so far, MiB", mib(pinion.memory.peak_kib), mib(floor.memory.peak_kib), 1);
}

}  // namespace pinion::bench
