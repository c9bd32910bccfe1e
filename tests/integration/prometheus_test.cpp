// A real Prometheus scrapes the real agent and answers the queries that we ship.
#include <httplib.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/integration/node.h"
#include "tests/integration/pinionctl.h"
#include "tests/integration/scrape.h"
#include "tests/lab/files.h"
#include "tests/lab/process.h"
#include "tests/support/places.h"
#include "tests/unit/prometheus/queries.h"

namespace pinion::integration {
namespace {

using nlohmann::json;

constexpr Milliseconds kSoon{60'000};
const std::string kProgram = "/usr/bin/prometheus";  // Debian's package

class Root_Containerd_Prometheus : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    if (!IsSkipped() && ::access(kProgram.c_str(), X_OK) != 0) {
      GTEST_SKIP() << "no " << kProgram << " (package prometheus)";
    }
  }
  void TearDown() override {
    prometheus_.kill();
    NodeTest::TearDown();
  }

  // Scrapes `target` every second, with the rules of deploy/.
  Status start_prometheus(const std::string& target) {
    const std::string folder = node().dir() + "/prometheus";
    const std::string config = node().dir() + "/prometheus.yaml";
    const std::string log = node().logs() + "/prometheus.log";
    Status written = lab::write_file(config,
                                     "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                                     "rule_files: " +
                                         json(prometheus::rule_files()).dump() +
                                         "\nscrape_configs:\n"
                                         "  - job_name: pinion-agent\n"
                                         "    honor_labels: true\n"
                                         "    static_configs: [{targets: ['" +
                                         target + "']}]\n");
    if (!written) return written;
    auto started = lab::Process::start(
        {.argv = {kProgram, "--config.file=" + config, "--storage.tsdb.path=" + folder,
                  "--web.listen-address=127.0.0.1:0"},
         .env = node().environment(),
         .log = log});
    if (!started) return failure(started.error());
    prometheus_ = std::move(*started);
    const bool found = lab::eventually(kSoon, [&] {
      const auto text = lab::read_file(log);
      if (!text) return false;
      const auto at = text->find("msg=\"Listening on\" address=");
      if (at == std::string::npos) return false;
      const auto begin = text->find("address=", at) + 8;
      address_ = text->substr(begin, text->find_first_of(" \n", begin) - begin);
      return true;
    });
    if (found) return {};
    return failure(Errc::kUnavailable, "prometheus does not listen:\n" + lab::tail_of(log, 10));
  }

  // The result of an instant query; an error has what Prometheus says of it.
  [[nodiscard]] Result<json> query(const std::string& expr) const {
    httplib::Client client("http://" + address_);
    client.set_read_timeout(kSoon);
    const auto answer = client.Post("/api/v1/query", httplib::Params{{"query", expr}});
    if (!answer) return failure(Errc::kUnavailable, httplib::to_string(answer.error()));
    json body = json::parse(answer->body, nullptr, false);
    if (body.is_discarded() || body.value("status", "") != "success") {
      return failure(Errc::kInvalid, answer->body);
    }
    return body["data"]["result"];
  }

  [[nodiscard]] bool answers(const std::string& expr) const {
    const auto result = query(expr);
    return result && !result->empty();
  }

  // The agent, and a Prometheus that scrapes it.
  Status start() {
    lab::AgentOptions options;
    options.more = {"--metrics-listen", "127.0.0.1:0", "--counters-interval", "200ms"};
    if (Status started = start_agent(options); !started) return started;
    const auto addresses = read_addresses(agent().ready_file());
    if (!addresses) return failure(addresses.error());
    if (Status started = start_prometheus(addresses->at("metrics")); !started) return started;
    if (lab::eventually(kSoon, [&] { return answers("up{job=\"pinion-agent\"} == 1"); })) return {};
    return failure(Errc::kUnavailable, "prometheus does not scrape the agent");
  }

  lab::Process prometheus_;
  std::string address_;
};

TEST_P(Root_Containerd_Prometheus, ScrapesAndAnswersWhatWeShip) {
  ASSERT_TRUE(ok(start()));
  ASSERT_TRUE(ok(run_rank("rank")));
  ASSERT_TRUE(ok(run_burstable("noise")));

  // A rate by job through the info metric: the rank spins, so it is about its CPUs.
  const std::string by_job =
      "sum by (job) (sum without (mode) (rate(pinion_container_cpu_seconds_total[10s])) * on "
      "(instance, namespace, pod, container) group_left (job) pinion_container_info{job!=\"\"})";
  json seen;
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    seen = query(by_job).value_or(json());
    return seen.size() == 1 && std::stod(seen[0]["value"][1].get<std::string>()) > 0.25;
  })) << seen.dump();
  EXPECT_EQ(seen[0]["metric"]["job"], "job");

  for (const std::string& file : prometheus::dashboard_files()) {
    for (const auto& one : prometheus::dashboard_queries(file)) {
      EXPECT_TRUE(ok(query(one.expr))) << one.where << ": " << one.expr;
    }
  }
  EXPECT_TRUE(lab::eventually(
      kSoon, [&] { return answers("max by (align) (pinion_largest_request_cpus)"); }));
  std::set<std::string> recorded;
  for (const std::string& file : prometheus::rule_files()) {
    for (const auto& one : prometheus::rule_queries(file, recorded)) {
      EXPECT_TRUE(ok(query(one.expr))) << one.where << ": " << one.expr;
    }
  }
  const auto rules = fetch(address_, "/api/v1/rules");
  ASSERT_TRUE(ok(rules));
  EXPECT_NE(rules->find("job:pinion_cpu_migrations:rate2m"), std::string::npos);
  EXPECT_EQ(rules->find("\"health\":\"err\""), std::string::npos) << *rules;
}

TEST_P(Root_Containerd_Prometheus, ComparesJobsAndIntervals) {
  ASSERT_TRUE(ok(start()));
  auto busy = rank_spec("rank");
  busy.annotations["pinion.dev/job"] = "busy";
  auto idle = lab::burstable_pod("sleeper", 100, {});
  idle.annotations["pinion.dev/job"] = "idle";
  ASSERT_TRUE(ok(run(idle)));
  const auto rank = run(busy);
  ASSERT_TRUE(ok(rank));
  // A scrape each second: five steps of four seconds.
  const auto scraped = [&](const std::string& job, int seconds) {
    return answers("count_over_time(pinion_container_info{job=\"" + job +
                   "\"}[2m]) >= " + std::to_string(seconds));
  };
  ASSERT_TRUE(lab::eventually(kSoon, [&] { return scraped("busy", 22) && scraped("idle", 22); }));
  const std::vector<std::string> ask = {"compare", "--prometheus", "http://" + address_,
                                        "--step",  "4s",           "--last",
                                        "20s",     "busy",         "idle"};
  const auto table = pinionctl(node(), ask);
  ASSERT_TRUE(ok(table));
  EXPECT_EQ(table->rfind("A: job busy\nB: job idle\n", 0), 0U) << *table;
  EXPECT_NE(table->find("\nCPU use [cores]"), std::string::npos) << *table;
  EXPECT_NE(table->find("\nmigrations [1/s]"), std::string::npos) << *table;
  auto more = ask;
  more.emplace_back("--json");
  const auto data = pinionctl(node(), more);
  ASSERT_TRUE(ok(data));
  const auto cpu = compared(*data, "CPU use");
  ASSERT_TRUE(ok(cpu));
  // The machine may have much other work; that is no work of the job that sleeps.
  EXPECT_GT(cpu->a, 0.1) << *data;
  EXPECT_LE(cpu->a, machine().width * 1.2) << "a scrape is 0.4 s older than another at most";
  EXPECT_LT(cpu->b, 0.05) << *data;
  EXPECT_EQ(cpu->verdict, "less") << *data;

  // Two times the same interval, whose end is said in seconds.
  const auto end = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  // All of its scrapes are there already.
  const std::string part = "busy@" + std::to_string(end - 24) + ".." + std::to_string(end - 4);
  const auto same = pinionctl(node(), {"compare", "--prometheus", "http://" + address_, "--json",
                                       "--step", "4s", part, part});
  ASSERT_TRUE(ok(same));
  const auto unchanged = compared(*same, "CPU use");
  ASSERT_TRUE(ok(unchanged));
  EXPECT_EQ(unchanged->a, unchanged->b) << *same;
  EXPECT_EQ(unchanged->verdict, "no difference to be seen") << *same;

  const auto unknown = pinionctl(node(), {"compare", "--prometheus", "http://" + address_, "--step",
                                          "4s", "--last", "20s", "busy", "nobody"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("nothing of job 'nobody'"), std::string::npos)
      << unknown.error().text;
}

INSTANTIATE_TEST_SUITE_P(Newer, Root_Containerd_Prometheus, testing::Values("2.1"),
                         [](const auto&) { return "v21"; });

}  // namespace
}  // namespace pinion::integration
