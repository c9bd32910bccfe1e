// A service with a target on a real API server, beside a rank: it is resized in place, keeps its
// QoS class and the rank its cores, and its owner is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/scene.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Services : public Scene {
 protected:
  void start_services() {
    prometheus_.on("GET /api/v1/query", [this](const auto& request, auto& response) {
      const bool use = request.get_param_value("query").find("cpu_seconds") != std::string::npos;
      const json sample = {{"metric", json::object()},
                           {"value", {1, std::to_string(use ? used_.load() : metric_.load())}}};
      const json answer = {{"status", "success"},
                           {"data", {{"resultType", "vector"}, {"result", json::array({sample})}}}};
      response.set_content(answer.dump(), "application/json");
    });
    start_nodes(1);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(ok(admin().let_extender({"patch"}, "pods/resize")));
    start_extender({"--services-prometheus", prometheus_.access().endpoint.url()});
    if (!HasFatalFailure()) start_scheduler({});
    if (!HasFatalFailure()) nodes().tell_ready();
  }
  static PodShape service(const std::string& target) {
    return {.name = "web",
            .annotations = {{"pinion.dev/cpus", "shared"},
                            {"pinion.dev/service-metric", "served{pod=\"$POD\"}"},
                            {"pinion.dev/service-target", target},
                            {"pinion.dev/service-settle", "0s"},
                            {"pinion.dev/service-cpu", "500m..64"}}};
  }
  std::string limit() {
    const auto pod = admin().pod("web");
    if (!pod) return pod.error().text;
    return kube::json_text(kube::json_at(*pod, "spec", "containers").at(0), "resources", "limits",
                           "cpu");
  }
  bool told(const std::string& reason) {
    return lab::eventually(lab::Milliseconds(kPatience), [&] {
      const auto events = admin().api().list("/apis/events.k8s.io/v1/namespaces/default/events");
      if (!events) return false;
      for (const json& event : kube::json_at(*events, "items")) {
        if (kube::json_text(event, "reason") == reason) return true;
      }
      return false;
    });
  }
  bool has_limit(const std::string& wanted) {
    return lab::eventually(lab::Milliseconds(kPatience), [&] { return limit() == wanted; });
  }

  std::atomic<int> metric_ = 400;
  std::atomic<int> used_ = 1;  // CPUs
  kube::FakeApiServer prometheus_;
};

TEST_F(Services, AServiceIsResizedInPlaceBesideARank) {
  start_services();
  add({.name = "rank", .milli_cpus = 16'000});
  ASSERT_TRUE(run({"rank"}));
  const auto cores = nodes().held().at("rank").cpus;
  add(service("1000"));
  ASSERT_TRUE(has_limit("2560m")) << limit();
  metric_ = 1024;
  EXPECT_TRUE(told("ServiceResized"));
  const auto pod = admin().pod("web");
  ASSERT_TRUE(pod);
  EXPECT_EQ(kube::json_text(*pod, "status", "qosClass"), "Guaranteed");
  EXPECT_EQ(nodes().held().at("rank").cpus, cores);
  EXPECT_EQ(extender().figure("pinion_extender_service_resizes_total{result=\"refused\"}"), 0);
  EXPECT_GE(extender().figure("pinion_extender_service_resizes_total{result=\"done\"}"), 1);
}

TEST_F(Services, AServiceGetsNoMoreThanARankLeaves) {
  used_ = 32;        // all that it has
  start_services();  // on a node of 32
  add({.name = "rank", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"rank"}));
  add(service("1000000"));
  EXPECT_TRUE(has_limit("20")) << limit();
  EXPECT_EQ(extender().figure("pinion_extender_service_resizes_total{result=\"refused\"}"), 0);
}

TEST_F(Services, ATargetThatMakesNoSenseIsTold) {
  start_services();
  add(service("many"));
  EXPECT_TRUE(told("ServiceTargetRefused"));
  EXPECT_EQ(limit(), "1");
}

}  // namespace
}  // namespace pinion::e2e
