// What a program has measured, as Google Benchmark would write it: the one form that
// tests/bench/gate reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::bench {

class Measurements {
 public:
  // `name` was measured once more. Each figure's name ends with its unit: create_ms, rss_mib,
  // descriptors.
  void add(const std::string& name, std::map<std::string, double> figures);
  // Writes all of it as one JSON document; does nothing where `path` is empty.
  [[nodiscard]] Status write(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::map<std::string, double>>> all_;
};

}  // namespace pinion::bench
