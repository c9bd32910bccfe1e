#include "ctl/job/scale_command.h"

#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/words.h"
#include "ctl/common/report.h"
#include "policy/annotations.h"

namespace pinion::ctl {
namespace {

constexpr int kMostWorkers = 1000;

// Who may change the job is the API server's to say, so kubectl does it, as whoever calls us.
int run(const ScaleOptions& options) {
  const std::vector<std::string> words = scale_arguments(options);
  if (options.dry_run) {
    return print_and_exit_code(joined(words, " ") + "\n");
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return report(
      {.code = Errc::kNotFound, .text = "run kubectl: " + std::generic_category().message(errno)});
}

}  // namespace

std::vector<std::string> scale_arguments(const ScaleOptions& options) {
  const std::string name = annotation::kRequestedWorkers;
  std::vector<std::string> words = {"kubectl", "annotate"};
  if (!options.name_space.empty()) words.push_back("--namespace=" + options.name_space);
  const bool by_policy = options.workers == "auto";
  if (!by_policy) words.emplace_back("--overwrite");
  words.push_back(options.kind);
  words.push_back(options.job);
  words.push_back(by_policy ? name + "-" : name + "=" + options.workers);
  return words;
}

void add_scale_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "scale", "Ask for another number of workers of an elastic job, through kubectl");
  auto options = std::make_shared<ScaleOptions>();  // lives as long as the callback below
  command->add_option("JOB", options->job, "Its name")
      ->required()
      ->check([](const std::string& name) {
        const bool good = !name.empty() && name.front() != '-';
        return good ? std::string() : std::string("is no name");
      });
  command->add_option("WORKERS", options->workers, "1 to 1000; auto: as the policy says again")
      ->required()
      ->check(CLI::Range(1, kMostWorkers) | CLI::IsMember({"auto"}));
  command->add_option("-n,--namespace", options->name_space, "Where it is [kubectl's own]")
      ->type_name("NAME");
  command->add_option("--kind", options->kind, "job, mpijob or vcjob [job]")
      ->check(CLI::IsMember({"job", "mpijob", "vcjob"}))
      ->type_name("KIND");
  command->add_flag("--dry-run", options->dry_run, "Print what would be run");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
