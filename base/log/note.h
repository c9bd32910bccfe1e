// What those that decide have to say, for whoever logs it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pinion {

// A log line as data. Fields are in the order in which they are to be shown.
struct Note {
  enum class Level { kDebug, kInfo, kWarn, kError };
  Level level = Level::kInfo;
  std::string text;
  std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace pinion
