#include "tests/lab/hpcc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace pinion::lab {
namespace {

constexpr double kOrderOfOneRank = 1200;
constexpr int kBlock = 80;

constexpr std::string_view kBegin = "Begin of Summary section.";
constexpr std::string_view kEnd = "End of Summary section.";

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<std::string_view> summary_of(std::string_view text) {
  const auto begin = text.find(kBegin);
  if (begin == std::string_view::npos) {
    return failure(Errc::kInvalid, "HPCC's output has no summary");
  }
  const auto end = text.find(kEnd, begin);
  if (end == std::string_view::npos) {
    return failure(Errc::kInvalid, "the summary in HPCC's output has no end");
  }
  return text.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

// The text behind "KEY=" at the beginning of a line.
std::optional<std::string_view> value_of(std::string_view summary, std::string_view key) {
  const std::string wanted = "\n" + std::string(key) + "=";
  const auto at = summary.find(wanted);
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = summary.substr(at + wanted.size());
  return rest.substr(0, rest.find('\n'));
}

struct Field {
  std::string_view key;
  std::optional<double> HpccFigures::*member;
  double factor;
};

// The names are HPCC's own. "Star": all ranks at once, each for itself.
constexpr Field kFields[] = {
    {"HPL_Tflops", &HpccFigures::hpl_gflops, 1000},
    {"StarDGEMM_Gflops", &HpccFigures::dgemm_gflops, 1},
    {"StarSTREAM_Triad", &HpccFigures::triad_gbytes, 1},
    {"StarRandomAccess_GUPs", &HpccFigures::random_mups, 1000},
    {"RandomlyOrderedRingLatency_usec", &HpccFigures::ring_latency_us, 1},
    {"RandomlyOrderedRingBandwidth_GBytes", &HpccFigures::ring_bandwidth_gbytes, 1},
};

}  // namespace

Grid grid_of(int ranks) {
  Grid grid{.rows = 1, .columns = ranks};
  for (int rows = 2; rows * rows <= ranks; ++rows) {
    if (ranks % rows == 0) grid = {.rows = rows, .columns = ranks / rows};
  }
  return grid;
}

int order_of(int ranks) {
  const double order = kOrderOfOneRank * std::sqrt(std::max(1, ranks));
  return kBlock * static_cast<int>(std::lround(order / kBlock));
}

std::string hpcc_input(int order, const Grid& grid) {
  // What stands behind a value is for a human; HPCC reads by line and position.
  const std::vector<std::string> lines = {
      "HPL input of pinion-demo",
      "one size, one grid",
      "HPL.out output file",
      "8 device out: that file",
      "1 number of orders",
      std::to_string(order) + " order N",
      "1 number of block sizes",
      std::to_string(kBlock) + " NB",
      "0 ranks by row",
      "1 number of grids",
      std::to_string(grid.rows) + " P",
      std::to_string(grid.columns) + " Q",
      "16.0 threshold of the residual",
      "1 number of panel factorisations",
      "2 right-looking",
      "1 number of stopping criteria",
      "4 NBMIN",
      "1 number of panels in a recursion",
      "2 NDIV",
      "1 number of recursive factorisations",
      "1 Crout",
      "1 number of broadcasts",
      "1 modified ring",
      "1 number of look-aheads",
      "1 depth",
      "2 swapping: mixed",
      "64 threshold of swapping",
      "0 L1 transposed",
      "0 U transposed",
      "1 equilibration",
      "8 alignment in doubles",
      "-- PTRANS --",
      "0 further orders",
      "1",
      "0 further block sizes",
      "1",
  };
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

Result<HpccFigures> parse_hpcc_output(std::string_view text) {
  const auto summary = summary_of(text);
  if (!summary) return failure(summary.error());
  if (value_of(*summary, "Success") != "1") {
    return failure(Errc::kInvalid, "HPCC says that a result of its own is wrong");
  }
  HpccFigures figures;
  for (const auto& field : kFields) {
    const auto word = value_of(*summary, field.key);
    if (!word) continue;
    const auto value = number(*word);
    if (!value) {
      return failure(Errc::kInvalid, "HPCC's " + std::string(field.key) + " is '" +
                                         std::string(*word) + "', not a number");
    }
    // -1 is HPCC's word for "not measured"; none of these can be 0.
    if (*value > 0) figures.*field.member = *value * field.factor;
  }
  return figures;
}

Result<RunRecord> parse_run_record(std::string_view text) {
  std::vector<double> values;
  if (text.empty() || text.back() != '\n') {
    return failure(Errc::kInvalid, "record of the run: no whole line");
  }
  text.remove_suffix(1);
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto value = number(text.substr(at, end - at));
    if (!value) {
      return failure(Errc::kInvalid, "record of the run: '" + std::string(text) + "'");
    }
    values.push_back(*value);
    at = end + 1;
  }
  if (values.size() != 3 || values[0] < 0 || values[0] > 255 || values[2] < values[1]) {
    return failure(Errc::kInvalid, "record of the run: '" + std::string(text) + "'");
  }
  return RunRecord{.status = static_cast<int>(values[0]), .seconds = values[2] - values[1]};
}

}  // namespace pinion::lab
