// Questions to a Prometheus server and its answers; the server of these tests is our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ctl/compare/compare_sources.h"
#include "ctl/compare/prometheus_client.h"
#include "ctl/compare/prometheus_query.h"
#include "tests/support/eventually.h"

namespace pinion::ctl {
namespace {

using test_support::eventually;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// As Prometheus 2.42 answers /api/v1/query_range.
constexpr const char* kAnswer =
    R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":)"
    R"([[1767225600,"0.5"],[1767225630,"NaN"],[1767225660.781,"1.25e+02"],[1767225690,"+Inf"]]}]}})";
constexpr const char* kNothing =
    R"({"status":"success","data":{"resultType":"matrix","result":[]}})";
constexpr const char* kRefusal =
    R"({"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:5: parse error"})";

TEST(ParseRangeAnswer, TakesTheFiniteValues) {
  const auto values = parse_range_answer(kAnswer);
  ASSERT_TRUE(values) << values.error().text;
  EXPECT_THAT(*values, ElementsAre(0.5, 125));
  const auto nothing = parse_range_answer(kNothing);
  ASSERT_TRUE(nothing);
  EXPECT_THAT(*nothing, IsEmpty());
}

TEST(ParseRangeAnswer, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON object"},
      {"<html>", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"status":"success"})", "it has no result"},
      {R"({"data":"x"})", "it has no result"},
      {R"({"data":{"result":[1]}})", "a series without values"},
      {R"({"data":{"result":[{"values":[]},{"values":[]}]}})", "more than one series"},
      {R"({"data":{"result":[{"values":[1]}]}})", "no pair of time and text"},
      {R"({"data":{"result":[{"values":[[1,"x"]]}]}})", "'x' is no number"},
      {R"({"data":{"result":[{"values":[[1,""]]}]}})", "'' is no number"},
      {R"({"data":{"result":[{"values":[[1,"1\u0000"]]}]}})", "'1?' is no number"},
      {kRefusal, "Prometheus refuses: invalid parameter \"query\": 1:5: parse error"},
  };
  for (const auto& [text, message] : cases) {
    const auto values = parse_range_answer(text);
    ASSERT_FALSE(values) << text;
    EXPECT_THAT(values.error().text, HasSubstr(message)) << text;
  }
}

TEST(Promql, JoinsWithTheJob) {
  EXPECT_EQ(
      promql_of(Quantity::kCpu, {.job = "wind", .match = ""}, "30s"),
      "sum(sum by (namespace,pod,container) (rate(pinion_container_cpu_seconds_total[30s])) * "
      "on (namespace,pod,container) max by (namespace,pod,container) "
      "(pinion_container_info{exported_job=\"wind\"} or "
      "pinion_container_info{exported_job=\"\",job=\"wind\"}))");
}

TEST(Promql, QuotesTheJob) {
  EXPECT_THAT(promql_of(Quantity::kCpu, {.job = "a\"} or up{x=\"\\", .match = ""}, "30s"),
              HasSubstr(R"(exported_job="a\"} or up{x=\"\\"})"));
}

// Answers on a port that the system chooses.
class FakeServer {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit FakeServer(Handler handler) {
    server_.Get(R"((/prefix)?/api/v1/query_range)",
                [this, handler = std::move(handler)](const httplib::Request& request,
                                                     httplib::Response& response) {
                  const std::lock_guard lock(mutex_);
                  requests_.push_back(request);
                  handler(request, response);
                });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    EXPECT_TRUE(eventually([&] { return server_.is_running(); }));
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<httplib::Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::vector<httplib::Request> requests_;
  int port_ = 0;
  std::thread thread_;
};

FakeServer::Handler always(int status, const std::string& body) {
  return [status, body](const httplib::Request&, httplib::Response& response) {
    response.status = status;
    response.set_content(body, "application/json");
  };
}

TEST(PrometheusClient, AsksForARange) {
  FakeServer server(always(200, kAnswer));
  auto client = PrometheusClient::create(server.url() + "/prefix/");
  ASSERT_TRUE(client) << client.error().text;
  const auto values = client->query("sum(up{a=\"b+c&d\"})", {1767225600, 1767225660.5, 30});
  ASSERT_TRUE(values) << values.error().text;
  EXPECT_THAT(*values, ElementsAre(0.5, 125));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].path, "/prefix/api/v1/query_range");
  EXPECT_EQ(requests[0].get_param_value("query"), "sum(up{a=\"b+c&d\"})");
  EXPECT_EQ(requests[0].get_param_value("start"), "1767225600.000");
  EXPECT_EQ(requests[0].get_param_value("end"), "1767225660.500");
  EXPECT_EQ(requests[0].get_param_value("step"), "30.000");
}

TEST(PrometheusClient, PassesTheServersWordsOn) {
  FakeServer server(always(400, kRefusal));
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  const auto values = client->query("sum(", {0, 1, 1});
  ASSERT_FALSE(values);
  EXPECT_THAT(values.error().text, StartsWith(server.url() + ": Prometheus refuses: invalid"));
}

TEST(PrometheusClient, NamesTheStatusOfAnythingElse) {
  FakeServer server(always(502, "<html>bad gateway</html>"));
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  const auto values = client->query("up", {0, 1, 1});
  ASSERT_FALSE(values);
  EXPECT_THAT(values.error().text, HasSubstr("HTTP status 502"));
}

TEST(PrometheusClient, TakesNoEndlessAnswer) {
  FakeServer server(always(200, std::string(std::size_t{17} << 20, ' ')));
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  const auto values = client->query("up", {0, 1, 1});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code, Errc::kUnavailable);
}

TEST(PrometheusClient, SaysThatNobodyIsThere) {
  std::string url;
  {
    const FakeServer server(always(200, kAnswer));
    url = server.url();
  }
  auto client = PrometheusClient::create(url);
  ASSERT_TRUE(client);
  const auto values = client->query("up", {0, 1, 1});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code, Errc::kUnavailable);
  EXPECT_THAT(values.error().text, StartsWith(url + ": "));
}

TEST(PrometheusClient, RefusesWhatIsNoUrl) {
  for (const char* url : {"", "localhost:9090", "ftp://x", "http://", "https://"}) {
    EXPECT_FALSE(PrometheusClient::create(url)) << url;
  }
}

TEST(SeriesOfJob, AsksForEveryQuantityOverTheInterval) {
  FakeServer server([](const httplib::Request& request, httplib::Response& response) {
    const std::string query = request.get_param_value("query");
    const bool migrations = query.find("migrations") != std::string::npos;
    response.set_content(migrations ? kAnswer : kNothing, "application/json");
  });
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  PrometheusSpan span;
  span.now = 10000;
  span.step = std::chrono::seconds(10);
  const auto series = series_of_job(*client, {"wind", 1000, 2000}, span);
  ASSERT_TRUE(series) << series.error().text;
  EXPECT_THAT((*series)[static_cast<std::size_t>(Quantity::kMigrations)], ElementsAre(0.5, 125));
  EXPECT_THAT((*series)[static_cast<std::size_t>(Quantity::kCpu)], IsEmpty());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), kQuantities);
  for (const auto& request : requests) {
    EXPECT_EQ(request.get_param_value("start"), "1010.000");
    EXPECT_EQ(request.get_param_value("end"), "2000.000");
    EXPECT_THAT(request.get_param_value("query"), HasSubstr("job=\"wind\""));
  }
}

TEST(SeriesOfJob, SaysThatThereIsNothing) {
  FakeServer server(always(200, kNothing));
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  const auto series = series_of_job(*client, {"wind", 1000, 2000}, {});
  ASSERT_FALSE(series);
  EXPECT_EQ(series.error().code, Errc::kNotFound);
  EXPECT_THAT(series.error().text, HasSubstr("nothing of job 'wind'"));
}

TEST(SeriesOfJob, RefusesAnIntervalThatIsNoSeries) {
  FakeServer server(always(200, kAnswer));
  auto client = PrometheusClient::create(server.url());
  ASSERT_TRUE(client);
  EXPECT_FALSE(series_of_job(*client, {"wind", 1000, 1010}, {}));  // one step of a minute
  EXPECT_FALSE(series_of_job(*client, {"wind", 0, 1e6}, {}));
  EXPECT_THAT(server.requests(), IsEmpty());
}

}  // namespace
}  // namespace pinion::ctl
