// What the scheduler's calls cost from the bytes of a body to the bytes of an answer, on the way
// that the server takes (wire::Reader, Placing, to_json), without sockets: 5,000 nodes of 128 CPUs,
// two thirds full, no two machines alike. Names of all nodes, or of the 500 that kube-scheduler
// looks for at that size by itself (percentageOfNodesToScore: 50 - nodes / 125, here 10 %).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cluster/core/task_groups.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/service/placing.h"
#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"
#include "tests/bench/busy_fleet.h"
#include "tests/bench/percentile.h"
#include "tests/support/no_cluster.h"

namespace pinion::cluster {
namespace {

using bench::Percentile;
using nlohmann::json;

constexpr int kNodes = 5000;
constexpr int kMembers = 256;

PodSchedulerLimits limits_of(int steps) {
  PodSchedulerLimits limits;
  limits.scheduler.plan_steps = steps;
  return limits;
}

// The product behind its server.
class Service {
 public:
  explicit Service(int steps)
      : placing_(
            cluster_, policy::Defaults(), limits_of(steps), [this] { return now_ms_; },
            [](const Note&) {}) {
    bench::report_busy_nodes(kNodes, 1, kNodes, [&](NodeReport report) {
      placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
        if (!scheduler.report(std::move(report), now)) std::abort();
        return 0;
      });
    });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::string filter(std::string body) {
    const auto ask = reader_.filter(std::move(body));
    return ask ? to_json(placing_.filter(*ask), *ask) : std::string();
  }
  std::string prioritize(std::string body) {
    const auto ask = reader_.filter(std::move(body));
    return ask ? to_json(placing_.prioritize(*ask), *ask) : std::string();
  }
  // As the API server tells it.
  void seen(const json& pod) {
    const auto view = reader_.pod(pod.dump());
    if (!view) std::abort();
    placing_.tell([pod = pod_of(*view)](PodScheduler& scheduler, std::int64_t now) {
      return scheduler.seen(pod, now);
    });
  }
  void gone(const std::string& uid) {
    placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
      scheduler.gone(uid, now);
      return 0;
    });
  }
  [[nodiscard]] std::size_t promises() const {
    return placing_.look(
        [](const PodScheduler& scheduler) { return scheduler.fleet().promises(); });
  }

 private:
  NoCluster cluster_;
  std::int64_t now_ms_ = 1;
  Placing placing_;
  wire::Reader reader_;
};

Service& service(int steps) {
  static std::map<int, Service> services;
  return services.try_emplace(steps, steps).first->second;
}

json container(const std::string& name, int cpus) {
  const json amounts{{"cpu", std::to_string(cpus)}, {"memory", std::to_string(cpus) + "Gi"}};
  return {{"name", name}, {"resources", {{"requests", amounts}, {"limits", amounts}}}};
}

// Another one each time: a pod that is gone does not come back.
json new_pod(const std::vector<int>& containers, const json& annotations) {
  static int made = 0;
  const std::string text = std::to_string(++made);
  json all = json::array();
  for (const int cpus : containers)
    all.push_back(container("c" + std::to_string(all.size()), cpus));
  return {{"metadata",
           {{"name", "worker-" + text},
            {"namespace", "default"},
            {"uid", "7870bd56-ea79-4ce5-b63e-" + text},
            {"annotations", annotations}}},
          {"spec", {{"containers", all}, {"schedulerName", "default-scheduler"}}},
          {"status", {{"phase", "Pending"}, {"qosClass", "Guaranteed"}}}};
}

std::string uid_of(const json& pod) {
  return pod["metadata"]["uid"];
}

// Every k-th node, as the scheduler walks over all of them.
json names(int count) {
  json result = json::array();
  for (int i = 0; i < count; ++i) result.push_back("node-" + std::to_string(i * (kNodes / count)));
  return result;
}

std::string body_of(const json& pod, const json& names) {
  return json{{"Pod", pod}, {"Nodes", nullptr}, {"NodeNames", names}}.dump();
}

// Filter with so many names, then prioritize with those that it left, as the scheduler does.
void single(benchmark::State& state, const std::vector<int>& containers,
            const json& annotations = json::object()) {
  Service& it = service(0);
  const json asked = new_pod(containers, annotations);
  const std::string body = body_of(asked, names(static_cast<int>(state.range(0))));
  const json answer = json::parse(it.filter(body));
  const json& left = answer["NodeNames"];
  if (left.empty()) {
    state.SkipWithError(answer.dump().substr(0, 300).c_str());
    return;
  }
  const std::string second = body_of(asked, left);
  Percentile filter;
  Percentile prioritize;
  Percentile both;
  for (auto _ : state) {
    std::string first_copy = body;
    std::string second_copy = second;
    both.turn([&] {
      filter.turn([&] { benchmark::DoNotOptimize(it.filter(std::move(first_copy))); });
      prioritize.turn([&] { benchmark::DoNotOptimize(it.prioritize(std::move(second_copy))); });
    });
  }
  filter.report(state, "filter_");
  prioritize.report(state, "prioritize_");
  both.report(state, "both_");
  state.counters["left"] = static_cast<double>(left.size());
  it.gone(uid_of(asked));
}

void single_8_cpus(benchmark::State& state) {
  single(state, {8});
}
BENCHMARK(single_8_cpus)->Arg(5000)->Arg(500)->Unit(benchmark::kMicrosecond);

// More than most nodes have free in one NUMA node, and it insists on one.
void single_32_cpus(benchmark::State& state) {
  single(state, {32}, {{"pinion.dev/strength", "required"}});
}
BENCHMARK(single_32_cpus)->Arg(5000)->Arg(500)->Unit(benchmark::kMicrosecond);

void single_with_two_containers(benchmark::State& state) {
  single(state, {8, 4});
}
BENCHMARK(single_with_two_containers)->Arg(5000)->Arg(500)->Unit(benchmark::kMicrosecond);

// Most nodes have no NUMA node with room for both.
void single_with_two_that_stay_in_numa_nodes(benchmark::State& state) {
  single(state, {20, 20}, {{"pinion.dev/strength", "required"}});
}
BENCHMARK(single_with_two_that_stay_in_numa_nodes)
    ->Arg(5000)
    ->Arg(500)
    ->Unit(benchmark::kMicrosecond);

// One half of the members asks for `large` CPUs, the other for `small`, in 64 groups.
std::vector<json> gang(int large, int small) {
  Gang gang(kMembers);
  for (int i = 0; i < kMembers; ++i) gang[i].cpus = i < kMembers / 2 ? large : small;
  join_groups("lu", 64, {}, gang);
  std::vector<json> members;
  for (const auto& request : gang) {
    members.push_back(new_pod({request.cpus}, {{"pinion.dev/job", "lu"},
                                               {"pinion.dev/gang-size", std::to_string(kMembers)},
                                               {"pinion.dev/task-group", request.task_group}}));
  }
  return members;
}

// The first question about a gang whose pods the API server has told of: it plans and promises all
// of them. And the last one, which finds its place kept.
void plan_gang_of_256(benchmark::State& state, int large, int small) {
  Service& it = service(static_cast<int>(state.range(1)));
  const json sent = names(static_cast<int>(state.range(0)));
  Percentile first;
  Percentile last;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<json> members = gang(large, small);
    for (const json& member : members) it.seen(member);
    std::string first_body = body_of(members.front(), sent);
    std::string last_body = body_of(members.back(), sent);
    state.ResumeTiming();
    first.turn([&] { benchmark::DoNotOptimize(it.filter(std::move(first_body))); });
    const bool planned = it.promises() == kMembers;
    last.turn([&] { benchmark::DoNotOptimize(it.filter(std::move(last_body))); });
    state.PauseTiming();
    for (const json& member : members) it.gone(uid_of(member));
    state.ResumeTiming();
    if (!planned || it.promises() != 0) {
      state.SkipWithError("not planned, or not given back");
      break;
    }
  }
  first.report(state, "first_");
  last.report(state, "last_");
}

// (names sent, steps of the search)
void gang_cases(benchmark::internal::Benchmark* bench) {
  for (const int steps : {0, 500, 1000, 2000}) bench->Args({kNodes, steps});
  bench->Args({500, 500})->Iterations(30)->Unit(benchmark::kMillisecond);
}

void gang_256_alike(benchmark::State& state) {
  plan_gang_of_256(state, 8, 8);
}
BENCHMARK(gang_256_alike)->Apply(gang_cases);

void gang_256_uneven(benchmark::State& state) {
  plan_gang_of_256(state, 10, 8);
}
BENCHMARK(gang_256_uneven)->Apply(gang_cases);

}  // namespace
}  // namespace pinion::cluster
