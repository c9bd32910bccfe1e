#include "tests/bench/extender_wire_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "tests/lab/process.h"
#include "tests/support/tree.h"

namespace pinion::bench {
namespace {

constexpr const char* kOurs = "pinion";
constexpr std::array kBaselines = {"nlohmann", "go"};
constexpr const char* kGoTime = "300ms";  // of each measurement
constexpr lab::Milliseconds kGoLimit{120'000};

double median(const std::vector<Cost>& costs, double Cost::*time) {
  std::vector<double> values;
  for (const Cost& cost : costs) values.push_back(cost.*time);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

void WireTable::add(const std::string& who, const std::string& work, const std::string& body,
                    Cost cost) {
  const Row row(body, work);
  if (std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
  costs_[row][who].push_back(cost);
}

void WireTable::print() const {
  print_times("CPU time, ms", &Cost::cpu);
  print_times("elapsed, ms", &Cost::elapsed);
}

void WireTable::print_times(const std::string& title, double Cost::*time) const {
  std::printf("\n%-28s %9s", title.c_str(), kOurs);
  for (const char* who : kBaselines) std::printf(" %9s %6s", who, "ratio");
  std::printf("\n");
  for (const Row& row : rows_) {
    const auto& costs = costs_.at(row);
    const auto print_ms = [](double us) { std::printf(" %9.3f", us / 1000); };
    std::printf("%-28s", (row.first + " " + row.second).c_str());
    const auto ours = costs.find(kOurs);
    const double us = ours == costs.end() ? 0 : median(ours->second, time);
    print_ms(us);
    for (const char* who : kBaselines) {
      const auto other = costs.find(who);
      if (other == costs.end() || us <= 0) {
        std::printf(" %9s %6s", "-", "-");
        continue;
      }
      print_ms(median(other->second, time));
      std::printf(" %6.1f", median(other->second, time) / us);
    }
    std::printf("\n");
  }
}

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const std::string& name = run.run_name.function_name;  // "pinion_reads/names"
    const std::size_t who = name.find('_');
    const std::size_t body = name.find('/');
    if (run.error_occurred || who == std::string::npos || body == std::string::npos) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), run.error_message.c_str());
      continue;
    }
    // Both in the unit of the run, which is the microsecond.
    table_.add(name.substr(0, who), name.substr(who + 1, body - who - 1), name.substr(body + 1),
               {.elapsed = run.GetAdjustedRealTime(), .cpu = run.GetAdjustedCPUTime()});
  }
}

Status measure_go(const std::string& program, const std::vector<std::string>& files,
                  WireTable& table) {
  const test_support::TempDir folder;
  lab::Command command{
      .argv = {program, "-test.benchtime", kGoTime}, .env = {}, .log = folder.path() / "output"};
  command.argv.insert(command.argv.end(), files.begin(), files.end());
  const auto output = lab::run(command, kGoLimit);
  if (!output) return failure(output.error());
  std::istringstream stream(*output);
  std::string body;
  std::string work;
  double elapsed_ns = 0;
  double cpu_ns = 0;
  double allocations = 0;
  while (stream >> body >> work >> elapsed_ns >> cpu_ns >> allocations) {
    table.add("go", work, body, {.elapsed = elapsed_ns / 1000, .cpu = cpu_ns / 1000});
  }
  return {};
}

}  // namespace pinion::bench
