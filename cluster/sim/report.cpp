#include "cluster/sim/report.h"

#include <array>
#include <cstdio>
#include <set>

#include "base/cli/table.h"

namespace pinion::sim {
namespace {

template <class... Values>
std::string format(const char* how, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), how, values...);
  return text.data();
}

std::string seconds(double value) {
  return format("%.1f", value);
}

std::string percent(double share) {
  return share < 0 ? "-" : format("%.2f %%", 100 * share);
}

}  // namespace

std::string seconds_text(Ms ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 == 0) return text;
  text += format(".%03d", static_cast<int>(ms % 1000));
  while (text.back() == '0') text.pop_back();
  return text;
}

std::string to_table(const Figures& figures) {
  std::vector<Row> times{{"SECONDS", "MEAN", "P95", "P99", "BY PRIORITY"}};
  const auto add = [&](const char* name, const Spread& spread) {
    times.push_back({name, seconds(spread.mean), seconds(spread.p95), seconds(spread.p99),
                     seconds(spread.weighted_mean)});
  };
  add("wait", figures.wait);
  add("response", figures.response);
  std::vector<Row> rest{{"jobs", std::to_string(figures.jobs)}};
  if (figures.refused > 0) rest.push_back({"too large, left out", std::to_string(figures.refused)});
  if (figures.skipped > 0) rest.push_back({"never ran, left out", std::to_string(figures.skipped)});
  rest.push_back({"makespan", seconds(figures.makespan) + " s"});
  rest.push_back({"bounded slowdown (10 s)", format("%.3f", figures.slowdown)});
  rest.push_back({"utilisation", percent(figures.utilisation)});
  rest.push_back({"fragmentation", percent(figures.fragmentation)});
  if (figures.rescales > 0) {
    rest.push_back({"rescales", std::to_string(figures.rescales) + ", " +
                                    seconds(figures.rescaling) + " s of all jobs"});
  }
  return table(rest) + "\n" + table(times, {1, 2, 3, 4});
}

nlohmann::ordered_json to_json(const Figures& figures) {
  const auto spread = [](const Spread& of) {
    return nlohmann::ordered_json{
        {"mean", of.mean}, {"p95", of.p95}, {"p99", of.p99}, {"weighted_mean", of.weighted_mean}};
  };
  nlohmann::ordered_json json{{"jobs", figures.jobs},
                              {"refused", figures.refused},
                              {"skipped", figures.skipped},
                              {"makespan", figures.makespan},
                              {"wait", spread(figures.wait)},
                              {"response", spread(figures.response)},
                              {"total_wait", figures.total_wait},
                              {"total_run", figures.total_run},
                              {"bounded_slowdown", figures.slowdown},
                              {"utilisation", figures.utilisation},
                              {"fragmentation", nullptr},
                              {"rescales", figures.rescales},
                              {"rescaling", figures.rescaling}};
  if (figures.fragmentation >= 0) json["fragmentation"] = figures.fragmentation;
  return json;
}

std::string sizes_text(const JobRecord& record) {
  std::string text;
  for (const JobRecord::Stretch& size : record.sizes) {
    if (!text.empty()) text += ';';
    text += std::to_string(size.workers) + "@" + seconds_text(size.from);
  }
  return text;
}

std::string csv_line(const JobRecord& record, int numa_nodes) {
  std::set<int> nodes;
  int placed = 0;  // without a launcher
  for (const Piece& piece : record.pieces) {
    if (piece.tasks == 0) continue;
    nodes.insert(piece.node);
    ++placed;
  }
  std::string line = record.job.called() + "," + seconds_text(record.job.submit) + "," +
                     seconds_text(record.start) + "," + seconds_text(record.end) + "," +
                     std::to_string(record.job.processors()) + "," +
                     seconds_text(record.job.request) + "," + record.job.user + "," +
                     std::to_string(record.job.priority) + ",";
  if (numa_nodes < 0) {
    if (!record.sizes.empty()) line += std::to_string(record.sizes.back().workers);
    line += ",,,";
  } else {
    line += std::to_string(placed) + "," + std::to_string(nodes.size()) + "," +
            std::to_string(numa_nodes) + ",";
  }
  return line + record.job.kind + "," + std::to_string(record.rescales()) + "," +
         sizes_text(record) + "\n";
}

}  // namespace pinion::sim
