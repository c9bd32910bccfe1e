// The extender's page: what it makes of an answer, and of none, checked on its document in
// Chromium.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/page/look.h"
#include "tests/support/places.h"

namespace pinion::page_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The page with these answers; HTTP 500 for an empty one.
class FleetServer {
 public:
  FleetServer(std::string fleet, std::string jobs) {
    const auto give = [this](const char* path, std::string body, const char* type) {
      server_.Get(path, [body, type](const httplib::Request&, httplib::Response& response) {
        response.status = body.empty() ? 500 : 200;
        response.set_content(body, type);
      });
    };
    give("/", read_page(), "text/html; charset=utf-8");
    give("/v1/fleet", std::move(fleet), "application/json");
    give("/v1/jobs", std::move(jobs), "application/json");
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  FleetServer(const FleetServer&) = delete;
  FleetServer& operator=(const FleetServer&) = delete;
  ~FleetServer() {
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/";
  }

 private:
  static std::string read_page() {
    std::ifstream file(test_support::in_checkout("cluster/extender/program/page.html"),
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

json node(const std::string& name, int free, bool stale) {
  return {{"name", name},          {"numa", {{{"id", 0}, {"cpus", 8}, {"freeCpus", free}}}},
          {"largestInNuma", free}, {"largestInL3", free},
          {"stale", stale},        {"heardMsAgo", 10}};
}

class FleetPage : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = skip_reason();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  static std::string document(const std::string& fleet, const std::string& jobs) {
    const FleetServer server(fleet, jobs);
    const auto seen = open_page(server.url(), {.virtual_ms = 1500, .screenshot = {}});
    EXPECT_TRUE(seen) << seen.error().text;
    return seen.value_or("");
  }
};

TEST_F(FleetPage, ShowsNodesHolesAndWhoWaitsAndWhy) {
  const json fleet{{"nodes", {node("alpha", 6, false), node("beta", 3, true)}}};
  const json jobs{{"jobs",
                   {{{"name", "hpc/lulesh"},
                     {"size", 8},
                     {"members", 8},
                     {"kept", 0},
                     {"held", 0},
                     {"bound", 8}},
                    {{"name", "hpc/<b>bold</b>"},
                     {"size", 4},
                     {"members", 3},
                     {"kept", 0},
                     {"held", 0},
                     {"bound", 0},
                     {"why", "needs 4 x 8 cores in one NUMA node"},
                     {"waitingMs", 65000}}}}};
  const std::string text = document(fleet.dump(), jobs.dump());
  EXPECT_THAT(text, AllOf(HasSubstr("2 nodes, 1 silent; 6 CPUs free; 1 jobs wait"),
                          HasSubstr("data-node=\"alpha\""), HasSubstr("largest hole 6"),
                          HasSubstr("width: 25%"), HasSubstr("silent: nothing is placed here")));
  EXPECT_THAT(text, AllOf(HasSubstr("needs 4 x 8 cores in one NUMA node"), HasSubstr("65 s"),
                          HasSubstr("3 of 4"), HasSubstr("&lt;b&gt;bold&lt;/b&gt;")));
  EXPECT_THAT(text, Not(HasSubstr("<b>bold</b>"))) << "names never become markup";
  EXPECT_LT(text.find("bold"), text.find("lulesh")) << "those that wait come first";
}

TEST_F(FleetPage, ShowsElasticJobsAndWhatWasDoneToThem) {
  const json jobs{{"jobs", json::array()},
                  {"elastic",
                   {{{"name", "hpc/stencil"},
                     {"kind", "Job"},
                     {"change", "malleable"},
                     {"state", "shrinks"},
                     {"workers", 8},
                     {"readyWorkers", 7},
                     {"minWorkers", 2},
                     {"maxWorkers", 16},
                     {"wantedWorkers", 4},
                     {"requestedWorkers", 5},
                     {"why", "needs <u>16</u> CPUs"},
                     {"history",
                      {{{"at", "2026-11-25T15:22:48Z"},
                        {"step", "shrink"},
                        {"why", "from 8 to 4 workers, to make room for <i>wind</i>"}},
                       {{"at", "2026-11-25T15:00:00Z"},
                        {"step", "start"},
                        {"why", "from 0 to 8 workers"}}}}}}}};
  const std::string text = document(R"({"nodes":[]})", jobs.dump());
  EXPECT_THAT(text, AllOf(HasSubstr("data-elastic=\"hpc/stencil\""), HasSubstr("7 of 8 ready"),
                          HasSubstr("2 to 16"), HasSubstr("4, 5 by its user"),
                          HasSubstr("needs &lt;u&gt;16&lt;/u&gt; CPUs"),
                          HasSubstr("2026-11-25T15:22:48Z shrink: from 8 to 4 workers, to make "
                                    "room for &lt;i&gt;wind&lt;/i&gt;"),
                          HasSubstr("2026-11-25T15:00:00Z start: from 0 to 8 workers")));
  EXPECT_THAT(document(R"({"nodes":[]})", R"({"jobs":[]})"),
              HasSubstr("<section id=\"elastic\" hidden"));
}

TEST_F(FleetPage, SaysSoWhenTheExtenderDoesNotAnswer) {
  const std::string text = document("", "");
  EXPECT_THAT(text, AllOf(HasSubstr("What you see is old: v1/"), HasSubstr(": HTTP 500</p>")));
}

TEST_F(FleetPage, AnEmptyFleetIsNoError) {
  const std::string text = document(R"({"nodes":[]})", R"({"jobs":[]})");
  EXPECT_THAT(text, AllOf(HasSubstr("0 nodes, 0 silent; 0 CPUs free; 0 jobs wait"),
                          HasSubstr("<p id=\"notice\" role=\"alert\" hidden=\"\">")));
}

}  // namespace
}  // namespace pinion::page_test
