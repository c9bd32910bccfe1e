#include "ctl/compare/compare_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "ctl/common/report.h"
#include "ctl/common/value_options.h"
#include "ctl/compare/compare_sources.h"
#include "ctl/compare/comparison.h"
#include "ctl/compare/comparison_json.h"

namespace pinion::ctl {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::string job;
  std::string job_a;
  std::string job_b;
  std::string match;
  std::string match_a;
  std::string match_b;
  std::string prometheus;
  PrometheusSpan span;
  std::string svg;
  bool json = false;
};

const std::string& own_or_common(const std::string& own, const std::string& common) {
  return own.empty() ? common : own;
}

std::string name_of(const std::string& text, const Selection& selection) {
  std::string name = text;
  if (!selection.job.empty()) name += ", job " + selection.job;
  if (!selection.match.empty()) name += ", like " + selection.match;
  return name;
}

Result<Comparison> compare_recordings(const CompareOptions& options) {
  const Selection a = {.job = own_or_common(options.job_a, options.job),
                       .match = own_or_common(options.match_a, options.match)};
  const Selection b = {.job = own_or_common(options.job_b, options.job),
                       .match = own_or_common(options.match_b, options.match)};
  const auto part_a = parse_part(options.a, PartTimes::kOffsets);
  if (!part_a) return failure(part_a.error());
  const auto part_b = parse_part(options.b, PartTimes::kOffsets);
  if (!part_b) return failure(part_b.error());
  const auto series_a = series_of_recording(*part_a, a);
  if (!series_a) return failure(series_a.error());
  const auto series_b = series_of_recording(*part_b, b);
  if (!series_b) return failure(series_b.error());
  return Comparison{name_of(options.a, a), name_of(options.b, b),
                    measures_of(*series_a, *series_b)};
}

Result<Comparison> compare_jobs(const CompareOptions& options) {
  auto client = PrometheusClient::create(options.prometheus);
  if (!client) return failure(std::move(client.error()));
  const auto part_a = parse_part(options.a, PartTimes::kPoints);
  if (!part_a) return failure(part_a.error());
  const auto part_b = parse_part(options.b, PartTimes::kPoints);
  if (!part_b) return failure(part_b.error());
  PrometheusSpan span = options.span;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  span.now = std::chrono::duration<double>(now).count();
  const auto series_a = series_of_job(*client, *part_a, span);
  if (!series_a) return failure(series_a.error());
  const auto series_b = series_of_job(*client, *part_b, span);
  if (!series_b) return failure(series_b.error());
  return Comparison{"job " + options.a, "job " + options.b, measures_of(*series_a, *series_b)};
}

Status write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return sys_failure("write " + path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int cause = errno;
  if (std::fclose(file) != 0 || !written)
    return sys_failure("write " + path, written ? errno : cause);
  return {};
}

int run(const CompareOptions& options) {
  const auto comparison =
      options.prometheus.empty() ? compare_recordings(options) : compare_jobs(options);
  if (!comparison) return report(comparison.error());
  if (!options.svg.empty()) {
    const auto written = write_file(options.svg, comparison_svg(*comparison));
    if (!written) return report(written.error());
  }
  return print_and_exit_code(options.json ? comparison_json(*comparison)
                                          : comparison_table(*comparison));
}

void add_selection(CLI::App& command, CompareOptions& options) {
  const auto add = [&](const char* name, std::string& value, const char* help) {
    command.add_option(name, value, help)->type_name("TEXT");
  };
  add("--job", options.job, "Only containers of this job");
  add("--job-a", options.job_a, "The same for A alone");
  add("--job-b", options.job_b, "The same for B alone");
  add("--match", options.match, "Only containers with this in NAMESPACE/POD/CONTAINER");
  add("--match-a", options.match_a, "The same for A alone");
  add("--match-b", options.match_b, "The same for B alone");
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare two recordings, or two jobs or intervals in Prometheus");
  auto options = std::make_shared<CompareOptions>();  // lives as long as the callback below
  const std::string side =
      "FILE or FILE@FROM..TO in seconds from its start; with --prometheus JOB or\n"
      "JOB@START..END, times as 2026-01-31T12:00:00Z or Unix seconds";
  command->add_option("A", options->a, side)->required();
  command->add_option("B", options->b, "Likewise")->required();
  add_selection(*command, *options);
  command->add_option("--prometheus", options->prometheus, "Ask this server")
      ->type_name("URL")
      ->excludes("--job", "--job-a", "--job-b", "--match", "--match-a", "--match-b");
  add_duration_option(*command, "--step", options->span.step,
                      "One value for each, at least four scrape intervals");
  add_duration_option(*command, "--last", options->span.length, "For a job without START");
  command->add_option("--svg", options->svg, "Also draw it into this file")->type_name("FILE");
  command->add_flag("--json", options->json, "The same as data");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
