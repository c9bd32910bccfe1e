#include "cluster/sim/run_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <utility>

#include "base/cli/input.h"
#include "base/cli/output.h"
#include "cluster/files/fleet_file.h"
#include "cluster/sim/elastic_machine.h"
#include "cluster/sim/job_list.h"
#include "cluster/sim/jobs_file.h"
#include "cluster/sim/lublin.h"
#include "cluster/sim/malleable.h"
#include "cluster/sim/model_file.h"
#include "cluster/sim/node_machine.h"
#include "cluster/sim/output_file.h"
#include "cluster/sim/paper_mix.h"
#include "cluster/sim/picture.h"
#include "cluster/sim/pool.h"
#include "cluster/sim/progress.h"
#include "cluster/sim/report.h"
#include "cluster/sim/run_options.h"
#include "cluster/sim/simulation.h"
#include "cluster/sim/swf_source.h"

namespace pinion::sim {
namespace {

constexpr std::int64_t kGenerated = 1000;  // jobs, where nobody says how many

void warn(const std::string& text) {
  std::fprintf(stderr, "pinion-sim: %s\n", text.c_str());
}

struct World {
  std::unique_ptr<Machine> machine;
  const NodeMachine* nodes = nullptr;  // the same, if it has nodes
};

Result<std::unique_ptr<NodeMachine>> make_nodes(const RunOptions& options,
                                                cluster::PlacementPolicy placement) {
  const auto text = read_text(options.fleet);
  if (!text) return failure(text.error());
  const auto entries = cluster::parse_fleet_file(*text);
  if (!entries) return failure(entries.error().within(options.fleet));
  NodeRules rules;
  // The elastic policy is the queue, and what it says holds.
  rules.queue = options.elastic ? QueueRule::kFcfs : options.queue;
  rules.placement = placement;
  rules.shape.granularity = options.granularity;
  rules.shape.groups = options.groups;
  rules.shape.pinned = options.pinned;
  rules.shape.insist = options.insist;
  rules.keeps_to_nodes = options.keeps_to_nodes;
  rules.search = options.search;
  rules.depth = options.depth;
  rules.seed = options.seed;
  auto nodes = std::make_unique<NodeMachine>(rules);
  const Status good = cluster::report_fleet(
      *entries, [&](cluster::NodeReport report) { return nodes->add(std::move(report)); });
  if (!good) return failure(good.error().within(options.fleet));
  return nodes;
}

Ms ms_of_seconds(double seconds) {
  return static_cast<Ms>(std::llround(1000 * seconds));
}

ElasticRules elastic_rules(const RunOptions& options, const Model& model) {
  return {.policy = *options.elastic,
          .gap = ms_of_seconds(options.rescale_gap),
          .told = options.curves_told,
          .knobs = options.knobs,
          .start = ms_of_seconds(model.start),
          .release = ms_of_seconds(model.release)};
}

std::unique_ptr<Machine> counted(const RunOptions& options, const Model& model,
                                 std::int64_t processors) {
  if (!options.elastic) return std::make_unique<Pool>(processors, options.queue);
  return std::make_unique<ElasticMachine>(processors, elastic_rules(options, model));
}

Result<World> make_world(const RunOptions& options, const Model& model) {
  World world;
  if (options.fleet.empty()) {
    world.machine = counted(options, model, options.processors);
    return world;
  }
  const auto on_nodes = node_placement(options.placement.empty() ? "ours" : options.placement);
  auto nodes = make_nodes(options, on_nodes.value_or(cluster::PlacementPolicy::kFirstFit));
  if (!nodes) return failure(nodes.error());
  if ((*nodes)->processors() < 1) return failure(Errc::kInvalid, options.fleet + ": no free CPU");
  if (!on_nodes) {
    world.machine = counted(options, model, (*nodes)->processors());
    return world;
  }
  world.nodes = nodes->get();
  if (options.elastic) {
    world.machine =
        std::make_unique<ElasticMachine>(std::move(*nodes), elastic_rules(options, model));
  } else {
    world.machine = std::move(*nodes);
  }
  return world;
}

Result<Model> read_model(const RunOptions& options) {
  if (options.model.empty()) return Model();
  const auto text = read_text(options.model);
  if (!text) return failure(text.error());
  auto model = parse_model_file(*text);
  if (!model) return failure(std::move(model.error()).within(options.model));
  return model;
}

// Of jobs without a run time: what the model says of their kind. `from`: where they are from.
Status set_run_times(const RunOptions& options, const Model& model, const std::string& from,
                     std::vector<Job>& jobs) {
  for (Job& job : jobs) {
    if (job.run > 0 || job.kind.empty()) continue;
    const double seconds = model.kind(job.kind).seconds;
    if (seconds <= 0) {
      return failure(Errc::kInvalid,
                     from + ": job " + job.called() + " has no run time, and " +
                         (options.model.empty() ? "no --model says that"
                                                : options.model + " says no seconds") +
                         " of kind " + job.kind);
    }
    job.run = ms_of_seconds(seconds);
    job.request = std::max(job.request, job.run);
  }
  return {};
}

Result<std::vector<Job>> listed(const RunOptions& options, const Model& model) {
  Result<std::vector<Job>> jobs;
  const std::string from = options.jobs.empty() ? options.generate : options.jobs;
  if (options.jobs.empty()) {
    const std::optional<Ms> gap = options.submission_gap
                                      ? std::optional(ms_of_seconds(*options.submission_gap))
                                      : std::nullopt;
    jobs = paper_jobs(*paper_mix_of(options.generate), options.seed, gap);
  } else {
    const auto text = read_text(options.jobs);
    if (!text) return failure(text.error());
    jobs = parse_jobs_file(*text);
  }
  if (!jobs) return failure(std::move(jobs.error()).within(from));
  for (Job& job : *jobs) {
    if (options.workers > 0) job.shape.workers = std::min(options.workers, job.shape.tasks);
  }
  if (Status good = set_run_times(options, model, from, *jobs); !good) return failure(good.error());
  return jobs;
}

Result<std::unique_ptr<JobSource>> drawn_or_traced(const RunOptions& options,
                                                   std::int64_t processors) {
  if (!options.trace.empty()) {
    auto trace = std::make_unique<SwfSource>();
    if (const Status good = trace->open(options.trace); !good) return failure(good.error());
    return trace;
  }
  LublinSettings settings;
  settings.jobs = options.limit > 0 ? options.limit : kGenerated;
  settings.largest = static_cast<int>(
      std::clamp<std::int64_t>(options.largest > 0 ? options.largest : processors, 2, 1 << 24));
  settings.processors = processors;
  settings.load = options.load;
  settings.overestimate = options.overestimate;
  settings.seed = options.seed;
  return std::make_unique<Lublin>(settings);
}

Result<std::unique_ptr<JobSource>> make_source(const RunOptions& options, const Model& model,
                                               std::int64_t processors) {
  const bool is_list = !options.jobs.empty() || paper_mix_of(options.generate);
  Result<std::unique_ptr<JobSource>> source;
  bool rigid = true;
  if (is_list) {
    auto jobs = listed(options, model);
    if (!jobs) return failure(std::move(jobs.error()));
    rigid = std::none_of(jobs->begin(), jobs->end(),
                         [](const Job& job) { return job.elastic != nullptr; });
    source = std::make_unique<JobList>(std::move(*jobs));
  } else {
    source = drawn_or_traced(options, processors);
  }
  if (!source || !options.elastic) return source;
  if (options.malleable) {
    return std::make_unique<MalleableSource>(std::move(*source), *options.malleable, processors);
  }
  if (rigid) {
    warn(std::string("no job is elastic, so --elastic changes no size: ") +
         (options.jobs.empty() ? "--malleable makes them so" : "give jobs min and max"));
  }
  return source;
}

// NUMA nodes that its workers have CPUs of; -1: none are known.
int numa_nodes_of(const JobRecord& record, const NodeMachine* nodes) {
  if (nodes == nullptr) return -1;
  std::set<std::pair<int, std::size_t>> there;
  for (const Piece& piece : record.pieces) {
    if (piece.tasks == 0) continue;  // a launcher's
    const auto& numa_nodes = nodes->fleet().node(piece.node).topology().nodes;
    for (std::size_t numa = 0; numa < numa_nodes.size(); ++numa) {
      if (numa_nodes[numa].cpus.intersects(piece.cpus)) there.emplace(piece.node, numa);
    }
  }
  return static_cast<int>(there.size());
}

// Why there is nothing to show.
std::string nothing_ran(const Figures& figures, const std::string& refused) {
  if (figures.refused > 0) {
    return "none of " + std::to_string(figures.refused) +
           " jobs could ever start, the first: " + refused;
  }
  return figures.skipped == 0 ? "no jobs"
                              : "no job that ran: " + std::to_string(figures.skipped) +
                                    " entries have no submission from 0 on, no run time or no "
                                    "processors, or are parts of jobs (status 2 to 4)";
}

Status run(const RunOptions& options) {
  const auto model = read_model(options);
  if (!model) return failure(model.error());
  auto world = make_world(options, *model);
  if (!world) return failure(world.error());
  const auto source = make_source(options, *model, world->machine->processors());
  if (!source) return failure(source.error());
  OutputFile per_job;
  if (Status good = per_job.open(options.per_job); !good) return good;
  per_job.write(kCsvHead);

  std::optional<Contention> contention;
  if (!options.model.empty()) contention.emplace(*model, world->nodes->fleet(), options.pinned);
  Simulation simulation(**source, *world->machine,
                        {.limit = options.limit,
                         .check = options.check,
                         .contention = contention ? &*contention : nullptr,
                         .start = ms_of_seconds(model->start),
                         .release = ms_of_seconds(model->release)});
  Picture picture;
  simulation.on_end = [&](const JobRecord& record) {
    if (!options.svg.empty()) picture.ended(record);
    if (per_job.wanted()) per_job.write(csv_line(record, numa_nodes_of(record, world->nodes)));
  };
  std::string refused;
  simulation.on_refused = [&](const Job& job, const std::string& why) {
    if (refused.empty()) refused = "job " + job.called() + " " + why;
  };
  auto progress = std::make_unique<Progress>(**source);
  simulation.on_moment = [&](Ms now, std::int64_t busy) {
    progress->step();
    if (!options.svg.empty()) picture.busy(now, busy);
  };
  const auto figures = simulation.run();
  progress.reset();
  if (!figures) return failure(figures.error());
  if (figures->jobs == 0) return failure(Errc::kInvalid, nothing_ran(*figures, refused));
  if (!refused.empty()) {
    warn("left out as they could never start: " + std::to_string(figures->refused) +
         " jobs, the first: " + refused);
  }
  if (Status good = per_job.close(); !good) return good;
  const auto* fleet = world->nodes == nullptr ? nullptr : &world->nodes->fleet();
  if (!options.svg.empty()) {
    Status good = write_file(options.svg, picture.svg(world->machine->processors(), fleet));
    if (!good) return good;
  }
  const std::string json = to_json(*figures).dump(2) + "\n";
  if (Status good = write_file(options.json, json); !good) return good;
  const bool printed = options.json == "-" || options.per_job == "-" || options.svg == "-";
  return printed ? Status() : print(to_table(*figures));
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("run", "Let jobs run on imagined machines");
  command->footer(
      "Examples:\n"
      "  pinion-sim run --trace KTH-SP2.swf --processors 100 --queue easy\n"
      "  pinion-sim run --generate lublin --limit 10000 --load 0.8 --fleet fleet.yaml --json -\n"
      "A fleet file of four nodes:\n"
      "  - {name: node, count: 4, topology: \"synthetic:package:2 [numa(memory=64GB)] core:16 "
      "pu:1\",\n"
      "     reserved-cpus: \"0,16\"}");
  auto options = std::make_shared<RunOptions>();  // lives as long as the callback below
  add_run_options(*command, *options);
  command->callback([options, command, &exit_code] {
    check_run_options(*command, *options);
    exit_code = exit_code_of(run(*options), "pinion-sim");
  });
}

}  // namespace pinion::sim
