// The figures of pinion-nri-bench as tables: plugin, floor, ratio.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/nri_bench_player.h"

namespace pinion::bench {

// The q-th quantile (0..1) in milliseconds; 0 of no samples.
double quantile(const std::vector<Sample>& samples, double q);
double quantile(std::vector<double> values, double q);
// Those whose answer holds updates, or those whose answer holds none.
std::vector<Sample> only(const std::vector<Sample>& samples, bool with_updates);

// `floor` is the baseline's name.
void print_title(const std::string& text, const std::string& floor);
void print_row(const std::string& name, double pinion, double floor, int digits = 3);
void print_level(const Tally& pinion, const Tally& floor);

}  // namespace pinion::bench
