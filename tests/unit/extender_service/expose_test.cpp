// docs/kubernetes.md lists exactly the series of the extender, and all of them are written.
// UPDATE_GOLDEN=1 in the environment rewrites the part between the document's two marks.
#include "cluster/extender/service/expose.h"
#include "tests/support/document_part.h"
#include "tests/support/places.h"

#include <gtest/gtest.h>

#include <string>

namespace pinion::cluster {
namespace {

const std::string kPath = test_support::in_checkout("docs/kubernetes.md");
const std::string kBegin = "<!-- series: begin -->\n";
const std::string kEnd = "<!-- series: end -->";

TEST(Series, StandInTheDocument) {
  test_support::expect_part(kPath, kBegin, kEnd, test_support::series_table(extender_series()),
                            "extender_service_test");
}

TEST(Series, AreAllWrittenInBothFormats) {
  ExtenderFigures figures;
  figures.version = "1";
  figures.scheduler.nodes = 7;
  figures.scheduler.stale = 2;
  figures.placing.filter.observe(0.0002);
  figures.server.client_end_s = 1'803'686'421;
  figures.services.rows = {{.name_space = "n", .pod = "p", .performance = 1.5, .cpus = 2.25}};
  figures.elastic.steps["shrink"] = 3;
  figures.elastic.rescales["shrink"] = {.count = 2, .seconds = 7.5};
  figures.elastic.jobs["waits"] = 4;
  figures.elastic.rows = {
      {.name_space = "n", .kind = "Job", .name = "j", .running = 7, .wanted = 4}};
  for (const auto format : {prometheus::Format::kText, prometheus::Format::kOpenMetrics}) {
    const std::string text = expose(figures, format);
    for (const auto& one : extender_series()) {
      EXPECT_NE(text.find("\n" + std::string(one.name)), std::string::npos) << one.name;
    }
    EXPECT_NE(text.find("pinion_extender_nodes{state=\"live\"} 5\n"), std::string::npos) << text;
    EXPECT_NE(text.find("pinion_extender_nodes{state=\"stale\"} 2\n"), std::string::npos);
    const std::string ends = "pinion_extender_certificate_expiry_timestamp_seconds{certificate=";
    EXPECT_NE(text.find(ends + "\"scheduler\"} 1803686421\n"), std::string::npos) << text;
    EXPECT_EQ(text.find(ends + "\"own\""), std::string::npos) << "it has none";
    EXPECT_NE(text.find("pinion_extender_service_cpus{namespace=\"n\",pod=\"p\"} 2.25\n"),
              std::string::npos);
    for (const char* sample :
         {"steps_total{step=\"shrink\"} 3\n", "rescales_total{step=\"shrink\"} 2\n",
          "rescale_seconds_total{step=\"shrink\"} 7.5\n", "jobs{state=\"waits\"} 4\n",
          "jobs{state=\"refused\"} 0\n",
          "workers{namespace=\"n\",kind=\"Job\",name=\"j\",state=\"running\"} 7\n",
          "workers{namespace=\"n\",kind=\"Job\",name=\"j\",state=\"wanted\"} 4\n"}) {
      EXPECT_NE(text.find(std::string("\npinion_extender_elastic_") + sample), std::string::npos)
          << sample;
    }
    EXPECT_NE(text.find("verb=\"mutate\",result=\"answered\"} 0\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace pinion::cluster
