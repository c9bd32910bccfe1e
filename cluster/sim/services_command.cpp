#include "cluster/sim/services_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/words.h"
#include "cluster/sim/common_options.h"
#include "cluster/sim/output_file.h"
#include "cluster/sim/service_plant.h"

namespace pinion::sim {
namespace {

using cluster::kServicePolicyWords;

constexpr std::array kPlantWords{
    Word<Plant>{"linear", Plant::kLinear}, Word<Plant>{"saturating", Plant::kSaturating},
    Word<Plant>{"delayed", Plant::kDelayed}, Word<Plant>{"latency", Plant::kLatency}};
constexpr std::array kPlantLoadWords{Word<PlantLoad>{"steps", PlantLoad::kSteps},
                                     Word<PlantLoad>{"daily", PlantLoad::kDaily}};

struct ServicesOptions {
  std::string plant;  // these three: empty: all
  std::string load;
  std::string policy;
  PlantSettings settings;
  int settle_s = 20;
  std::string seconds;
};

template <class T, std::size_t N>
std::vector<std::string> words_of(const std::array<Word<T>, N>& words) {
  std::vector<std::string> list;
  list.reserve(N);
  for (const auto& one : words) list.emplace_back(one.word);
  return list;
}

std::string share_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", 100 * share);
  return text.data();
}

std::string csv_of(const PlantRun& run) {
  std::string csv = "second,cpus,performance\n";
  for (std::size_t i = 0; i < run.seconds.size(); ++i) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "%zu,%.3f,%.4f\n", i,
                  static_cast<double>(run.seconds[i].limit_milli) / 1000,
                  run.seconds[i].performance);
    csv += line.data();
  }
  return csv;
}

Status run(ServicesOptions options) {
  std::vector<Row> rows{{"PLANT", "LOAD", "POLICY", "ON TARGET %", "NOT BELOW %", "OVERSHOOT %",
                         "CPU HOURS", "RESIZES"}};
  options.settings.settle_ms = options.settle_s * std::int64_t{1000};
  std::string csv;
  for (const auto& [plant_word, plant] : kPlantWords) {
    for (const auto& [load_word, load] : kPlantLoadWords) {
      for (const auto& [policy_word, policy] : kServicePolicyWords) {
        const auto left_out = [](const std::string& wanted, std::string_view word) {
          return !wanted.empty() && wanted != word;
        };
        if (left_out(options.plant, plant_word) || left_out(options.load, load_word) ||
            left_out(options.policy, policy_word)) {
          continue;
        }
        options.settings.plant = plant;
        options.settings.load = load;
        options.settings.policy = policy;
        const PlantRun result = run_plant(options.settings);
        rows.push_back({std::string(plant_word), std::string(load_word), std::string(policy_word),
                        share_text(result.on_target), share_text(result.kept),
                        share_text(result.overshoot), figure_text(result.cpu_seconds / 3600),
                        std::to_string(result.resizes)});
        if (!options.seconds.empty()) csv = csv_of(result);
      }
    }
  }
  if (!options.seconds.empty()) {
    if (rows.size() != 2) {
      return failure(Errc::kInvalid,
                     "--per-second is for one run: give --plant, --load and --policy as well");
    }
    if (Status good = write_file(options.seconds, csv); !good) return good;
  }
  return print(table(rows, {3, 4, 5, 6, 7}));
}

}  // namespace

void add_services_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "services", "Keep imagined services on their target, by the paper's loop and by ours");
  auto options = std::make_shared<ServicesOptions>();  // lives as long as the callback below
  command->add_option("--plant", options->plant, "One kind of service only")
      ->check(CLI::IsMember(words_of(kPlantWords)));
  command->add_option("--load", options->load, "One kind of load only")
      ->check(CLI::IsMember(words_of(kPlantLoadWords)));
  command->add_option("--policy", options->policy, "One loop only")
      ->check(CLI::IsMember(words_of(kServicePolicyWords)));
  command->add_option("--period", options->settings.period_s, "Seconds between two samples [5]")
      ->check(CLI::Range(1, 600));
  command
      ->add_option("--settle", options->settle_s,
                   "Seconds after a change in which the metric is of the time before [20]")
      ->check(CLI::Range(0, 3600));
  command->add_flag("!--no-use", options->settings.tells_use,
                    "The loops are not told how many CPUs the service uses");
  add_seed_option(*command, options->settings.seed, "Of loads and noise [1]");
  add_file_option(*command, "--per-second", options->seconds, "FILE.csv",
                  "CPUs and performance (1: on target) second by second, of one run");
  command->callback(
      [options, &exit_code] { exit_code = exit_code_of(run(*options), "pinion-sim"); });
}

}  // namespace pinion::sim
