// What a call of filter costs on the wire: reading its body and writing an answer that takes every
// second node, for 5,000 node names and for 400 node objects of some 9 kB each; beside the same
// with nlohmann's document. wire_go/ measures the same bodies with Go's encoding/json. And what one
// event of a watch of pods costs, from its line to the pod scheduler's pod.
//
//   extender_wire_bench [FOLDER]     leaves the bodies there, names.json and objects.json
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/known_objects.h"
#include "cluster/extender/kube/watch_decoder.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster::wire {
namespace {

using nlohmann::json;

constexpr int kNames = 5000;
constexpr int kObjects = 400;
constexpr auto kReason = "pinion: no NUMA node has 8 free cores";

std::string node_name(int number) {
  return "cluster-a-node-" + std::to_string(10'000 + number);
}

json pod() {
  json amounts{{"cpu", "8"}, {"memory", "16Gi"}, {"nvidia.com/gpu", "2"}};
  return {{"metadata",
           {{"name", "worker-17"},
            {"namespace", "default"},
            {"uid", "7870bd56-ea79-4ce5-b63e-dc0fbed7f573"},
            {"annotations", {{"pinion.dev/job", "lu"}, {"pinion.dev/align", "numa"}}}}},
          {"spec",
           {{"containers",
             {{{"name", "rank"}, {"resources", {{"requests", amounts}, {"limits", amounts}}}}}},
            {"schedulerName", "default-scheduler"}}},
          {"status", {{"phase", "Pending"}, {"qosClass", "Guaranteed"}}}};
}

// As a running pod of a job is written by the API server: some 8 kB, of which a third says who
// wrote which field.
std::string pod_event() {
  json whole = pod();
  json& metadata = whole["metadata"];
  metadata["resourceVersion"] = "81276345";
  metadata["creationTimestamp"] = "2026-11-24T15:21:31Z";
  metadata["labels"] = {{"app", "lu"}, {"batch.kubernetes.io/job-name", "lu"}};
  metadata["ownerReferences"] = {
      {{"kind", "Job"}, {"name", "lu"}, {"uid", "e0fbed7f573"}, {"controller", true}}};
  json fields;
  for (int i = 0; i < 40; ++i) {
    fields["f:status"]["f:condition-" + std::to_string(i)] = {{".", json::object()},
                                                              {"f:type", json::object()}};
  }
  metadata["managedFields"] = {
      {{"manager", "kubelet"}, {"operation", "Update"}, {"fieldsV1", fields}}};
  json& spec = whole["spec"];
  spec["nodeName"] = node_name(1);
  json& container = spec["containers"][0];
  for (int i = 0; i < 20; ++i) {
    container["env"].push_back(
        {{"name", "VARIABLE_" + std::to_string(i)}, {"value", "/opt/software/of/this/site"}});
    container["volumeMounts"].push_back(
        {{"name", "volume-" + std::to_string(i)}, {"mountPath", "/data"}});
    spec["volumes"].push_back(
        {{"name", "volume-" + std::to_string(i)}, {"configMap", {{"name", "settings"}}}});
  }
  for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
    whole["status"]["conditions"].push_back(
        {{"type", type}, {"status", "True"}, {"lastTransitionTime", "2026-11-24T15:21:31Z"}});
  }
  return json{{"type", "MODIFIED"}, {"object", whole}}.dump() + "\n";
}

// As large as nodes with a few device plugins, some 40 labels and 50 images are.
json node(int number) {
  json labels;
  for (int i = 0; i < 40; ++i) {
    labels["feature.node.kubernetes.io/cpu-" + std::to_string(i)] = "true";
  }
  json images = json::array();
  for (int i = 0; i < 50; ++i) {
    images.push_back({{"names", {"registry.example/group/image-" + std::to_string(i) + ":v1.2.3"}},
                      {"sizeBytes", 123'456'789 + i}});
  }
  json amounts{{"cpu", "128"}, {"memory", "527956160Ki"}, {"nvidia.com/gpu", "8"}, {"pods", "110"}};
  return {{"metadata", {{"name", node_name(number)}, {"uid", "4d529250"}, {"labels", labels}}},
          {"spec", {{"podCIDR", "10.0.0.0/24"}}},
          {"status", {{"capacity", amounts}, {"allocatable", amounts}, {"images", images}}}};
}

std::string names_body() {
  json names = json::array();
  for (int i = 0; i < kNames; ++i) names.push_back(node_name(i));
  return json{{"Pod", pod()}, {"Nodes", nullptr}, {"NodeNames", names}}.dump();
}

std::string objects_body() {
  json items = json::array();
  for (int i = 0; i < kObjects; ++i) items.push_back(node(i));
  return json{{"Pod", pod()},
              {"Nodes", {{"metadata", json::object()}, {"items", items}}},
              {"NodeNames", nullptr}}
      .dump();
}

void pinion_reads(benchmark::State& state, const std::string& body) {
  Reader reader;
  for (auto _ : state) {
    const auto ask = reader.filter(body);
    if (!ask) state.SkipWithError("not read");
    benchmark::DoNotOptimize(ask->names.data());
  }
}

FilterAnswer half(const FilterAsk& ask) {
  FilterAnswer answer;
  answer.reasons = {kReason};
  for (std::size_t i = 0; i < ask.names.size(); ++i) {
    if (i % 2 == 0) {
      answer.nodes.push_back(i);
    } else {
      answer.failed.push_back({.node = i, .reason = 0});
    }
  }
  return answer;
}

void pinion_reads_and_answers(benchmark::State& state, const std::string& body) {
  Reader reader;
  for (auto _ : state) {
    const auto ask = reader.filter(body);
    if (!ask) state.SkipWithError("not read");
    benchmark::DoNotOptimize(to_json(half(*ask), *ask).data());
  }
}

void nlohmann_reads(benchmark::State& state, const std::string& body) {
  for (auto _ : state) {
    const json document = json::parse(body);
    benchmark::DoNotOptimize(document.size());
  }
}

void nlohmann_reads_and_answers(benchmark::State& state, const std::string& body) {
  for (auto _ : state) {
    json document = json::parse(body);
    const bool names = !document["NodeNames"].is_null();
    json& nodes = names ? document["NodeNames"] : document["Nodes"]["items"];
    json taken = json::array();
    json failed = json::object();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i % 2 == 0) {
        taken.push_back(std::move(nodes[i]));
      } else {
        const json& name = names ? nodes[i] : nodes[i]["metadata"]["name"];
        failed[name.get<std::string>()] = kReason;
      }
    }
    json answer{{"FailedNodes", std::move(failed)}};
    if (names) {
      answer["NodeNames"] = std::move(taken);
    } else {
      answer["Nodes"] = {{"items", std::move(taken)}};
    }
    benchmark::DoNotOptimize(answer.dump().data());
  }
}

// Tells of one pod again and again, each time in another version.
void follow_pod(benchmark::State& state, bool detour) {
  const std::string event = pod_event();
  kube::WatchDecoder decoder;
  kube::KnownObjects known;
  Reader reader;
  const auto take = [&](const kube::WatchEvent& seen) -> Status {
    (void)known.seen(seen.object);
    // Beside it, the way over a document of nlohmann's that is written again.
    const auto view = detour ? reader.pod(kube::json_dump(json::parse(seen.object.json)))
                             : reader.pod(seen.object.json);
    if (!view) return failure(view.error());
    benchmark::DoNotOptimize(pod_of(*view).containers.data());
    return {};
  };
  for (auto _ : state) {
    if (!decoder.feed(event, take)) state.SkipWithError("not read");
  }
  state.counters["bytes"] = static_cast<double>(event.size());
}

void add_benchmarks(const std::string& name, const std::string& body) {
  const auto add = [&](const std::string& what, auto call) {
    benchmark::RegisterBenchmark((what + "/" + name).c_str(), call, body)
        ->Unit(benchmark::kMicrosecond);
  };
  add("pinion_reads", pinion_reads);
  add("nlohmann_reads", nlohmann_reads);
  add("pinion_reads_and_answers", pinion_reads_and_answers);
  add("nlohmann_reads_and_answers", nlohmann_reads_and_answers);
}

}  // namespace
}  // namespace pinion::cluster::wire

int main(int argc, char** argv) {
  using namespace pinion::cluster::wire;
  benchmark::Initialize(&argc, argv);  // takes its own options off
  const std::map<std::string, std::string> bodies{{"names", names_body()},
                                                  {"objects", objects_body()}};
  for (const auto& [name, body] : bodies) {
    add_benchmarks(name, body);
    if (argc != 2) continue;
    std::ofstream file(std::string(argv[1]) + "/" + name + ".json", std::ios::binary);
    file << body << std::flush;
    if (!file) {
      std::fprintf(stderr, "extender_wire_bench: cannot write into %s\n", argv[1]);
      return 1;
    }
  }
  for (const bool detour : {false, true}) {
    benchmark::RegisterBenchmark(detour ? "nlohmann_follows/pod" : "pinion_follows/pod", follow_pod,
                                 detour)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
