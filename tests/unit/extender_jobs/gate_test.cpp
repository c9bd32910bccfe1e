// Which pod templates get the scheduling gate of gangs.
#include <gtest/gtest.h>

#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

constexpr const char* kSixteen = R"({"pinion.dev/tasks":"16"})";
constexpr const char* kScaleTasks = R"({"pinion.dev/tasks":"16","pinion.dev/cpus-per-task":"1",
  "pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"cpu","pinion.dev/policy":"scale"})";
constexpr const char* kOneWorker = R"({"pinion.dev/tasks":"16","pinion.dev/memory-per-task":"1Gi",
  "pinion.dev/profile":"network","pinion.dev/policy":"scale"})";
constexpr const char* kOneWorkerJob =
    R"({"spec":{"parallelism":1,"completions":1,"template":{"spec":{
  "containers":[{"name":"worker","image":"i"}]}}}})";
constexpr const char* kGateLauncherWorks =
    R"({"spec":{"runLauncherAsWorker":true,"slotsPerWorker":1,
  "mpiReplicaSpecs":{
    "Launcher":{"template":{"spec":{"containers":[{"name":"launcher","image":"i"}]}}},
    "Worker":{"replicas":null,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}}})";

struct GateCase {
  const char* name;
  const char* captured;
  const char* annotations;
  const char* merge_patch;
  const char* scheduler;             // that the webhook writes
  std::vector<const char*> gated;    // templates with the gate
  std::vector<const char*> ungated;  // and without
  bool gates = true;                 // the setting
  const char* beside = nullptr;      // a gate that stands before it
};

constexpr const char* kMpiWorker = "/spec/mpiReplicaSpecs/Worker/template";
constexpr const char* kMpiLauncher = "/spec/mpiReplicaSpecs/Launcher/template";
constexpr const char* kVcWorker = "/spec/tasks/1/template";
constexpr const char* kSetWorker = "/spec/replicatedJobs/1/template/spec/template";
constexpr const char* kJobWorker = "/spec/template";

const GateCase kGateCases[] = {
    {"MpiWorkers", "mpijob_create", kSixteen, "{}", "", {kMpiWorker}, {kMpiLauncher}},
    {"MpiLauncherThatWorks",
     "mpijob_create",
     kScaleTasks,
     kGateLauncherWorks,
     "",
     {kMpiWorker, kMpiLauncher},
     {}},
    {"VolcanoOfTheDefaultScheduler",
     "vcjob_create",
     kSixteen,
     "{}",
     "",
     {kVcWorker},
     {"/spec/tasks/0/template"}},
    {"VolcanoOfItsOwnScheduler",
     "vcjob_create",
     kSixteen,
     R"({"spec":{"schedulerName":null}})",
     "",
     {},
     {kVcWorker}},
    {"VolcanoOfOurScheduler",
     "vcjob_create",
     kSixteen,
     R"({"spec":{"schedulerName":null}})",
     "pinion",
     {kVcWorker},
     {}},
    {"JobSet",
     "jobset_create",
     kSixteen,
     "{}",
     "",
     {kSetWorker},
     {"/spec/replicatedJobs/0/template/spec/template"}},
    {"JobSetWithExclusivePlacementByNodeSelectors",
     "jobset_create",
     R"({"pinion.dev/tasks":"16","alpha.jobset.sigs.k8s.io/exclusive-topology":"rack",
         "alpha.jobset.sigs.k8s.io/node-selector":"true"})",
     "{}",
     "",
     {kSetWorker},
     {}},
    {"IndexedJob", "job_create", kSixteen, "{}", "", {kJobWorker}, {}},
    {"IndexedJobOfOurScheduler", "job_create", kSixteen, "{}", "pinion", {kJobWorker}, {}},
    {"IndexedJobOfAnotherScheduler",
     "job_create",
     kSixteen,
     R"({"spec":{"template":{"spec":{"schedulerName":"mine"}}}})",
     "",
     {},
     {kJobWorker}},
    {"OneWorker", "job_create", kOneWorker, kOneWorkerJob, "", {}, {kJobWorker}},
    {"OnOneNode",
     "job_create",
     kSixteen,
     R"({"spec":{"template":{"spec":{"nodeName":"node-1"}}}})",
     "",
     {},
     {kJobWorker}},
    {"OfAPodGroupOfTheSchedulersOwn",
     "job_create",
     kSixteen,
     R"({"spec":{"template":{"spec":{"schedulingGroup":{"podGroupName":"g"}}}}})",
     "",
     {},
     {kJobWorker}},
    {"BesideAnotherGate",
     "job_create",
     kSixteen,
     R"({"spec":{"template":{"spec":{"schedulingGates":[{"name":"example.com/g"}]}}}})",
     "",
     {kJobWorker},
     {},
     true,
     "example.com/g"},
    {"TurnedOff", "job_create", kSixteen, "{}", "", {}, {kJobWorker}, false}};

class SchedulingGates : public testing::TestWithParam<GateCase> {};

TEST_P(SchedulingGates, AreOnThePodsOfTheGangAlone) {
  const GateCase& one = GetParam();
  const json object = asking(one.captured, one.annotations, one.merge_patch);
  Options options;
  options.scheduler = one.scheduler;
  options.gates = one.gates;
  const Mutation mutation = mutate(object, "ns", options, nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json after = applied(object, mutation);
  const auto gates = [&](const char* at) {
    return after.at(json::json_pointer(at)).at("spec").value("schedulingGates", json::array());
  };
  json wanted = json::array();
  if (one.beside != nullptr) wanted.push_back({{"name", one.beside}});
  wanted.push_back({{"name", "pinion.dev/gang"}});
  for (const char* at : one.gated) EXPECT_EQ(gates(at), wanted) << at;
  for (const char* at : one.ungated) EXPECT_EQ(gates(at), json::array()) << at;
}

INSTANTIATE_TEST_SUITE_P(Jobs, SchedulingGates, testing::ValuesIn(kGateCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SchedulingGatesOfPods, AreTheirOwnersBusiness) {
  json pod = captured_object("job_pod");
  pod["metadata"].erase("ownerReferences");
  pod["metadata"]["annotations"]["pinion.dev/tasks"] = "4";
  pod["metadata"]["annotations"]["pinion.dev/gang-size"] = "2";
  const Mutation mutation = mutate(pod, "ns", Options(), nodes_there(4));
  ASSERT_NE(mutation.kind, Mutation::Kind::kRefused) << mutation.text;
  EXPECT_EQ(applied(pod, mutation).dump().find("schedulingGates"), std::string::npos);
}

}  // namespace
}  // namespace pinion::cluster::jobs
