// Jobs of every kind from the object that their user writes to cores on the nodes: the webhook
// behind a real API server, pods as the kind's controller makes them, kube-scheduler and agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/crd.h"
#include "tests/e2e/webhook_scene.h"

namespace pinion::e2e {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;
using Pointer = json::json_pointer;

constexpr Crd kIndexedJob{"batch", "v1", "Job", "jobs"};  // none: it is the API server's own

struct Kind {
  const char* name;
  Crd crd;
  const char* body;      // captured
  const char* workers;   // their pods are called JOB, this, and their number
  const char* launcher;  // its pod is called JOB and this; none: ""
  Pointer spec;          // where the number of workers is
  std::vector<const char*> counts;
  Pointer worker_template;
  Pointer launcher_template;
  bool brings_hostfile = false;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

const Kind kMpi{.name = "mpi",
                .crd = kMpiJob,
                .body = "mpijob_create",
                .workers = "-worker-",
                .launcher = "-launcher-",
                .spec = Pointer("/spec/mpiReplicaSpecs/Worker"),
                .counts = {"replicas"},
                .worker_template = Pointer("/spec/mpiReplicaSpecs/Worker/template"),
                .launcher_template = Pointer("/spec/mpiReplicaSpecs/Launcher/template"),
                .brings_hostfile = true};
const Kind kVolcano{.name = "volcano",
                    .crd = kVolcanoJob,
                    .body = "vcjob_create",
                    .workers = "-mpiworker-",
                    .launcher = "-mpimaster-0",
                    .spec = Pointer("/spec/tasks/1"),
                    .counts = {"replicas"},
                    .worker_template = Pointer("/spec/tasks/1/template"),
                    .launcher_template = Pointer("/spec/tasks/0/template")};
const Kind kSet{.name = "jobset",
                .crd = kJobSet,
                .body = "jobset_create",
                .workers = "-workers-",  // that of the Job, too
                .launcher = "-leader-0-0-",
                .spec = Pointer("/spec/replicatedJobs/1/template/spec"),
                .counts = {"parallelism", "completions"},
                .worker_template = Pointer("/spec/replicatedJobs/1/template/spec/template"),
                .launcher_template = Pointer("/spec/replicatedJobs/0/template/spec/template")};
const Kind kIndexed{.name = "indexed",
                    .crd = kIndexedJob,
                    .body = "job_create",
                    .workers = "-",
                    .launcher = "",
                    .spec = Pointer("/spec"),
                    .counts = {"parallelism", "completions"},
                    .worker_template = Pointer("/spec/template"),
                    .launcher_template = Pointer()};

// What is asked for, and what Algorithms 1 and 2 make of it on four nodes.
struct Case {
  const char* job;
  json annotations;
  bool sizes = true;  // those of the captured job: four workers of 4 CPUs, four slots
  int workers = 0;
  int slots = 0;
  int cpus = 0;
  const char* memory = "";
  int groups = 0;
  int parts = 1;  // a JobSet's Jobs of workers
};

const Case kScale{.job = "scale",
                  .annotations = {{"pinion.dev/tasks", "8"},
                                  {"pinion.dev/cpus-per-task", "2"},
                                  {"pinion.dev/memory-per-task", "64Mi"},
                                  {"pinion.dev/profile", "cpu"},
                                  {"pinion.dev/policy", "scale"}},
                  .sizes = false,
                  .workers = 4,
                  .slots = 2,
                  .cpus = 4,
                  .memory = "128Mi",
                  .groups = 4};
const Case kGranularity{.job = "fine",
                        .annotations = {{"pinion.dev/tasks", "16"},
                                        {"pinion.dev/memory-per-task", "64Mi"},
                                        {"pinion.dev/profile", "memory"},
                                        {"pinion.dev/policy", "granularity"}},
                        .sizes = false,
                        .workers = 16,
                        .slots = 1,
                        .cpus = 1,
                        .memory = "64Mi",
                        .groups = 4};
const Case kStated{.job = "stated",
                   .annotations = {{"pinion.dev/tasks", "16"}, {"pinion.dev/task-groups", "2"}},
                   .workers = 4,
                   .slots = 4,
                   .cpus = 4,
                   .memory = "1Gi",
                   .groups = 2};
// Ten tasks on four workers: three, three, two and two.
const Case kUneven{.job = "uneven",
                   .annotations = {{"pinion.dev/tasks", "10"},
                                   {"pinion.dev/memory-per-task", "64Mi"},
                                   {"pinion.dev/profile", "memory"},
                                   {"pinion.dev/policy", "scale"}},
                   .sizes = false,
                   .workers = 4,
                   .slots = 3,
                   .cpus = 3,
                   .memory = "192Mi",
                   .groups = 4};

// Of two Jobs with three workers each, which are counted through.
const Case kParts{.job = "parts",
                  .annotations = {{"pinion.dev/tasks", "6"},
                                  {"pinion.dev/memory-per-task", "64Mi"},
                                  {"pinion.dev/profile", "cpu"},
                                  {"pinion.dev/policy", "granularity"}},
                  .sizes = false,
                  .workers = 6,
                  .slots = 1,
                  .cpus = 1,
                  .memory = "64Mi",
                  .groups = 4,
                  .parts = 2};

const json& first_container(const json& pod) {
  return json_at(pod, "spec", "containers").at(0);
}

std::string annotation(const json& pod, const char* name) {
  return json_text(pod, "metadata", "annotations", name);
}

// "" where there is no such variable.
std::string variable(const json& pod, const std::string& name) {
  for (const json& one : json_at(first_container(pod), "env")) {
    if (json_text(one, "name") == name) return json_text(one, "value");
  }
  return "";
}

bool mounts(const json& pod, const std::string& map) {
  const json& volumes = json_at(pod, "spec", "volumes");
  return std::any_of(volumes.begin(), volumes.end(), [&](const json& volume) {
    return json_text(volume, "configMap", "name") == map;
  });
}

class Jobs : public WebhookScene {
 protected:
  // The job as it is stored.
  json create(const Kind& kind, const Case& asked) {
    json job = captured(kind.body, asked.job);
    job["metadata"]["annotations"] = asked.annotations;
    if (!asked.sizes) {
      for (const char* count : kind.counts) job[kind.spec].erase(count);
      job[kind.worker_template / "spec" / "containers" / 0].erase("resources");
      job["spec"].erase("slotsPerWorker");
      job["spec"].erase("minAvailable");
    }
    if (asked.parts > 1) job["spec"]["replicatedJobs"][1]["replicas"] = asked.parts;
    return create(path_of(kind.crd), job);
  }
  json create(const std::string& path, const json& object) {
    auto made = admin().api().create(path, object);
    EXPECT_TRUE(ok(made));
    return made ? *std::move(made) : json::object();
  }
  // Pods, or Jobs of which the real controller makes pods. An Indexed Job's has made them already.
  void make(const std::vector<json>& objects) {
    for (const json& object : objects) {
      create(object.at("kind") == "Pod" ? "/api/v1/namespaces/default/pods" : path_of(kIndexedJob),
             object);
    }
  }
  void make_launcher(const Kind& kind, const json& job) {
    if (*kind.launcher != '\0') make(launchers_of(job));
  }
  void make_workers(const Kind& kind, const json& job) {
    if (*kind.launcher != '\0') make(workers_of(job));
  }

  std::vector<std::string> workers(const Kind& kind, const Case& asked) {
    return pods_called(std::string(asked.job) + kind.workers, asked.workers);
  }
  std::vector<std::string> launcher(const Kind& kind, const Case& asked) {
    if (*kind.launcher == '\0') return {};
    return pods_called(std::string(asked.job) + kind.launcher, 1);
  }
  // The number of the worker that is called so.
  static int index_of(const std::string& pod, const Kind& kind, const Case& asked) {
    const char* at = pod.data() + std::string(asked.job + std::string(kind.workers)).size();
    int index = -1;
    at = std::from_chars(at, pod.data() + pod.size(), index).ptr;
    if (std::string(kind.name) != kSet.name) return index;
    const int part = index;
    (void)std::from_chars(at + 1, pod.data() + pod.size(), index);
    return part * asked.workers / asked.parts + index;
  }

  void expect_cut(const Kind& kind, const Case& asked, const json& job) {
    SCOPED_TRACE(asked.job);
    for (const char* count : kind.counts) {
      EXPECT_EQ(job.at(kind.spec / count), asked.workers / asked.parts);
    }
    const json& pod = job.at(kind.worker_template);
    EXPECT_EQ(annotation(pod, "pinion.dev/gang-size"), std::to_string(asked.workers));
    EXPECT_EQ(annotation(pod, "pinion.dev/task-groups"), std::to_string(asked.groups));
    EXPECT_EQ(annotation(pod, "pinion.dev/role"), "worker");
    EXPECT_EQ(annotation(pod, "pinion.dev/task-group"), "") << "it differs from pod to pod";
    EXPECT_EQ(json_at(pod, "spec", "schedulingGates"),
              json::array({{{"name", "pinion.dev/gang"}}}));
    const json amounts = {{"cpu", std::to_string(asked.cpus)}, {"memory", asked.memory}};
    const json wanted = {{"limits", amounts}, {"requests", amounts}};
    EXPECT_EQ(json_at(first_container(pod), "resources"), wanted);
    if (std::string(kind.name) == kMpi.name) {
      EXPECT_EQ(json_at(job, "spec", "slotsPerWorker"), asked.slots);
    }
    if (std::string(kind.name) == kVolcano.name) {
      EXPECT_EQ(json_at(job, "spec", "minAvailable"), asked.workers + 1);
    }
    if (*kind.launcher == '\0') return;
    const json& first = job.at(kind.launcher_template);
    const json before = captured(kind.body, asked.job).at(kind.launcher_template);
    EXPECT_EQ(json_at(first_container(first), "resources"),
              json_at(first_container(before), "resources"));
    EXPECT_THAT(annotation(first, "pinion.dev/role"), testing::Not(testing::AnyOf("", "worker")));
    EXPECT_EQ(annotation(first, "pinion.dev/gang-size"), "");
  }

  // All have their cores, and are told the group that Algorithm 3 puts them into.
  void expect_workers(const Kind& kind, const Case& asked) {
    SCOPED_TRACE(asked.job);
    const auto all = pods().now();
    const auto held = nodes().held();
    for (const std::string& name : workers(kind, asked)) {
      ASSERT_TRUE(held.contains(name)) << name;
      EXPECT_EQ(held.at(name).cpus.count(), asked.cpus) << name;
      const int group = index_of(name, kind, asked) % asked.groups;
      EXPECT_EQ(annotation(all.at(name), "pinion.dev/task-group"),
                std::string(asked.job) + "-" + std::to_string(group))
          << name;
    }
  }
  // Each group is on one node, and no other group of the job is there.
  void expect_groups_apart(const Kind& kind, const Case& asked) {
    SCOPED_TRACE(asked.job);
    std::map<int, std::set<std::string>> nodes;
    for (const std::string& name : workers(kind, asked)) {
      nodes[index_of(name, kind, asked) % asked.groups].insert(node_of_pod(name));
    }
    EXPECT_THAT(nodes, SizeIs(asked.groups));
    std::set<std::string> taken;
    for (const auto& [group, its] : nodes) {
      EXPECT_THAT(its, SizeIs(1)) << "group " << group;
      for (const std::string& node : its) EXPECT_TRUE(taken.insert(node).second) << node;
    }
  }

  // With the names that the workers' pods really have, in their order.
  void expect_hostfile(const Kind& kind, const Case& asked, const json& job,
                       const std::string& domain, const std::vector<int>& slots,
                       const std::vector<std::string>& launchers) {
    SCOPED_TRACE(asked.job);
    std::map<int, std::string> lines;
    const auto all = pods().now();
    for (const std::string& name : workers(kind, asked)) {
      const int index = index_of(name, kind, asked);
      const json& pod = all.at(name);
      lines[index] = json_text(pod, "spec", "hostname") + "." +
                     json_text(pod, "spec", "subdomain") + domain +
                     " slots=" + std::to_string(slots.at(static_cast<std::size_t>(index))) + "\n";
    }
    std::string text;
    for (const auto& [index, line] : lines) text += line;
    const std::string name = std::string(asked.job) + "-pinion";
    Collection maps(admin().api(), "/api/v1/namespaces/default/configmaps");
    ASSERT_TRUE(maps.wait_for(name, [](const json&) { return true; }));
    const json map = maps.now().at(name);
    EXPECT_EQ(json_text(map, "data", "hostfile"), text);
    const json& owner = json_at(map, "metadata", "ownerReferences").at(0);
    EXPECT_EQ(json_text(owner, "uid"), json_text(job, "metadata", "uid"));
    for (const std::string& pod : launchers) {
      EXPECT_TRUE(mounts(all.at(pod), name)) << pod;
      EXPECT_EQ(variable(all.at(pod), "OMPI_MCA_orte_default_hostfile"), "/etc/pinion/hostfile");
    }
  }
};

class JobsOfKind : public Jobs, public testing::WithParamInterface<Kind> {};

// Two of the four workers have room, or three; the launcher has, and runs without them.
TEST_P(JobsOfKind, StartWholeOrNotAtAll) {
  const Kind& kind = GetParam();
  const auto fillers = fill_cores({15, 15, 15, 15, 15, 15, 12, 8});  // holes of 4, 8 and one
  ASSERT_TRUE(run(fillers));
  const json job = create(kind, kScale);
  expect_cut(kind, kScale, job);
  make_launcher(kind, job);
  ASSERT_TRUE(run(launcher(kind, kScale)));
  make_workers(kind, job);
  const auto all = workers(kind, kScale);
  ASSERT_TRUE(wait_in_vain(all));
  EXPECT_TRUE(told(all, "needs 4 x 4 CPUs"));
  remove(fillers);
  ASSERT_TRUE(run(all));
  expect_workers(kind, kScale);
  if (*kind.launcher != '\0' && !kind.brings_hostfile) {
    expect_hostfile(kind, kScale, job, "", {2, 2, 2, 2}, launcher(kind, kScale));
  }
}

// A launcher that comes after its workers finds them running.
TEST_P(JobsOfKind, LandInTheirTaskGroups) {
  const Kind& kind = GetParam();
  for (const Case& asked : {kGranularity, kStated}) {
    const json job = create(kind, asked);
    expect_cut(kind, asked, job);
    make_workers(kind, job);
    ASSERT_TRUE(run(workers(kind, asked))) << asked.job;
    expect_workers(kind, asked);
    expect_groups_apart(kind, asked);
    make_launcher(kind, job);
    EXPECT_TRUE(run(launcher(kind, asked))) << asked.job;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JobsOfKind, testing::Values(kMpi, kVolcano, kSet, kIndexed),
                         [](const auto& one) { return std::string(one.param.name); });

// The operator's own hostfile has equal slots, and its variables win over the template's: those of
// the launcher's pod are changed when it is created.
TEST_F(Jobs, AnMpiJobThatIsSplitUnevenlyHasItsLauncherSentToOurHostfile) {
  const json job = create(kMpi, kUneven);
  expect_cut(kMpi, kUneven, job);
  const auto made = launchers_of(job);
  EXPECT_EQ(variable(made.at(0).at("spec").at("template"), "OMPI_MCA_orte_default_hostfile"),
            "/etc/mpi/hostfile")
      << "as the operator makes it";
  make(made);
  make_workers(kMpi, job);
  ASSERT_TRUE(run(workers(kMpi, kUneven)));
  ASSERT_TRUE(run(launcher(kMpi, kUneven)));
  expect_workers(kMpi, kUneven);
  expect_groups_apart(kMpi, kUneven);
  expect_hostfile(kMpi, kUneven, job, ".default.svc", {3, 3, 2, 2}, launcher(kMpi, kUneven));
}

// Intel MPI's variables have other names, and one of them says one number for all hosts.
TEST_F(Jobs, AnMpiJobOnIntelMpiIsSentToOurMachinefile) {
  json job = captured(kMpi.body, kUneven.job);
  job["metadata"]["annotations"] = kUneven.annotations;
  job["spec"]["mpiImplementation"] = "Intel";
  job["spec"].erase("slotsPerWorker");
  json& worker = job["spec"]["mpiReplicaSpecs"]["Worker"];
  worker.erase("replicas");
  worker["template"]["spec"]["containers"][0].erase("resources");
  make(launchers_of(create(path_of(kMpiJob), job)));
  const auto names = launcher(kMpi, kUneven);
  ASSERT_TRUE(run(names));
  const json pod = pods().now().at(names.front());
  EXPECT_EQ(variable(pod, "I_MPI_HYDRA_HOST_FILE"), "/etc/pinion/machinefile");
  EXPECT_EQ(variable(pod, "I_MPI_PERHOST"), "");
}

// The launcher is one of the gang where it works, and the first of its workers.
TEST_F(Jobs, AnMpiJobWhoseLauncherWorksWaitsForIt) {
  json job = captured(kMpi.body, "joint");
  job["metadata"]["annotations"] = kScale.annotations;
  job["spec"]["runLauncherAsWorker"] = true;
  job["spec"].erase("slotsPerWorker");
  for (const char* role : {"Launcher", "Worker"}) {
    json& replicas = job["spec"]["mpiReplicaSpecs"][role];
    replicas.erase("replicas");
    replicas["template"]["spec"]["containers"][0].erase("resources");
  }
  const json stored = create(path_of(kMpiJob), job);
  EXPECT_EQ(stored.at(kMpi.spec / "replicas"), 3);
  make(workers_of(stored));
  std::vector<std::string> names = pods_called("joint-worker-", 3);
  ASSERT_TRUE(wait_in_vain(names));
  EXPECT_TRUE(told(names, "3 of 4 pods of its gang exist"));
  make(launchers_of(stored));
  names.insert(names.begin(), pods_called("joint-launcher-", 1).at(0));
  ASSERT_TRUE(run(names));
  std::set<std::string> taken;
  const auto all = pods().now();
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(nodes().held().at(names[i]).cpus.count(), 4) << names[i];
    EXPECT_EQ(annotation(all.at(names[i]), "pinion.dev/task-group"), "joint-" + std::to_string(i))
        << names[i];
    taken.insert(node_of_pod(names[i]));
  }
  EXPECT_THAT(taken, SizeIs(4)) << "each is a group of its own";
}

// The workers of a JobSet may be several Jobs, and are counted through.
TEST_F(Jobs, AJobSetInPartsIsOneGang) {
  const json job = create(kSet, kParts);
  expect_cut(kSet, kParts, job);
  make_workers(kSet, job);
  ASSERT_TRUE(run(workers(kSet, kParts)));
  expect_workers(kSet, kParts);
  expect_groups_apart(kSet, kParts);
  expect_hostfile(kSet, kParts, job, "", {1, 1, 1, 1, 1, 1}, {});
}

// Pods that nobody makes but their user: each is a worker, and says how many there are.
TEST_F(Jobs, PodsByThemselvesAreGivenTheirResourcesAndStartTogether) {
  const auto pod_named = [](const std::string& name, json annotations) {
    json pod = pod_object({.name = name});
    pod["spec"]["containers"][0].erase("resources");
    annotations["pinion.dev/job"] = "pods";
    annotations["pinion.dev/gang-size"] = "3";
    annotations["pinion.dev/tasks"] = "4";
    annotations["pinion.dev/memory-per-task"] = "64Mi";
    pod["metadata"]["annotations"] = std::move(annotations);
    return pod;
  };
  const std::vector<std::string> names{"pods-0", "pods-1", "pods-2"};
  make({pod_named(names[0], json::object()), pod_named(names[1], json::object())});
  ASSERT_TRUE(wait_in_vain({names[0], names[1]}));
  make({pod_named(names[2], json::object())});
  ASSERT_TRUE(run(names));
  for (const std::string& name : names) EXPECT_EQ(nodes().held().at(name).cpus.count(), 4);
}

// Which of the groups a pod joins is the extender's to say.
TEST_F(Jobs, PodsByThemselvesAreCutIntoTaskGroups) {
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back("own-" + std::to_string(i));
    add(PodShape{.name = names.back(),
                 .milli_cpus = 4000,
                 .annotations = {{"pinion.dev/job", "own"},
                                 {"pinion.dev/gang-size", "8"},
                                 {"pinion.dev/task-groups", "2"}}});
  }
  ASSERT_TRUE(run(names));
  std::map<std::string, std::set<std::string>> nodes_of_groups;
  const auto all = pods().now();
  for (const std::string& name : names) {
    nodes_of_groups[annotation(all.at(name), "pinion.dev/task-group")].insert(node_of_pod(name));
  }
  EXPECT_THAT(nodes_of_groups, SizeIs(2));
  std::set<std::string> taken;
  for (const auto& [group, its] : nodes_of_groups) {
    EXPECT_THAT(its, SizeIs(1)) << group;
    taken.insert(its.begin(), its.end());
  }
  EXPECT_THAT(taken, SizeIs(2));
}

}  // namespace
}  // namespace pinion::e2e
