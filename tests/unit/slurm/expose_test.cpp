// docs/metrics.md lists exactly the series of pinion-slurm, and all of them are written.
// UPDATE_GOLDEN=1 in the environment rewrites the part between the document's two marks.
#include "cluster/slurm/expose.h"
#include "tests/support/document_part.h"
#include "tests/support/places.h"

#include <gtest/gtest.h>

#include <string>

namespace pinion::slurm {
namespace {

const std::string kPath = test_support::in_checkout("docs/metrics.md");
const std::string kBegin = "<!-- series of pinion-slurm: begin -->\n";
const std::string kEnd = "<!-- series of pinion-slurm: end -->";

TEST(SlurmSeries, StandInTheDocument) {
  test_support::expect_part(kPath, kBegin, kEnd, test_support::series_table(slurm_series()),
                            "slurm_test");
}

TEST(SlurmSeries, AreAllWritten) {
  Figures figures;
  figures.version = "1";
  figures.jobs = {.waiting = 3, .placed = 2, .running = 1};
  figures.placeholders.running = 5;
  figures.nodes_out = 4;
  figures.release.observe(45);
  figures.actions["place"] = {.done = 7, .failed = 6};
  figures.given_back = 8;
  for (const auto format : {prometheus::Format::kText, prometheus::Format::kOpenMetrics}) {
    const std::string text = expose(figures, format);
    for (const auto& one : slurm_series()) {
      EXPECT_NE(text.find("\n" + std::string(one.name)), std::string::npos) << one.name;
    }
    for (const char* sample :
         {"jobs{state=\"waiting\"} 3\n", "jobs{state=\"placed\"} 2\n",
          "jobs{state=\"running\"} 1\n", "placeholders{state=\"running\"} 5\n",
          "nodes{state=\"out\"} 4\n", "release_delay_seconds_bucket{le=\"60.0\"} 1\n",
          "release_delay_seconds_bucket{le=\"30.0\"} 0\n",
          "actions_total{action=\"place\",result=\"failed\"} 6\n", "given_back_total 8\n"}) {
      EXPECT_NE(text.find(std::string("\npinion_slurm_") + sample), std::string::npos) << sample;
    }
  }
}

}  // namespace
}  // namespace pinion::slurm
