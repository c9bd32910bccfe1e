// docs/metrics.md lists exactly the table of series. UPDATE_GOLDEN=1 in the environment rewrites
// the part between its two marks.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "metrics/prometheus/series.h"
#include "tests/support/document_part.h"
#include "tests/support/places.h"

namespace pinion::prometheus {
namespace {

const std::string kPath = test_support::in_checkout("docs/metrics.md");
const std::string kBegin = "<!-- series: begin -->\n";
const std::string kEnd = "<!-- series: end -->";

// "*, mode" is "container labels, mode" in the table.
std::string labels_of(const Series& one) {
  std::string text(one.labels);
  if (text.starts_with("*")) text.replace(0, 1, "container");
  return text;
}

std::string table() {
  std::string text = "| series | type | unit | labels | is | source | cost |\n";
  text += "|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const Series& one = series(static_cast<Metric>(i));
    text.append("| `").append(one.name).append("` | ").append(to_string(one.type));
    text.append(" | ").append(one.unit).append(" | ").append(labels_of(one));
    text.append(" | ").append(one.help).append(" | ").append(one.source);
    text.append(" | ").append(to_string(one.cost)).append(" |\n");
  }
  return text;
}

TEST(MetricsDocument, ListsWhatIsExported) {
  test_support::expect_part(kPath, kBegin, kEnd, table(), "prometheus_test");
}

// Every word of the cost column is explained above the table.
TEST(MetricsDocument, ExplainsEveryCost) {
  std::ifstream file(kPath);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const Cost cost : {Cost::kNone, Cost::kScrape, Cost::kCgroupFile, Cost::kTasks,
                          Cost::kPerfSoftware, Cost::kPerfHardware}) {
    EXPECT_NE(text.find("| `" + std::string(to_string(cost)) + "` |"), std::string::npos)
        << to_string(cost);
  }
}

}  // namespace
}  // namespace pinion::prometheus
