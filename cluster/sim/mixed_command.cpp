#include "cluster/sim/mixed_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/cli/table.h"
#include "cluster/files/fleet_file.h"
#include "cluster/sim/common_options.h"
#include "cluster/sim/mixed.h"

namespace pinion::sim {
namespace {

// An EPYC 7551P: four dies of 8 cores, two L3 each. Besides, as a fifth die, what the system has.
constexpr const char* kServer =
    "{name: s, topology: \"synthetic:package:4 [numa(memory=32GB)] "
    "l3:2 core:4 pu:2\"}";
constexpr const char* kWithSystem =
    "{name: t, reserved-cpus: 64-79, topology: \"synthetic:"
    "package:5 [numa(memory=32GB)] l3:2 core:4 pu:2\"}";

// What the paper says of its runs; 0: nothing.
struct Published {
  MixedPolicy policy;
  double seconds;
  double utilisation;
};
constexpr std::array kPublished{Published{MixedPolicy::kPartitioned, 15'800, 0.75},
                                Published{MixedPolicy::kUnmanaged, 14'633, 0.71},
                                Published{MixedPolicy::kLeastLoaded, 11'200, 0.90},
                                Published{MixedPolicy::kMostLoaded, 0, 0},
                                Published{MixedPolicy::kOurs, 0, 0}};

struct MixedOptions {
  MixedSettings settings;
  std::string policy;  // empty: all
  int seeds = 10;
  bool json = false;
};

// Means over the seeds.
struct MixedRow {
  std::string policy;
  double seconds = 0;
  double services_seconds = 0;
  double utilisation = 0;
  double hpc_stretch = 0;
};

Result<MixedServer> read_server() {
  const auto nodes =
      cluster::parse_fleet_file(std::string("[") + kServer + ", " + kWithSystem + "]");
  if (!nodes) return failure(nodes.error());
  MixedServer server;
  Status good = cluster::report_fleet(*nodes, [&](const cluster::NodeReport& report) -> Status {
    (report.name == "s" ? server.machine : server.with_system) = report.topology;
    server.system |= report.reserved;
    return {};
  });
  if (!good) return failure(std::move(good.error()));
  return server;
}

Result<MixedRow> play(const MixedServer& server, MixedSettings settings, int seeds) {
  MixedRow row{.policy = std::string(word_of(settings.policy, kMixedWords))};
  for (int i = 0; i < seeds; ++i, ++settings.seed) {
    const auto run = run_mixed(server, settings);
    if (!run) return failure(run.error());
    row.seconds += run->seconds / seeds;
    row.services_seconds += run->services_seconds / seeds;
    row.utilisation += run->utilisation / seeds;
    row.hpc_stretch += run->hpc_stretch / seeds;
  }
  return row;
}

std::string text_of(const char* how, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), how, value);
  return text.data();
}

Status run(const MixedOptions& options) {
  const auto server = read_server();
  if (!server) return failure(server.error());
  std::vector<Row> rows{
      {"POLICY", "TOTAL s", "PAPER s", "UTILISATION %", "PAPER %", "SERVICES s", "HPC STRETCH"}};
  auto json = nlohmann::ordered_json::array();
  for (const Published& paper : kPublished) {
    MixedSettings settings = options.settings;
    settings.policy = paper.policy;
    if (!options.policy.empty() && options.policy != word_of(paper.policy, kMixedWords)) continue;
    const auto row = play(*server, settings, options.seeds);
    if (!row) return failure(row.error());
    const bool said = paper.seconds > 0;
    rows.push_back({row->policy, text_of("%.0f", row->seconds),
                    said ? text_of("%.0f", paper.seconds) : "-",
                    text_of("%.0f", 100 * row->utilisation),
                    said ? text_of("%.0f", 100 * paper.utilisation) : "-",
                    text_of("%.0f", row->services_seconds), text_of("%.2f", row->hpc_stretch)});
    json.push_back(
        {{"policy", row->policy},
         {"seconds", row->seconds},
         {"paper_seconds", said ? nlohmann::ordered_json(paper.seconds) : nullptr},
         {"utilisation", row->utilisation},
         {"paper_utilisation", said ? nlohmann::ordered_json(paper.utilisation) : nullptr},
         {"services_seconds", row->services_seconds},
         {"hpc_stretch", row->hpc_stretch}});
  }
  if (options.json) return print(json.dump(2) + "\n");
  return print(table(rows, {1, 2, 3, 4, 5, 6}) +
               "\nThe paper publishes no list of jobs: compare the order and the size of the "
               "differences,\nnot the seconds (docs/simulator.md).\n");
}

}  // namespace

void add_mixed_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "mixed", "HPC jobs and services on five servers, as in the virtual-cluster paper");
  auto options = std::make_shared<MixedOptions>();  // lives as long as the callback below
  std::vector<std::string> policies;
  policies.reserve(kMixedWords.size());
  for (const auto& [word, policy] : kMixedWords) policies.emplace_back(word);
  command->add_option("--policy", options->policy, "One policy only")
      ->check(CLI::IsMember(policies));
  command
      ->add_option("--services", options->settings.services,
                   "Their share of all CPU time [0.25]; the paper does not say it")
      ->check(NumberRange(0.01, 0.9));
  command
      ->add_option("--crowded", options->settings.crowded,
                   "How much longer an HPC job takes where twice a server's CPUs are wanted; 1: "
                   "CPUs are shared and nothing is lost")
      ->check(NumberRange(1, 100))
      ->capture_default_str();
  add_seed_option(*command, options->settings.seed, "The first, of run times and order [1]");
  command->add_option("--seeds", options->seeds, "The mean of so many [10]")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--check", options->settings.check,
                    "After every event, check that the books agree");
  command->add_flag("--json", options->json, "JSON in place of the table");
  command->callback(
      [options, &exit_code] { exit_code = exit_code_of(run(*options), "pinion-sim"); });
}

}  // namespace pinion::sim
