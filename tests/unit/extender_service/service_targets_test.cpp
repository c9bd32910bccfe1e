// The leader's loop between a Prometheus and an API server of the test's own.
#include "cluster/extender/program/service_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "cluster/extender/wire/reader.h"
#include "policy/annotations.h"
#include "tests/support/eventually.h"
#include "tests/support/tree.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/extender_targets/sample_service.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using pinion::test_support::eventually;
using test_support::service_pod;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kResizePath = "/api/v1/namespaces/shop/pods/web-0/resize";
constexpr const char* kEventsPath = "/apis/events.k8s.io/v1/namespaces/shop/events";

class ServiceTargetsTest : public testing::Test {
 protected:
  void SetUp() override {
    prometheus_.on("GET /api/v1/query", [this](const auto& request, auto& response) {
      const bool use = request.get_param_value("query").find("cpu_seconds") != std::string::npos;
      const json sample = {{"metric", json::object()}, {"value", {1, use ? "1" : metric_}}};
      const json answer = {{"status", "success"},
                           {"data", {{"resultType", "vector"}, {"result", json::array({sample})}}}};
      response.set_content(answer.dump(), "application/json");
    });
    server_.on(std::string("POST ") + kEventsPath, 201, json::object());
  }
  // Resizes are answered so.
  void start(int status = 200, const json& answer = json::object()) {
    server_.on(std::string("PATCH ") + kResizePath, status, answer);
    auto prometheus = ServiceTargets::reach({.url = prometheus_.access().endpoint.url()});
    ASSERT_TRUE(prometheus) << prometheus.error().text;
    services_ = std::make_unique<ServiceTargets>(
        *api_, *std::move(prometheus), log_,
        ServiceTargets::Asks{.may_act =
                                 [this] {
                                   ++asked_;
                                   return leads_.load();
                                 },
                             .room =
                                 [this](const std::string&) {
                                   return targets::NodeRoom{.spare_milli = spare_milli_,
                                                            .shared_milli = 16'000};
                                 },
                             .most = [] { return std::int64_t{16'000}; }},
        ServiceTargets::Options{.look = 1ms, .reporter = {.instance = "e"}});
  }
  // As a watch of pods does.
  void tell(kube::Change change, const json& pod) {
    const std::string text = pod.dump();
    const std::string uid = pod.at("metadata").at("uid");
    services_->seen(change, {.name_space = {}, .name = {}, .uid = uid, .version = {}, .json = text},
                    wire::Reader().pod(text));
  }
  // The body of the first request for the path, once there is one.
  json sent(const std::string& path) {
    for (std::size_t requests = 1;; ++requests) {
      const auto seen = server_.wait_for(requests);
      if (seen.size() < requests) return json::object();
      if (seen[requests - 1].target == path) return seen[requests - 1].json();
    }
  }

  kube::FakeApiServer prometheus_;
  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  const std::string metric_ = "400";
  std::int64_t spare_milli_ = 9000;
  std::atomic<bool> leads_ = true;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<ServiceTargets> services_;  // last: it uses all above
};

TEST_F(ServiceTargetsTest, AServiceThatIsShortIsResizedInPlace) {
  start();
  tell(kube::Change::kAdded, service_pod());
  const json patch = sent(kResizePath);
  EXPECT_EQ(patch.at("metadata").at("uid"), "u");
  EXPECT_EQ(patch.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(patch.at("spec").at("containers"),
            json::parse(R"([{"name": "nginx", "resources": {"limits": {"cpu": "2560m"},
                                                            "requests": {"cpu": "2560m"}}}])"));
  for (const auto& one : server_.seen()) {
    if (one.method != "PATCH") continue;
    EXPECT_EQ(one.content_type, "application/strategic-merge-patch+json");
  }
  EXPECT_THAT(sent(kEventsPath).at("note").get<std::string>(), HasSubstr("from 1.00 to 2.56"));
  EXPECT_GE(services_->figures().resized, 1U);
  ASSERT_EQ(services_->figures().rows.size(), 1U);
  EXPECT_NEAR(services_->figures().rows[0].performance, 0.4, 1e-9);
  EXPECT_EQ(services_->figures().rows[0].cpus, 1);
}

TEST_F(ServiceTargetsTest, ARefusedResizeIsTold) {
  server_.on("GET /api/v1/namespaces/shop/pods/web-0", 200, service_pod());
  start(422, kube::status_object(422, "Invalid", "Pod QoS is immutable"));
  tell(kube::Change::kAdded, service_pod());
  const json event = sent(kEventsPath);
  EXPECT_EQ(event.at("reason"), "ServiceNotResized");
  EXPECT_THAT(event.at("note").get<std::string>(), HasSubstr("Pod QoS is immutable"));
  EXPECT_GE(services_->figures().not_resized, 1U);
  EXPECT_EQ(services_->figures().resized, 0U);
}

TEST_F(ServiceTargetsTest, WhatPrometheusSaysOfAQueryIsNotTold) {
  prometheus_.on("GET /api/v1/query", [](const auto&, auto& response) {
    response.status = 422;
    response.set_content(R"({"status": "error", "error": "duplicate series {pod=\"secret\"}"})",
                         "application/json");
  });
  start();
  tell(kube::Change::kAdded, service_pod());
  const json event = sent(kEventsPath);
  EXPECT_EQ(event.at("reason"), "ServiceMetricMissing");
  EXPECT_THAT(event.at("note").get<std::string>(),
              AllOf(HasSubstr("refuses the query"), Not(HasSubstr("secret"))));
}

// A token that is not taken, a certificate, a path: nothing that the pod's owner could mend.
TEST_F(ServiceTargetsTest, WhatTheOperatorHasToMendIsNotBlamedOnTheQuery) {
  prometheus_.on("GET /api/v1/query", 401, json{{"status", "error"}});
  start();
  tell(kube::Change::kAdded, service_pod());
  EXPECT_EQ(sent(kEventsPath).at("note").get<std::string>().find("refuses the query"),
            std::string::npos);
}

// The fleet does not know of the first one's resize yet, but the watch has told it.
TEST_F(ServiceTargetsTest, TwoServicesOfANodeDoNotGetTheSameRoom) {
  spare_milli_ = 2000;
  start();
  const auto named = [](const std::string& name, const std::string& limit) {
    json pod = service_pod(limit, limit);
    pod["metadata"]["name"] = name;
    pod["metadata"]["uid"] = name;
    return pod;
  };
  std::array<std::promise<std::string>, 2> limits;
  std::array<std::future<std::string>, 2> given;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    given.at(i) = limits.at(i).get_future();
    const std::string name = "api-" + std::to_string(i);
    server_.on("PATCH /api/v1/namespaces/shop/pods/" + name + "/resize",
               [&, name, i](const auto& request, auto& response) {
                 const json container = json::parse(request.body).at("spec").at("containers").at(0);
                 const std::string limit = container.at("resources").at("limits").at("cpu");
                 tell(kube::Change::kModified, named(name, limit));
                 response.set_content("{}", "application/json");
                 limits.at(i).set_value(limit);
               });
    tell(kube::Change::kAdded, named(name, "1"));
  }
  int sum = 0;
  for (std::future<std::string>& one : given) {
    ASSERT_EQ(one.wait_for(60s), std::future_status::ready);
    sum += std::stoi(one.get());
  }
  EXPECT_EQ(sum, 2 * 1000 + spare_milli_);
}

// More of them than there are threads, each with a query over which Prometheus takes its time.
TEST_F(ServiceTargetsTest, SlowQueriesOfOneNamespaceHoldUpNoOther) {
  struct Counts {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    std::atomic<int> all = 0;
  };
  const auto slow = std::make_shared<Counts>();  // a handler may outlive the test
  prometheus_.on("GET /api/v1/query", [slow](const auto& request, auto& response) {
    if (request.get_param_value("query").find("slow-") != std::string::npos) {
      const int now = ++slow->now;
      ++slow->all;
      for (int most = slow->most; now > most;) slow->most.compare_exchange_weak(most, now);
      std::this_thread::sleep_for(300ms);
      --slow->now;
    }
    response.set_content(R"({"status": "success", "data": {"resultType": "vector",
                             "result": [{"metric": {}, "value": [1, "400"]}]}})",
                         "application/json");
  });
  start();
  for (int i = 0; i < 40; ++i) {
    json pod = service_pod();
    pod["metadata"]["namespace"] = "slow";
    pod["metadata"]["uid"] = pod["metadata"]["name"] = "slow-" + std::to_string(i);
    tell(kube::Change::kAdded, pod);
  }
  EXPECT_TRUE(eventually([&] { return slow->most >= 2; }));
  tell(kube::Change::kAdded, service_pod());
  EXPECT_EQ(sent(kResizePath).at("metadata").at("uid"), "u");
  EXPECT_LT(slow->all, 40) << "it did not wait for all of them";
  services_.reset();
  EXPECT_EQ(slow->most, 2);
}

TEST_F(ServiceTargetsTest, AMistakeOfItsOwnerIsToldOnce) {
  start();
  json wrong = service_pod();
  wrong["metadata"]["annotations"][annotation::kServiceTarget] = "many";
  tell(kube::Change::kAdded, wrong);
  const json event = sent(kEventsPath);
  EXPECT_EQ(event.at("reason"), "ServiceTargetRefused");
  EXPECT_THAT(event.at("note").get<std::string>(), HasSubstr("'many' is no number"));
  asked_ = 0;
  EXPECT_TRUE(eventually([&] { return asked_ >= 20; }));
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_EQ(services_->figures().refused, 1U);
  EXPECT_THAT(prometheus_.seen(), testing::IsEmpty());
}

TEST_F(ServiceTargetsTest, NothingIsDoneWhileAnotherReplicaLeads) {
  leads_ = false;
  start();
  tell(kube::Change::kAdded, service_pod());
  EXPECT_TRUE(eventually([&] { return asked_ >= 20; }));
  EXPECT_THAT(server_.seen(), testing::IsEmpty());
  EXPECT_THAT(prometheus_.seen(), testing::IsEmpty());
}

TEST_F(ServiceTargetsTest, APodThatIsGoneIsForgotten) {
  start();
  tell(kube::Change::kAdded, service_pod());
  sent(kResizePath);
  tell(kube::Change::kDeleted, service_pod());
  EXPECT_EQ(services_->figures().services, 0U);
  tell(kube::Change::kAdded, json{{"metadata", {{"uid", "other"}}}});
  EXPECT_EQ(services_->figures().services, 0U);
}

TEST_F(ServiceTargetsTest, AQueryIsAskedAsItWasWritten) {
  start();
  json pod = service_pod();
  pod["metadata"]["annotations"][annotation::kServiceMetric] = "sum(\n  served\n)";
  tell(kube::Change::kAdded, pod);
  sent(kResizePath);
  EXPECT_THAT(prometheus_.seen().at(0).target, HasSubstr("sum%28%0A%20%20served%0A%29"));
}

TEST(ServiceTargets, PrometheusIsAUrl) {
  EXPECT_TRUE(ServiceTargets::reach({.url = "http://prometheus.monitoring:9090/prom"}));
  EXPECT_FALSE(ServiceTargets::reach({.url = "prometheus:9090"}));
}

TEST(ServiceTargets, PrometheusIsKnownByItsAuthorityAndSentAToken) {
  if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl";
  const pinion::test_support::TempDir folder;
  const std::string dir = folder.path();
  ASSERT_TRUE(agent::api::make_certificates(dir, "a"));
  ASSERT_TRUE(agent::api::make_certificates(dir, "b"));
  const auto own = agent::api::files_of(dir, "a", "server");
  kube::FakeApiServer server(
      kube::FakeApiServer::Files{.certificate = own.certificate, .key = own.key, .client_ca = ""});
  server.on("GET /api/v1/query", 200, json::object());
  std::ofstream(dir + "/token") << "secret\n";
  const std::string url = server.access().endpoint.url();
  const auto known =
      ServiceTargets::reach({.url = url, .ca = own.ca, .token_file = dir + "/token"});
  ASSERT_TRUE(known) << known.error().text;
  EXPECT_TRUE((*known)->get("/api/v1/query"));
  EXPECT_EQ(server.seen().at(0).token, "Bearer secret");
  const auto stranger =
      ServiceTargets::reach({.url = url, .ca = agent::api::files_of(dir, "b", "server").ca});
  ASSERT_TRUE(stranger);
  EXPECT_FALSE((*stranger)->get("/api/v1/query"));
  EXPECT_FALSE(ServiceTargets::reach({.url = url, .ca = dir + "/none"}));
}

}  // namespace
}  // namespace pinion::cluster
