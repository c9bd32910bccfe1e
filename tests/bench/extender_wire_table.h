// What was measured of the wire, as a table: one row for each body and work, beside the baselines.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::bench {

struct Cost {  // of one call, microseconds
  double elapsed = 0;
  double cpu = 0;  // of all threads
};

class WireTable {
 public:
  // One measurement: WHO_WORK of BODY, as "pinion_reads/names".
  void add(const std::string& who, const std::string& work, const std::string& body, Cost cost);
  // Medians, and how many times ours each baseline is. On standard output.
  void print() const;

 private:
  using Row = std::pair<std::string, std::string>;  // body, work
  void print_times(const std::string& title, double Cost::*time) const;

  std::vector<Row> rows_;  // in the order of their first measurement
  std::map<Row, std::map<std::string, std::vector<Cost>>> costs_;  // by who
};

// Puts Google Benchmark's runs into the table.
class TableReporter : public benchmark::BenchmarkReporter {
 public:
  explicit TableReporter(WireTable& table) : table_(table) {}

  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

 private:
  WireTable& table_;
};

// Runs the program of wire_go/ on those files, once.
Status measure_go(const std::string& program, const std::vector<std::string>& files,
                  WireTable& table);

}  // namespace pinion::bench
