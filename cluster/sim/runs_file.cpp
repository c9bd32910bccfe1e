#include "cluster/sim/runs_file.h"

#include <array>

#include "base/utf8.h"
#include "cluster/sim/yaml_number.h"
#include "topology/words.h"

namespace pinion::sim {
namespace {

constexpr std::array<std::string_view, 4> kRunsKeys{"tasks", "nodes", "kinds", "experiments"};
constexpr std::array<std::string_view, 3> kExperimentKeys{"name", "pinned", "runs"};
constexpr std::array<Word<bool>, 2> kYesNo{{{"true", true}, {"false", false}}};

void read_kinds(YamlEntry& entry, FitData& data) {
  if (!entry["kinds"].IsMap()) {
    entry.fail(entry["kinds"], "kinds must be a map of names to profiles");
    return;
  }
  for (const auto& kind : entry["kinds"]) {
    const std::string word = kind.second.IsScalar() ? kind.second.Scalar() : "";
    const auto profile = value_of(word, topology::kProfileWords);
    if (!profile || !kind.first.IsScalar()) {
      entry.fail(kind.second, "a profile is one of: " + list_of(topology::kProfileWords));
      return;
    }
    data.kinds.insert_or_assign(kind.first.Scalar(), *profile);
  }
}

void read_run(YamlEntry& entry, const YAML::Node& node, const FitData& data, SeenRuns& into) {
  if (!node.IsSequence() || node.size() != 3 || !node[0].IsScalar()) {
    entry.fail(node, "a run is [kind, start, run]");
    return;
  }
  SeenRun run;
  run.kind = node[0].Scalar();
  run.start = number_of(entry, node[1], "start", 0, 1e9);
  run.run = number_of(entry, node[2], "run", 0.001, 1e9);
  if (!data.kinds.contains(run.kind)) {
    entry.fail(node, "kinds does not name " + quoted_value(run.kind));
  }
  into.runs.push_back(std::move(run));
}

Result<SeenRuns> read_experiment(const YAML::Node& node, const FitData& data) {
  if (!node.IsMap()) return yaml_error(node, "an experiment must be a map");
  YamlEntry entry(node, kExperimentKeys);
  SeenRuns experiment;
  experiment.name = entry.text("name");
  experiment.pinned = entry.word("pinned", kYesNo, false);
  if (!entry.has("runs") || !entry["runs"].IsSequence()) {
    return yaml_error(node, "an experiment has a list of runs");
  }
  if (entry["runs"].size() > kMostSeenRuns) return yaml_error(node, "more than 500 runs");
  for (const YAML::Node& run : entry["runs"]) read_run(entry, run, data, experiment);
  if (entry.error()) return failure(*entry.error());
  return experiment;
}

}  // namespace

Result<FitData> parse_runs_file(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<FitData> {
    if (!root.IsMap()) return yaml_error(root, "the file must be a map");
    YamlEntry entry(root, kRunsKeys);
    FitData data;
    data.tasks = entry.number("tasks", 1, 10'000);
    data.nodes = entry.number("nodes", 1, 10'000);
    for (const char* key : {"kinds", "experiments"}) {
      if (!entry.has(key)) return yaml_error(root, "the key '" + std::string(key) + "' is missing");
    }
    read_kinds(entry, data);
    if (entry.error()) return failure(*entry.error());
    if (!entry["experiments"].IsSequence()) {
      return yaml_error(entry["experiments"], "experiments must be a list");
    }
    std::size_t runs = 0;
    for (const YAML::Node& node : entry["experiments"]) {
      auto experiment = read_experiment(node, data);
      if (!experiment) return failure(std::move(experiment.error()));
      runs += experiment->runs.size();
      if (runs > kMostSeenRuns) return yaml_error(node, "more than 500 runs");
      data.experiments.push_back(std::move(*experiment));
    }
    if (runs == 0) return yaml_error(root, "no runs");
    return data;
  });
}

}  // namespace pinion::sim
