// Elastic jobs of kinds whose operators are not to be had here: their size is what is asked for.
#include <set>
#include <string>

#include "tests/e2e/controllers.h"
#include "tests/e2e/crd.h"
#include "tests/e2e/elastic_scene.h"

namespace pinion::e2e {
namespace {

using Pointer = json::json_pointer;

struct OwnKind {
  const char* name;
  Crd crd;
  const char* body;  // captured, with workers of 4 CPUs
  Pointer size;      // its workers
  Pointer running;   // how many of them run, as its operator says
};
void PrintTo(const OwnKind& kind, std::ostream* out) {
  *out << kind.name;
}

const OwnKind kMpi{.name = "mpi",
                   .crd = kMpiJob,
                   .body = "mpijob_create",
                   .size = Pointer("/spec/mpiReplicaSpecs/Worker/replicas"),
                   .running = Pointer("/status/replicaStatuses/Worker/active")};
const OwnKind kVolcano{.name = "volcano",
                       .crd = kVolcanoJob,
                       .body = "vcjob_create",
                       .size = Pointer("/spec/tasks/1/replicas"),
                       .running = Pointer("/status/taskStatusCount/mpiworker/phase/Running")};

class ElasticKinds : public Elastic, public testing::WithParamInterface<OwnKind> {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override { return {}; }

  [[nodiscard]] static std::string path() { return path_of(GetParam().crd) + "/wave"; }
  json now() {
    auto object = admin().api().get(path());
    return object ? *object : json::object();
  }
  void change(const json& patch) {
    EXPECT_TRUE(ok(admin().api().patch(path(), kube::PatchKind::kMerge, patch)));
  }

  // What its operator does: there are as many workers as it says, and those that run are counted.
  void operate() {
    const json job = now();
    const auto there = pods().now();
    std::set<std::string> wanted;
    int running = 0;
    for (const json& pod : workers_of(job)) {
      const std::string name = kube::json_text(pod, "metadata", "name");
      wanted.insert(name);
      const auto found = there.find(name);
      if (found == there.end()) {
        (void)admin().api().create("/api/v1/namespaces/default/pods", pod);  // or it has been made
      } else if (kube::json_text(found->second, "status", "phase") == "Running") {
        ++running;
      }
    }
    for (const auto& [name, pod] : there) {
      if (!wanted.contains(name)) (void)admin().remove_pod(name);
    }
    if (job.value(GetParam().running, 0) == running) return;
    json counted;
    counted[GetParam().running] = running;
    change(counted);
  }
  // It is told to have so many workers, they run, and nothing of a rescale is under way.
  bool becomes(int workers) {
    return lab::eventually(lab::Milliseconds(kPatience), [&] {
      operate();
      const json job = now();
      return job.value(GetParam().size, 0) == workers &&
             job.value(GetParam().running, 0) == workers &&
             kube::json_text(job, "metadata", "annotations", "pinion.dev/wanted-workers").empty();
    });
  }
};

TEST_P(ElasticKinds, HaveTheSizeThatIsWanted) {
  start_nodes(1);
  ASSERT_TRUE(ok(add_crd(admin().api(), GetParam().crd)));
  ASSERT_TRUE(ok(admin().let_extender_resize_jobs()));
  start_extender({"--elastic", "elastic"});
  start_scheduler({});
  ASSERT_FALSE(HasFatalFailure());
  nodes().tell_ready();
  const int all = free_cpus();
  json job = captured(GetParam().body, "wave");
  job["metadata"]["labels"] = {{"pinion.dev/elastic", "malleable"}};
  job["metadata"]["annotations"] = sizes(1, 4);
  job[GetParam().size] = 1;
  ASSERT_TRUE(ok(admin().api().create(path_of(GetParam().crd), job)));
  ASSERT_TRUE(becomes(4)) << now();
  EXPECT_TRUE(has_free(all - 4 * 4));
  const json asked = {{"metadata", {{"annotations", {{"pinion.dev/requested-workers", "2"}}}}}};
  change(asked);
  ASSERT_TRUE(becomes(2)) << now();
  EXPECT_TRUE(has_free(all - 2 * 4));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ElasticKinds, testing::Values(kMpi, kVolcano),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::e2e
