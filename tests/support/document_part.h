// Parts of documents that are made from the code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "metrics/prometheus/series.h"

namespace pinion::test_support {

// What stands in the file between the two marks is just this. With UPDATE_GOLDEN in the environment
// it is written there instead, by the program that is named.
inline void expect_part(const std::string& path, const std::string& begin_mark,
                        const std::string& end_mark, const std::string& part, const char* program) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + begin_mark.size();
  ASSERT_LE(from, end);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text.substr(0, from) << part << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), part)
      << "if the table of series is right: UPDATE_GOLDEN=1 " << program;
}

// The table of a program's own series.
inline std::string series_table(const std::vector<prometheus::Series>& series) {
  std::string text = "| series | type | labels | is |\n|---|---|---|---|\n";
  for (const auto& one : series) {
    text.append("| `").append(one.name).append("` | ").append(to_string(one.type));
    text.append(" | ").append(one.labels).append(" | ").append(one.help).append(" |\n");
  }
  return text;
}

}  // namespace pinion::test_support
