// pinionctl plan-job --extender: the same plan over a socket as by the fleet itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <csignal>
#include <map>
#include <thread>

#include "cluster/extender/admission/dry_plan.h"
#include "cluster/extender/http/server.h"
#include "cluster/extender/service/placing.h"
#include "cluster/files/fleet_file.h"
#include "ctl/job/extender_client.h"
#include "ctl/job/jobs_command.h"
#include "tests/support/no_cluster.h"
#include "tests/support/tree.h"
#include "tests/unit/api/certificates.h"

namespace pinion::ctl {
namespace {

using agent::api::files_of;
using cluster::Fleet;
using cluster::Page;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kFleet =
    "[{name: node, count: 4, topology: 'synthetic:package:2 core:8 pu:1', reserved-cpus: '0'}]";

json job_of(int workers) {
  json job = json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"wind",
    "annotations":{"pinion.dev/cpus-per-task":"3","pinion.dev/memory-per-task":"1Mi"}},
    "spec":{"completionMode":"Indexed","template":{"spec":{"containers":[{"name":"c"}]}}}})");
  job["spec"]["parallelism"] = job["spec"]["completions"] = workers;
  job["metadata"]["annotations"]["pinion.dev/tasks"] = std::to_string(workers);
  return job;
}

void read_fleet(Fleet& fleet) {
  const auto nodes = cluster::parse_fleet_file(kFleet);
  ASSERT_TRUE(nodes && cluster::fill_fleet(*nodes, fleet));
}

// The pod scheduler and its pages, as the extender has them.
class Live : public cluster::Pages {
 public:
  Live()
      : placing_(
            cluster_, {}, {}, [] { return std::int64_t{0}; }, [](const auto& /*note*/) {}) {
    std::signal(SIGPIPE, SIG_IGN);  // as pinionctl does: a server may refuse it
    Fleet fleet;
    read_fleet(fleet);
    for (const auto& [name, index] : fleet.by_name()) {
      const cluster::MachineKind& kind = *fleet.node(index).kind;
      cluster::NodeReport report;
      report.name = name;
      report.topology = kind.topology;
      report.reserved = kind.reserved;
      report.instance = "agent";
      placing_.tell([&](cluster::PodScheduler& scheduler, std::int64_t now) {
        EXPECT_TRUE(scheduler.report(report, now));
        return 0;
      });
    }
  }

  std::string start(cluster::TlsFiles tls = {}) {
    const bool secure = !tls.certificate.empty();
    auto started = cluster::Server::start(
        {.listen = "127.0.0.1:0", .prefix = "/pinion", .tls = std::move(tls)}, {.pages = this});
    EXPECT_TRUE(started) << (started ? "" : started.error().text);
    if (!started) return {};
    server_ = *std::move(started);
    return (secure ? "https://" : "http://") + server_->address();
  }
  std::size_t promises() {
    return placing_.look(
        [](const cluster::PodScheduler& scheduler) { return scheduler.fleet().promises(); });
  }
  cluster::Placing& placing() { return placing_; }
  void close() { closed_ = true; }

  std::string not_live() override { return {}; }
  std::string not_ready() override { return {}; }
  std::string not_leading() override { return {}; }
  Page metrics(std::string_view /*accept*/) override { return {}; }
  Page fleet() override { return {}; }
  Page jobs(std::string_view name_space) override {
    return {.body = json({{"elastic", {{{"name", "asked for " + std::string(name_space)}}}},
                          {"profiles", json::array()}})
                        .dump()};
  }
  Page home() override { return {}; }
  Page plan(std::string_view job) override {
    if (closed_) return {.status = 503, .type = "text/plain", .body = "cannot plan now"};
    auto document = cluster::admission::dry_plan(job, {}, [this](const auto& see) {
      placing_.look([&](const cluster::PodScheduler& scheduler) {
        see(cluster::jobs::LockedFleet{.fleet = scheduler.fleet()});
      });
    });
    if (document) return {.body = *std::move(document)};
    return {.status = 400, .type = "text/plain", .body = document.error().text + "\n"};
  }

 private:
  cluster::NoCluster cluster_;
  cluster::Placing placing_;
  std::atomic<bool> closed_ = false;
  std::unique_ptr<cluster::Server> server_;
};

std::string error_of(const ExtenderOptions& options, const json& job) {
  const auto plan = plan_at_extender(options, job);
  return plan ? "none" : plan.error().text;
}

TEST(PlanAtExtender, IsThatOfTheSameFleetInAFile) {
  Live live;
  Fleet fleet;
  read_fleet(fleet);
  const ExtenderOptions options{.url = live.start() + "/", .ca = {}, .certificate = {}, .key = {}};
  for (const json& job : {job_of(6), job_of(60), json{{"kind", "Pod"}}}) {
    const auto here =
        cluster::jobs::plan_job(job, {}, [&](const auto& see) { see({.fleet = fleet}); });
    const auto there = plan_at_extender(options, job);
    ASSERT_TRUE(there) << there.error().text;
    EXPECT_EQ(*there, here);
  }
}

TEST(PlanAtExtender, PromisesNothing) {
  Live live;
  const ExtenderOptions options{.url = live.start(), .ca = {}, .certificate = {}, .key = {}};
  const auto first = plan_at_extender(options, job_of(16));
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->waits, "");
  EXPECT_EQ(live.promises(), 0U);
  const auto second = plan_at_extender(options, job_of(16));
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_EQ(*second, *first);
}

// For the thread sanitizer above all: the scheduler asks on while plans are made.
TEST(PlanAtExtender, GoesBesideTheScheduler) {
  Live live;
  const ExtenderOptions options{.url = live.start(), .ca = {}, .certificate = {}, .key = {}};
  std::atomic<bool> over = false;
  std::thread scheduler([&] {
    for (int i = 0; !over; ++i) {
      cluster::wire::FilterAsk ask;
      ask.pod.uid = "u" + std::to_string(i % 50);
      ask.pod.name_space = "n";
      ask.pod.name = "p";
      ask.pod.qos = policy::Qos::kGuaranteed;
      ask.pod.containers = {{.name = "c",
                             .kind = cluster::wire::ContainerView::Kind::kMain,
                             .resources = {.requests = {.cpu_milli = 1000, .memory_bytes = 1},
                                           .limits = {.cpu_milli = 1000, .memory_bytes = 1}}}};
      ask.names = {"node-1"};
      EXPECT_FALSE(live.placing().filter(ask).nodes.empty());
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(plan_at_extender(options, job_of(4)));
  over = true;
  scheduler.join();
}

TEST(PlanAtExtender, SaysWhatIsWrong) {
  Live live;
  const ExtenderOptions options{.url = live.start(), .ca = {}, .certificate = {}, .key = {}};
  EXPECT_THAT(error_of(options, json::array()), HasSubstr("400: body: not an object"));
  const auto large = plan_at_extender(options, job_of(1001));
  ASSERT_TRUE(large) << large.error().text;
  EXPECT_THAT(large->text, HasSubstr("not a number from 0 to 1000"));
  live.close();
  EXPECT_THAT(error_of(options, job_of(1)), HasSubstr("HTTP status 503: cannot plan now"));
  EXPECT_THAT(error_of({.url = options.url + "/elsewhere", .ca = {}, .certificate = {}, .key = {}},
                       job_of(1)),
              HasSubstr("404"));
  EXPECT_THAT(error_of({.url = "127.0.0.1:1", .ca = {}, .certificate = {}, .key = {}}, job_of(1)),
              HasSubstr("no URL"));
  EXPECT_THAT(
      error_of({.url = options.url, .ca = "ca.pem", .certificate = {}, .key = {}}, job_of(1)),
      HasSubstr("no https"));
  EXPECT_THAT(
      error_of({.url = "https://127.0.0.1:1", .ca = {}, .certificate = "c", .key = {}}, job_of(1)),
      HasSubstr("together"));
  EXPECT_THAT(
      error_of({.url = "http://127.0.0.1:1", .ca = {}, .certificate = {}, .key = {}}, job_of(1)),
      HasSubstr("http://127.0.0.1:1: nobody can be reached there"));
}

TEST(JobsAtExtender, AreThoseOfTheNamespaceThatIsAskedFor) {
  Live live;
  const std::string url = live.start();
  for (const auto& [words, asked] : std::map<std::string, std::string>{
           {"", ""}, {" -n hpc", "hpc"}, {" --namespace=a/b&c", "a/b&c"}}) {
    CLI::App app;
    int exit_code = -1;
    add_jobs_command(app, exit_code);
    testing::internal::CaptureStdout();
    app.parse("jobs --json --extender " + url + words);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "[\n  {\n    \"name\": \"asked for " + asked + "\"\n  }\n]\n");
    EXPECT_EQ(exit_code, 0);
  }
}

TEST(PlanAtExtender, ShowsItsCertificateWhereOneIsWanted) {
  if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl command";
  const test_support::TempDir folder;
  for (const char* name : {"one", "two"}) {
    ASSERT_TRUE(agent::api::make_certificates(folder.path(), name));
  }
  const auto server = files_of(folder.path(), "one", "server");
  const auto client = files_of(folder.path(), "one", "client");
  Live live;
  const std::string url =
      live.start({.certificate = server.certificate, .key = server.key, .client_ca = client.ca});
  const auto good = plan_at_extender(
      {.url = url, .ca = client.ca, .certificate = client.certificate, .key = client.key},
      job_of(4));
  ASSERT_TRUE(good) << good.error().text;
  EXPECT_EQ(good->workers.size(), 4U);
  EXPECT_THAT(error_of({.url = url, .ca = client.ca, .certificate = {}, .key = {}}, job_of(4)),
              HasSubstr("403: pinion-extender: plan: this needs a client certificate"));
  const auto other = files_of(folder.path(), "two", "client");
  EXPECT_THAT(
      error_of({.url = url, .ca = other.ca, .certificate = client.certificate, .key = client.key},
               job_of(4)),
      HasSubstr("not signed by who must have signed it"));
}

}  // namespace
}  // namespace pinion::ctl
