// Reviews as they come over the wire, and the answers to them.
#include "cluster/extender/admission/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/base64.h"
#include "tests/unit/extender/scene.h"
#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::admission {
namespace {

using jobs::captured_text;
using jobs::json;
using testing::HasSubstr;

json review_with(const std::string& captured, const std::string& merge_patch) {
  json review = json::parse(captured_text(captured));
  review.merge_patch(json::parse(merge_patch));
  return review;
}

constexpr const char* kTasksOnJob =
    R"({"request":{"object":{"metadata":{"annotations":{"pinion.dev/tasks":"16"}}}}})";

// Four nodes of 2 x 16 CPUs that jobs may have; `closed`: the first of them are for nobody.
void look_at_four_nodes(const std::function<void(const jobs::LockedFleet&)>& see, int closed = 0) {
  Fleet fleet;
  add_paper_nodes(fleet);
  for (int i = 0; i < closed; ++i) fleet.set_terms(i, {.open = false}, {});
  see({.fleet = fleet});
}

json answer_to(const json& review, Webhook::Seen seen = {}, int closed = 0) {
  jobs::Options options;
  options.scheduler = "pinion";
  Webhook webhook(
      options, [closed](const auto& see) { look_at_four_nodes(see, closed); }, std::move(seen));
  const auto body = webhook.answer(review.dump());
  EXPECT_TRUE(body) << (body ? "" : body.error().text);
  const json answer = json::parse(body.value_or("{}"));
  EXPECT_EQ(answer.value("apiVersion", ""), "admission.k8s.io/v1");
  EXPECT_EQ(answer.value("kind", ""), "AdmissionReview");
  const json response = answer.value("response", json::object());
  EXPECT_EQ(response.value("uid", ""), review.at("request").at("uid"));
  return response;
}

// The object with the patch of a response.
json patched(const json& review, const json& response) {
  EXPECT_EQ(response.value("patchType", ""), "JSONPatch");
  const auto text = kube::decode_base64(response.value("patch", ""));
  EXPECT_TRUE(text);
  return review.at("request").at("object").patch(json::parse(text.value_or("[]")));
}

TEST(Webhook, PatchesAJobAndTellsWhoLooks) {
  const json review = review_with("mpijob_create", kTasksOnJob);
  std::string seen;
  const json response = answer_to(review, [&](const Review& asked, const jobs::Mutation& done) {
    seen = asked.name_space + " " + std::to_string(done.cut->decision.granularity.workers);
  });
  EXPECT_EQ(response.at("allowed"), true);
  const json after = patched(review, response);
  EXPECT_EQ(after.at("/spec/mpiReplicaSpecs/Worker/template/metadata/annotations"_json_pointer)
                .at("pinion.dev/gang-size"),
            "4");
  EXPECT_EQ(seen, "mpi-openmpi 4");
}

TEST(Webhook, ADryRunIsAnsweredAlike) {
  const json review = review_with("job_create", kTasksOnJob);
  json dry = review;
  dry["request"]["dryRun"] = true;
  const json response = answer_to(dry, [](const Review& asked, const jobs::Mutation& done) {
    EXPECT_TRUE(asked.dry_run);
    EXPECT_EQ(done.kind, jobs::Mutation::Kind::kChanged);
  });
  EXPECT_EQ(response, answer_to(review));
}

// 16 tasks of so many CPUs in 4 workers.
json large_job(int cpus_per_task) {
  json review = review_with("job_create", kTasksOnJob);
  json& object = review["request"]["object"];
  object["metadata"]["annotations"]["pinion.dev/cpus-per-task"] = std::to_string(cpus_per_task);
  object["metadata"]["annotations"]["pinion.dev/memory-per-task"] = "1Gi";
  object["metadata"]["annotations"]["pinion.dev/strength"] = "required";
  object["spec"]["template"]["spec"]["containers"][0].erase("resources");
  return review;
}

TEST(Webhook, WarnsOfAJobThatFitsNotEvenTheIdleFleet) {
  EXPECT_FALSE(answer_to(large_job(4)).contains("warnings")) << "16 CPUs each, 8 such NUMA nodes";
  const json never = answer_to(large_job(5));
  EXPECT_EQ(never.at("allowed"), true);
  EXPECT_THAT(never.at("warnings").at(0).get<std::string>(),
              HasSubstr("it cannot start on these nodes: needs 4 x 20 CPUs"));
  EXPECT_THAT(never.at("warnings").at(0).get<std::string>(),
              HasSubstr("no node could give that even with nothing running"));
  const json few = answer_to(large_job(4), {}, 3);
  EXPECT_THAT(few.at("warnings").at(0).get<std::string>(),
              HasSubstr("even with nothing running there is room for 2"));
  json on_one = large_job(4);
  on_one["request"]["object"]["metadata"]["annotations"]["pinion.dev/nodes"] = "1";
  const json never_there = answer_to(on_one);
  EXPECT_THAT(never_there.at("warnings").at(0).get<std::string>(),
              HasSubstr("on at most 1 node; even with nothing running there is room for 2"));
}

TEST(Webhook, WarnsOfAnnotationsThatNothingReads) {
  json review = review_with("mpijob_create", kTasksOnJob);
  json& annotations = review["request"]["object"]["metadata"]["annotations"];
  annotations["pinion.dev/nods"] = "1";
  annotations["pinion.dev/align.main"] = "l3";
  annotations["pinion.dev/worker-role"] = "foo";
  annotations["example.org/nods"] = "1";
  EXPECT_EQ(
      answer_to(review).at("warnings"),
      json({"annotation pinion.dev/nods is not known and ignored",
            "annotation pinion.dev/worker-role is for Volcano Jobs and JobSets, and ignored"}));
  annotations.erase("pinion.dev/tasks");
  annotations.erase("pinion.dev/worker-role");
  EXPECT_EQ(answer_to(review).at("warnings").size(), 1U) << "of one that is left alone, too";
}

TEST(Webhook, WarnsOfAJobWhosePodsKeepApartOnMoreNodesThanThereAre) {
  json review = large_job(4);
  json& pod = review["request"]["object"]["spec"]["template"];
  pod["metadata"]["labels"]["app"] = "wind";
  const json own = {{"labelSelector", {{"matchLabels", {{"app", "wind"}}}}},
                    {"topologyKey", "kubernetes.io/hostname"}};
  pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
      json::array({own});
  EXPECT_FALSE(answer_to(review).contains("warnings")) << "four workers on four nodes";
  EXPECT_THAT(answer_to(review, {}, 1).at("warnings").at(0).get<std::string>(),
              HasSubstr("each on another node; 1 node is closed to it; even with nothing running "
                        "there is room for 3"));
}

// Templates that say no job's name.
json without_stated_jobs(json value) {
  if (!value.is_structured()) return value;
  if (value.is_object()) value.erase("pinion.dev/job");
  for (json& inner : value) inner = without_stated_jobs(inner);
  return value;
}

TEST(Webhook, NamesAJobThatLeavesItsNameToTheApiServer) {
  struct Case {
    const char* captured;
    const char* job;  // where a template says the job's name
  };
  for (const Case& one :
       {Case{"job_create", "/spec/template/metadata/annotations/pinion.dev~1job"},
        Case{"mpijob_create",
             "/spec/mpiReplicaSpecs/Worker/template/metadata/annotations/pinion.dev~1job"},
        Case{"vcjob_create", "/spec/tasks/1/template/metadata/annotations/pinion.dev~1job"}}) {
    SCOPED_TRACE(one.captured);
    json review = review_with(one.captured, kTasksOnJob);
    review = without_stated_jobs(review);
    review["request"]["object"]["metadata"].erase("name");
    review["request"]["object"]["metadata"]["generateName"] = "wind-";
    const json response = answer_to(review);
    ASSERT_EQ(response.at("allowed"), true) << response;
    const json after = patched(review, response);
    const std::string name = after.at("metadata").at("name");
    EXPECT_THAT(name, testing::MatchesRegex("wind-[b-df-hj-np-tv-z2-9]{5}"));
    EXPECT_EQ(after.at(json::json_pointer(one.job)), name);
    EXPECT_EQ(answer_to(review), response) << "the same request, the same name";
    json again = review;
    again["request"]["uid"] = "another";
    EXPECT_NE(patched(again, answer_to(again)).at("metadata").at("name"), name);
    json long_name = review;
    long_name["request"]["object"]["metadata"]["generateName"] = std::string(80, 'x');
    EXPECT_EQ(patched(long_name, answer_to(long_name))
                  .at("metadata")
                  .at("name")
                  .get<std::string>()
                  .size(),
              63U);
  }
}

TEST(Webhook, JobSetsExclusivePlacementIsRefusedForAGang) {
  constexpr const char* kExclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  json review = review_with("jobset_create", R"({"request":{"object":{"metadata":{"annotations":
      {"pinion.dev/tasks":"16","pinion.dev/worker-role":"workers"}}}}})");
  ASSERT_EQ(answer_to(review).at("allowed"), true) << answer_to(review);
  const auto refused = [](const json& asked) {
    const json response = answer_to(asked);
    return response.at("allowed") == false ? response.at("status").at("message").get<std::string>()
                                           : std::string();
  };
  json on_all = review;
  on_all["request"]["object"]["metadata"]["annotations"][kExclusive] = "rack";
  EXPECT_THAT(refused(on_all), HasSubstr("it would wait for ever"));
  json& annotations = on_all["request"]["object"]["metadata"]["annotations"];
  annotations["alpha.jobset.sigs.k8s.io/node-selector"] = "true";
  EXPECT_EQ(refused(on_all), "") << "all pods are made at once";
  json on_part = review;
  for (json& part : on_part["request"]["object"]["spec"]["replicatedJobs"]) {
    part["template"]["metadata"]["annotations"][kExclusive] = "rack";
  }
  EXPECT_THAT(refused(on_part), HasSubstr(kExclusive));
}

TEST(Webhook, RefusesWithTheReason) {
  const json review = review_with(
      "job_create",
      R"({"request":{"object":{"metadata":{"annotations":{"pinion.dev/tasks":"many"}}}}})");
  const json response = answer_to(review);
  EXPECT_EQ(response.at("allowed"), false);
  EXPECT_EQ(response.at("status").at("code"), 403);
  EXPECT_THAT(response.at("status").at("message").get<std::string>(),
              HasSubstr("pinion: annotation pinion.dev/tasks: 'many' is not a whole number"));
  EXPECT_FALSE(response.contains("patch"));
}

struct UntouchedCase {
  const char* name;
  const char* captured;
  std::string merge_patch = "{}";
};

class Untouched : public testing::TestWithParam<UntouchedCase> {};

// A Guaranteed pod of nobody's, patched with `merge_patch`, where pods get a managed resource.
json managed(const std::string& merge_patch) {
  json review = review_with("job_pod", R"({"request":{"object":{
    "metadata":{"labels":null,"annotations":null,"ownerReferences":null},
    "spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"2","memory":"1Gi"}}},
                          {"name":"b","resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]}}}})");
  review["request"]["object"].merge_patch(json::parse(merge_patch));
  jobs::Options options;
  options.managed_resource = "pinion.dev/managed";
  Webhook webhook(options, [](const auto& see) { look_at_four_nodes(see); }, {});
  const json response = json::parse(webhook.answer(review.dump()).value_or("{}")).at("response");
  EXPECT_EQ(response.at("allowed"), true);
  return response.contains("patch") ? patched(review, response) : review.at("request").at("object");
}

TEST(Webhook, GivesPodsWithWholeCpusTheManagedResource) {
  const json containers = managed("{}").at("spec").at("containers");
  for (const char* amounts : {"limits", "requests"}) {
    EXPECT_EQ(containers.at(0).at("resources").at(amounts).at("pinion.dev/managed"), "1");
  }
  EXPECT_EQ(containers.at(0).at("resources").at("limits").at("cpu"), "2");
  EXPECT_EQ(containers.at(1).dump().find("pinion.dev"), std::string::npos);
}

TEST(Webhook, GivesPodsWithWholeCpusAsAWholeTheManagedResource) {
  const auto marked = [](const std::string& containers, const char* amounts) {
    const std::string resources = R"("resources":{"limits":)" + std::string(amounts) + "}";
    const json spec =
        managed(R"({"spec":{)" + resources + R"(,"containers":[)" + containers + "]}}").at("spec");
    EXPECT_FALSE(spec.at("resources").dump().find("pinion.dev") != std::string::npos);
    return spec.at("containers").dump().find("pinion.dev/managed") != std::string::npos;
  };
  constexpr const char* whole = R"({"cpu":"2","memory":"1Gi"})";
  EXPECT_TRUE(marked(R"({"name":"a"},{"name":"b"})", whole));
  EXPECT_FALSE(marked(R"({"name":"a"})", R"({"cpu":"1500m","memory":"1Gi"})"));
  EXPECT_FALSE(marked(R"({"name":"a"})", R"({"cpu":"2"})")) << "not Guaranteed";
  EXPECT_FALSE(marked(R"({"name":"a","resources":{"requests":{"cpu":"1"}}})", whole))
      << "the pod requests what its containers do";
}

TEST(Webhook, GivesNoManagedResourceToOthers) {
  const auto marked = [](const char* merge_patch) {
    return managed(merge_patch).dump().find("pinion.dev/managed") != std::string::npos;
  };
  EXPECT_FALSE(marked(R"({"spec":{"containers":[{"name":"a"}]}})"));
  EXPECT_FALSE(marked(R"({"spec":{"containers":[
    {"name":"a","resources":{"limits":{"cpu":"1500m","memory":"1Gi"}}}]}})"));
  EXPECT_FALSE(marked(R"({"metadata":{"annotations":{"pinion.dev/cpus":"shared"}}})"));
  EXPECT_FALSE(marked(R"({"spec":{"schedulerName":"volcano"}})"));
  // A pod that says that it is a service is placed by us, too; one that has a target alone is not.
  EXPECT_TRUE(marked(R"({"metadata":{"annotations":{"pinion.dev/cpus":"shared",
                                                    "pinion.dev/class":"service"}}})"));
  EXPECT_FALSE(marked(R"({"metadata":{"annotations":{"pinion.dev/cpus":"shared",
                                                     "pinion.dev/service-metric":"up"}}})"));
  // Refused by the extender, with the reason.
  EXPECT_TRUE(marked(R"({"metadata":{"annotations":{"pinion.dev/align":"moon"}}})"));
}

TEST_P(Untouched, PassesWithoutAPatch) {
  const json response = answer_to(review_with(GetParam().captured, GetParam().merge_patch));
  EXPECT_EQ(response, json({{"uid", response.value("uid", "")}, {"allowed", true}}));
}

INSTANTIATE_TEST_SUITE_P(
    Reviews, Untouched,
    testing::Values(
        UntouchedCase{"mpijob_without_tasks", "mpijob_create"},
        UntouchedCase{"vcjob_without_tasks", "vcjob_create"},
        UntouchedCase{"jobset_without_tasks", "jobset_create"},
        UntouchedCase{"job_without_tasks", "job_create"},
        UntouchedCase{"update", "mpijob_update", kTasksOnJob},
        UntouchedCase{"subresource", "job_create",
                      R"({"request":{"subResource":"status","object":{"metadata":{"annotations":
                          {"pinion.dev/tasks":"16"}}}}})"},
        UntouchedCase{"launcher_job", "mpijob_launcher_job", kTasksOnJob},
        UntouchedCase{"child_of_a_jobset", "jobset_child_job", kTasksOnJob},
        UntouchedCase{"pod_of_a_job_that_is_not_ours", "job_pod"},
        UntouchedCase{"launcher_pod_without_our_hostfile", "mpijob_launcher_pod"},
        UntouchedCase{"delete", "job_create",
                      R"({"request":{"operation":"DELETE","object":null}})"},
        UntouchedCase{
            "other_kind", "job_create",
            R"({"request":{"object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":
                          {"annotations":{"pinion.dev/tasks":"16"}}}}})"}),
    [](const auto& one) { return std::string(one.param.name); });

struct MalformedCase {
  const char* name;
  std::string body;
  const char* says;
};

class Malformed : public testing::TestWithParam<MalformedCase> {};

TEST_P(Malformed, IsAnErrorThatSaysWhere) {
  const auto review = read_review(GetParam().body);
  ASSERT_FALSE(review);
  EXPECT_THAT(review.error().text, HasSubstr(GetParam().says));
  EXPECT_LT(review.error().text.size(), 300U);
}

std::string request_of(const std::string& request) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)" + request +
         "}";
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, Malformed,
    testing::Values(
        MalformedCase{"empty", "", "no JSON"}, MalformedCase{"cut", "{\"kind\":", "no JSON"},
        MalformedCase{"list", "[]", "not an AdmissionReview"},
        MalformedCase{"long_word", std::string(100'000, 'x'), "no JSON"},
        MalformedCase{"deep", std::string(200'000, '['), "body"},
        MalformedCase{"deep_and_whole", request_of(std::string(5000, '[') + std::string(5000, ']')),
                      "deeper than"},
        MalformedCase{"no_utf8", "{\"kind\":\"\xff\"}", "no JSON"},
        MalformedCase{"old_version",
                      R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"})",
                      "not an AdmissionReview of admission.k8s.io/v1"},
        MalformedCase{"no_request",
                      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
                      "request: missing"},
        MalformedCase{"request_is_a_list", request_of("[]"), "request: missing"},
        MalformedCase{"no_uid", request_of(R"({"operation":"CREATE"})"), "request.uid: missing"},
        MalformedCase{"uid_is_a_number", request_of(R"({"uid":1})"), "request.uid: not a string"},
        MalformedCase{"no_operation", request_of(R"({"uid":"u"})"), "request.operation: missing"},
        MalformedCase{"object_is_a_text",
                      request_of(R"({"uid":"u","operation":"CREATE","object":"x"})"),
                      "request.object: not an object"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::cluster::admission
