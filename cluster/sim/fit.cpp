#include "cluster/sim/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace pinion::sim {
namespace {

constexpr double kNumaNodes = 2;       // of a node
constexpr double kLeastStep = 0.0005;  // of the search, as a share of a parameter
constexpr int kMostRounds = 400;
constexpr double kWish = 0.003;  // weight of what the profile suggests, beside one run's error

double wished_memory(topology::Profile profile) {
  switch (profile) {
    case topology::Profile::kMemory:
      return 0.9;
    case topology::Profile::kNetwork:
      return 0.3;
    case topology::Profile::kCpu:
    case topology::Profile::kNone:
      break;
  }
  return 0.1;
}

struct Which {
  std::size_t experiment = 0;
  std::size_t run = 0;
  bool operator==(const Which&) const = default;
};

double slowdown(const KindModel& kind, double crowd) {
  return 1 - kind.memory + kind.memory * std::max(1.0, crowd);
}

// Seconds that the run takes by the model, beside the others as they were seen.
double modelled(const FitData& data, const Model& model, const Which& which) {
  const SeenRuns& experiment = data.experiments[which.experiment];
  const SeenRun& self = experiment.runs[which.run];
  const KindModel& kind = model.kind(self.kind);
  const double own = data.tasks * kind.memory * model.bandwidth;
  if (experiment.pinned) return kind.seconds * slowdown(kind, own);
  const double slots = data.nodes * kNumaNodes;
  std::set<double> moments;
  for (const SeenRun& other : experiment.runs) {
    for (const double at : {other.start, other.start + other.run}) {
      if (at > self.start) moments.insert(at);
    }
  }
  double rest = kind.seconds * kind.loose;
  double now = self.start;
  const auto slow_at = [&](double at) {
    // Alone on its node, or with one neighbour.
    double sum = 0;
    double neighbours = 0;
    for (std::size_t i = 0; i < experiment.runs.size(); ++i) {
      const SeenRun& other = experiment.runs[i];
      if (i == which.run || other.start > at || other.start + other.run <= at) continue;
      const double both = own + data.tasks * model.kind(other.kind).memory * model.bandwidth;
      sum += slowdown(kind, both / kNumaNodes);
      ++neighbours;
    }
    const double alone = std::max(0.0, slots - 1 - neighbours);
    sum += alone * slowdown(kind, own / kNumaNodes);
    return sum / (neighbours + alone);
  };
  for (const double moment : moments) {
    const double slow = slow_at(now);
    if (rest * slow <= moment - now) return now + rest * slow - self.start;
    rest -= (moment - now) / slow;
    now = moment;
  }
  return now + rest * slow_at(now) - self.start;
}

// What the search makes small.
double cost(const FitData& data, const Model& model, const Which* without) {
  double sum = 0;
  for (std::size_t e = 0; e < data.experiments.size(); ++e) {
    for (std::size_t r = 0; r < data.experiments[e].runs.size(); ++r) {
      const Which which{.experiment = e, .run = r};
      if (without != nullptr && *without == which) continue;
      const double ratio = modelled(data, model, which) / data.experiments[e].runs[r].run;
      sum += std::log(ratio) * std::log(ratio);
    }
  }
  for (const auto& [name, profile] : data.kinds) {
    const double off = model.kind(name).memory - wished_memory(profile);
    sum += kWish * off * off;
  }
  return sum;
}

struct Parameter {
  std::string name;
  double* value = nullptr;
  double least = 0;
  double most = 0;
};

std::vector<Parameter> parameters_of(Model& model) {
  std::vector<Parameter> parameters{{"bandwidth", &model.bandwidth, 0.001, 1}};
  for (auto& [name, kind] : model.kinds) {
    parameters.push_back({"seconds of " + name, &kind.seconds, 1e-3, 1e9});
    parameters.push_back({"memory of " + name, &kind.memory, 0, 1});
    parameters.push_back({"loose of " + name, &kind.loose, 1, 100});
  }
  return parameters;
}

// One parameter after another a little up or down as long as that helps, then in smaller steps.
void search(const FitData& data, Model& model, const Which* without, double step) {
  double best = cost(data, model, without);
  auto parameters = parameters_of(model);
  for (int round = 0; round < kMostRounds && step > kLeastStep; ++round) {
    bool better = false;
    for (const Parameter& parameter : parameters) {
      for (const double by : {step, -step}) {
        const double before = *parameter.value;
        const double size = std::max(before, 0.05);
        *parameter.value = std::clamp(before + by * size, parameter.least, parameter.most);
        const double there = cost(data, model, without);
        if (there < best) {
          best = there;
          better = true;
        } else {
          *parameter.value = before;
        }
      }
    }
    if (!better) step /= 2;
  }
}

// Of one kind, of all experiments.
struct KindRuns {
  int count = 0;
  double seconds = 0;  // together
};

std::map<std::string, KindRuns> runs_by_kind(const FitData& data) {
  std::map<std::string, KindRuns> kinds;
  for (const SeenRuns& experiment : data.experiments) {
    for (const SeenRun& run : experiment.runs) {
      KindRuns& kind = kinds[run.kind];
      ++kind.count;
      kind.seconds += run.run;
    }
  }
  return kinds;
}

Model first_guess(const FitData& data, const std::map<std::string, KindRuns>& kinds) {
  Model model;
  model.bandwidth = 2.0 / data.tasks;
  for (const auto& [name, runs] : kinds) {
    model.kinds[name] = {.seconds = runs.seconds / runs.count,
                         .memory = wished_memory(data.kinds.at(name)),
                         .loose = 1.1};
  }
  return model;
}

std::vector<FitBound> bounds_of(Model& model) {
  std::vector<FitBound> bounds;
  for (const Parameter& parameter : parameters_of(model)) {
    const double value = *parameter.value;
    if (value > parameter.least && value < parameter.most) continue;
    bounds.push_back({.parameter = parameter.name, .value = value});
  }
  return bounds;
}

}  // namespace

Fit fit(const FitData& data) {
  Fit result;
  const auto all = runs_by_kind(data);
  result.model = first_guess(data, all);
  search(data, result.model, nullptr, 0.2);
  result.bounds = bounds_of(result.model);
  int runs = 0;
  int left_out = 0;
  double cross_error = 0;
  for (std::size_t e = 0; e < data.experiments.size(); ++e) {
    std::map<std::string, std::pair<FitError, int>> kinds;
    for (std::size_t r = 0; r < data.experiments[e].runs.size(); ++r) {
      const Which which{.experiment = e, .run = r};
      const SeenRun& run = data.experiments[e].runs[r];
      const double fitted = modelled(data, result.model, which);
      auto& [error, count] = kinds[run.kind];
      error.seen += run.run;
      error.fitted += fitted;
      ++count;
      ++runs;
      result.error += std::abs(fitted / run.run - 1);
      if (all.at(run.kind).count == 1) continue;
      Model without = result.model;
      search(data, without, &which, 0.05);
      const double predicted = modelled(data, without, which);
      error.predicted = error.predicted.value_or(0) + predicted;
      cross_error += std::abs(predicted / run.run - 1);
      ++left_out;
    }
    for (auto& [name, entry] : kinds) {
      auto& [error, count] = entry;
      error.experiment = data.experiments[e].name;
      error.kind = name;
      error.seen /= count;
      error.fitted /= count;
      if (error.predicted) *error.predicted /= count;
      result.by_kind.push_back(error);
    }
  }
  result.error /= runs;
  if (left_out > 0) result.cross_error = cross_error / left_out;
  return result;
}

}  // namespace pinion::sim
