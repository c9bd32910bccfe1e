#include "cluster/sim/fit_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "base/cli/input.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/words.h"
#include "cluster/sim/common_options.h"
#include "cluster/sim/model_file.h"
#include "cluster/sim/output_file.h"
#include "cluster/sim/runs_file.h"

namespace pinion::sim {
namespace {

struct FitOptions {
  std::string runs;
  std::string base;
  std::string out;
};

std::string fixed(double value, int digits = 0) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string errors_text(const Fit& fit) {
  std::vector<std::string> single;
  std::vector<Row> rows{{"EXPERIMENT", "KIND", "SEEN", "FITTED", "LEFT OUT"}};
  for (const FitError& error : fit.by_kind) {
    rows.push_back({plain(error.experiment), plain(error.kind), fixed(error.seen, 1),
                    fixed(error.fitted, 1), error.predicted ? fixed(*error.predicted, 1) : "-"});
    if (!error.predicted) single.push_back(plain(error.kind));
  }
  return table(rows, {2, 3, 4}) + "\nmean error of a run: " + fixed(100 * fit.error, 1) +
         " %; of a run that the fit had not seen (leave-one-out): " +
         (fit.cross_error ? fixed(100 * *fit.cross_error, 1) + " %" : "-") + "\n" +
         (single.empty() ? ""
                         : "of one run only, so that nothing predicts it and the second mean is "
                           "without it: " +
                               joined(single, ", ") + "\n");
}

bool has_pinned_run(const FitData& data, const std::string& kind) {
  return std::any_of(data.experiments.begin(), data.experiments.end(),
                     [&](const SeenRuns& experiment) {
                       return experiment.pinned &&
                              std::any_of(experiment.runs.begin(), experiment.runs.end(),
                                          [&](const SeenRun& run) { return run.kind == kind; });
                     });
}

// What the runs do not say.
void warn_of(const FitData& data, const Fit& fit) {
  for (const auto& [name, profile] : data.kinds) {
    if (!fit.model.kinds.contains(name)) {
      std::fprintf(stderr, "pinion-sim: kind %s has no run, so nothing of it is fitted\n",
                   plain(name).c_str());
    } else if (!has_pinned_run(data, name)) {
      std::fprintf(stderr,
                   "pinion-sim: kind %s has no pinned run, which its seconds and loose are told "
                   "apart by: only their product counts\n",
                   plain(name).c_str());
    }
  }
  for (const FitBound& bound : fit.bounds) {
    std::fprintf(stderr, "pinion-sim: %s is %g, an end of its range (fit --help)\n",
                 plain(bound.parameter).c_str(), bound.value);
  }
}

Status run(const FitOptions& options) {
  const auto text = read_text(options.runs);
  if (!text) return failure(text.error());
  const auto data = parse_runs_file(*text);
  if (!data) return failure(data.error().within(options.runs));
  Model base;
  if (!options.base.empty()) {
    const auto known = read_text(options.base);
    if (!known) return failure(known.error());
    auto model = parse_model_file(*known);
    if (!model) return failure(std::move(model.error()).within(options.base));
    base = std::move(*model);
  }
  const Fit fitted = fit(*data);
  warn_of(*data, fitted);
  base.bandwidth = fitted.model.bandwidth;
  for (const auto& [name, kind] : fitted.model.kinds) {
    const double traffic = base.kind(name).traffic;
    base.kinds[name] = kind;
    base.kinds[name].traffic = traffic;
  }
  if (options.out.empty()) return print(to_yaml(base) + "\n" + errors_text(fitted));
  if (Status good = write_file(options.out, to_yaml(base)); !good) return good;
  return print(errors_text(fitted));
}

}  // namespace

void add_fit_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "fit", "Find the run-time model's parameters from runs that were seen, and say how well");
  auto options = std::make_shared<FitOptions>();  // lives as long as the callback below
  add_file_option(*command, "--runs", options->runs, "FILE.yaml",
                  "Runs that were seen (docs/simulator.md)")
      ->required();
  add_file_option(*command, "--base", options->base, "MODEL.yaml",
                  "A model whose start, release, nic and traffic are kept: these are not fitted");
  add_file_option(*command, "--out", options->out, "MODEL.yaml",
                  "Where the model goes; standard output without it");
  command->footer(
      "Ranges: bandwidth 0.001 to 1; of each kind seconds 0.001 to 1e9, memory 0 to 1 and\n"
      "loose 1 to 100. Where runs say little about memory, it is near what the profile\n"
      "suggests: 0.9 (memory), 0.3 (network) or 0.1 (cpu). The fit makes the squares of\n"
      "ln(fitted / seen) small, and with a weight of 0.003 those of that difference.");
  command->callback([options, &exit_code] {
    refuse_shared_files({{"--runs", options->runs}, {"--base", options->base}},
                        {{"--out", options->out}});
    exit_code = exit_code_of(run(*options), "pinion-sim");
  });
}

}  // namespace pinion::sim
