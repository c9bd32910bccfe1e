#include "cluster/sim/fit_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdio>
#include <memory>

#include "base/cli/input.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
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
  std::vector<Row> rows{{"EXPERIMENT", "KIND", "SEEN", "FITTED", "LEFT OUT"}};
  for (const FitError& error : fit.by_kind) {
    rows.push_back({plain(error.experiment), plain(error.kind), fixed(error.seen, 1),
                    fixed(error.fitted, 1), fixed(error.predicted, 1)});
  }
  return table(rows, {2, 3, 4}) + "\nmean error of a run: " + fixed(100 * fit.error, 1) +
         " %; of a run that the fit had not seen (leave-one-out): " +
         fixed(100 * fit.cross_error, 1) + " %\n";
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
  command->add_option("--runs", options->runs, "Runs that were seen (docs/simulator.md)")
      ->type_name("FILE.yaml")
      ->required();
  command
      ->add_option("--base", options->base,
                   "A model whose start, release, nic and traffic are kept: these are not fitted")
      ->type_name("MODEL.yaml");
  command->add_option("--out", options->out, "Where the model goes; standard output without it")
      ->type_name("MODEL.yaml");
  command->callback(
      [options, &exit_code] { exit_code = exit_code_of(run(*options), "pinion-sim"); });
}

}  // namespace pinion::sim
