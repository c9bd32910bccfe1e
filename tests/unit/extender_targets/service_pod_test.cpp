// What is read of a pod with a target, and what is said of one that makes no sense.
#include "cluster/extender/targets/service_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/annotations.h"
#include "tests/unit/extender_targets/sample_service.h"

namespace pinion::cluster::targets {
namespace {

using nlohmann::json;
using test_support::refuses_resize;
using test_support::service_pod;
using testing::HasSubstr;

TEST(ServicePod, IsOneWithAMetric) {
  EXPECT_TRUE(is_service(service_pod()));
  for (const json& other :
       {json::object(), json(), json{{"metadata", {{"annotations", 3}}}},
        json{{"metadata", {{"annotations", {{annotation::kServiceMetric, 3}}}}}}}) {
    EXPECT_FALSE(is_service(other)) << other;
  }
}

TEST(ServicePod, IsRead) {
  json pod = service_pod("1500m", "600m");
  pod["metadata"]["annotations"][annotation::kServiceDirection] = "at-most";
  pod["metadata"]["annotations"][annotation::kServiceSettle] = "45s";
  pod["metadata"]["annotations"][annotation::kServicePolicy] = "paper";
  const auto service = read_service(pod);
  ASSERT_TRUE(service) << service.error().text;
  EXPECT_EQ(service->pod.name, "web-0");
  EXPECT_EQ(service->node, "n1");
  EXPECT_TRUE(service->running);
  EXPECT_EQ(service->container, "nginx");
  EXPECT_EQ(service->metric, "sum(rate(served{pod=\"web-0\"}[30s]))");
  EXPECT_THAT(service->use, HasSubstr("namespace=\"shop\",pod=\"web-0\",container=\"nginx\""));
  EXPECT_EQ(service->target.direction, Direction::kAtMost);
  EXPECT_EQ(service->target.target, 1000);
  EXPECT_EQ(service->target.min_milli, 500);
  EXPECT_EQ(service->target.max_milli, 8000);
  EXPECT_EQ(service->target.settle_ms, 45'000);
  EXPECT_EQ(service->target.policy, ServicePolicy::kPaper);
  EXPECT_EQ(service->present_limit(), 1500);
  EXPECT_EQ(service->present_request(), 600);
  EXPECT_EQ(request_for(*service, 3000), 1200);
  EXPECT_EQ(request_for(*service, 1), 1);
}

TEST(ServicePod, WhoseResizeIsRefusedHasWhatTheKubeletSays) {
  json pod = service_pod("4");
  pod["status"]["containerStatuses"][0]["resources"] = {{"limits", {{"cpu", "2"}}},
                                                        {"requests", {{"cpu", "2"}}}};
  EXPECT_EQ(read_service(pod)->present_limit(), 4000) << "it is being carried out";
  const auto deferred = read_service(refuses_resize(pod, "Deferred"));
  EXPECT_EQ(deferred->resize, Resize::kDeferred);
  EXPECT_EQ(deferred->present_limit(), 2000);
  EXPECT_EQ(read_service(refuses_resize(pod, "Infeasible"))->resize, Resize::kInfeasible);
}

struct Mistake {
  const char* path;
  json value;
  const char* says;
};

TEST(ServicePod, SaysWhatWouldBeRight) {
  const std::string annotations = "/metadata/annotations/pinion.dev~1service-";
  for (const Mistake& mistake :
       {Mistake{.path = "metric", .value = "", .says = "query of PromQL"},
        Mistake{.path = "metric", .value = std::string(3000, 'x'), .says = "2048 characters"},
        Mistake{.path = "target", .value = nullptr, .says = "service-target: ''"},
        Mistake{.path = "target", .value = "-1", .says = "'-1' is no number above 0"},
        Mistake{.path = "target", .value = "nan", .says = "no number"},
        Mistake{.path = "target", .value = "5 ms", .says = "no number"},
        Mistake{.path = "direction", .value = "up", .says = "none of at-least, at-most"},
        Mistake{.path = "cpu", .value = nullptr, .says = "missing, write"},
        Mistake{.path = "cpu", .value = "4", .says = "500m..8"},
        Mistake{.path = "cpu", .value = "8..4", .says = "500m..8"},
        Mistake{.path = "cpu", .value = "0..4", .says = "500m..8"},
        Mistake{.path = "cpu", .value = "1..9G", .says = "500m..8"},
        Mistake{.path = "settle", .value = "1h", .says = "of the kind 20s"},
        Mistake{.path = "settle", .value = "601s", .says = "600s at most"},
        Mistake{.path = "policy", .value = "pid", .says = "'pid' is none of paper, ours"},
        Mistake{.path = "container", .value = "x", .says = "no container 'x'"},
        Mistake{
            .path = "cpu.nginx", .value = "1..2", .says = "service-cpu.nginx': holds for no"}}) {
    json pod = service_pod();
    pod[json::json_pointer(annotations + mistake.path)] = mistake.value;
    const auto service = read_service(pod);
    ASSERT_FALSE(service) << mistake.path << " " << mistake.value;
    EXPECT_THAT(service.error().text, HasSubstr(mistake.says));
  }
}

TEST(ServicePod, WithSeveralContainersSaysWhich) {
  json pod = service_pod();
  pod["spec"]["containers"].push_back({{"name", "sidecar"}});
  EXPECT_THAT(read_service(pod).error().text, HasSubstr("several containers"));
  pod["metadata"]["annotations"][annotation::kServiceContainer] = "nginx";
  EXPECT_TRUE(read_service(pod));
}

TEST(ServicePod, ItsOneContainerHasToHaveAName) {
  json pod = service_pod();
  pod["spec"]["containers"][0].erase("name");
  EXPECT_THAT(read_service(pod).error().text, HasSubstr("has no name"));
}

TEST(ServicePod, WithoutALimitCannotBeResized) {
  json pod = service_pod();
  pod["spec"]["containers"][0]["resources"].erase("limits");
  EXPECT_THAT(read_service(pod).error().text, HasSubstr("resources.limits.cpu"));
}

TEST(ServicePod, ThatIsGuaranteedMustRunOnSharedCpus) {
  json pod = service_pod();
  pod["status"]["qosClass"] = "Guaranteed";
  EXPECT_THAT(read_service(pod).error().text, HasSubstr("pinion.dev/cpus: shared"));
  pod["metadata"]["annotations"][annotation::kCpus] = "shared";
  EXPECT_TRUE(read_service(pod));
}

// A service goes up and down all day.
TEST(ServicePod, ARequestKeepsItsShareOverManyResizes) {
  ServicePod service;
  service.limit_milli = 3000;
  service.request_milli = 1000;
  for (int i = 0; i < 1000; ++i) {
    for (const std::int64_t limit : {2560, 7810, 510, 3000}) {
      service.request_milli = request_for(service, limit);
      service.limit_milli = limit;
    }
  }
  EXPECT_NEAR(static_cast<double>(service.request_milli), 1000, 5);
}

TEST(ServicePod, ARequestBelowItsLimitStaysBelow) {
  ServicePod service;
  service.limit_milli = 1000;
  service.request_milli = 999;
  EXPECT_EQ(request_for(service, 10), 9);
}

TEST(ServicePod, TheContainersOwnAnnotationSaysWhetherItHasCores) {
  json pod = service_pod();
  pod["status"]["qosClass"] = "Guaranteed";
  EXPECT_FALSE(read_service(pod));
  pod["metadata"]["annotations"]["pinion.dev/cpus.nginx"] = "shared";
  EXPECT_TRUE(read_service(pod));
  pod["metadata"]["annotations"]["pinion.dev/cpus"] = "shared";
  pod["metadata"]["annotations"]["pinion.dev/cpus.nginx"] = "exclusive";
  EXPECT_FALSE(read_service(pod));
}

TEST(ServicePod, AQueryMayNotGrowWithoutBoundByItsNames) {
  json pod = service_pod();
  pod["metadata"]["name"] = std::string(250, 'a');
  std::string query;
  for (int i = 0; i < 400; ++i) query += "$POD+";
  pod["metadata"]["annotations"]["pinion.dev/service-metric"] = query;
  EXPECT_FALSE(read_service(pod));
}

}  // namespace
}  // namespace pinion::cluster::targets
