#include "cluster/sim/run_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cmath>

#include "cluster/sim/common_options.h"
#include "cluster/sim/paper_mix.h"
#include "cluster/sim/scenario.h"

namespace pinion::sim {
namespace {

using cluster::PlacementPolicy;

constexpr std::array kQueueWords{Word<QueueRule>{"fcfs", QueueRule::kFcfs},
                                 Word<QueueRule>{"easy", QueueRule::kEasy},
                                 Word<QueueRule>{"priority", QueueRule::kPriority},
                                 Word<QueueRule>{"fair", QueueRule::kFair},
                                 Word<QueueRule>{"ours", QueueRule::kOurs},
                                 Word<QueueRule>{"shortest", QueueRule::kShortest}};
constexpr std::array kPlacementWords{
    Word<PlacementPolicy>{"first-fit", PlacementPolicy::kFirstFit},
    Word<PlacementPolicy>{"least", PlacementPolicy::kLeastLoaded},
    Word<PlacementPolicy>{"most", PlacementPolicy::kMostLoaded},
    Word<PlacementPolicy>{"random", PlacementPolicy::kRandom},
    Word<PlacementPolicy>{"paper", PlacementPolicy::kTaskGroupRandom},
    Word<PlacementPolicy>{"ours", PlacementPolicy::kHoles}};

constexpr const char* kLublin = "lublin";

std::vector<std::string> models() {
  std::vector<std::string> words{kLublin};
  for (const auto& [word, mix] : kPaperMixWords) words.emplace_back(word);
  return words;
}

// Of a model, what only others have.
void check_model(const CLI::App& command, const RunOptions& options) {
  const auto refuse = [&](const char* option, const std::string& why) {
    if (command.count(option) > 0) throw CLI::ValidationError(option, why);
  };
  if (options.generate.empty()) return;
  if (options.generate != kLublin) {
    for (const char* option : {"--load", "--largest", "--overestimate"}) {
      refuse(option, std::string("has no effect but with --generate ") + kLublin);
    }
  }
  const auto mix = paper_mix_of(options.generate);
  if (!mix || !is_elastic(*mix)) {
    refuse("--submission-gap", "has no effect but with the elastic paper's models of --generate");
  } else {
    refuse("--malleable", "the jobs of " + options.generate + " are elastic");
  }
  if (mix == PaperMix::kElasticRandom && (options.seed < 1 || options.seed > kMostElasticSets)) {
    throw CLI::ValidationError("--seed", "the sets of " + options.generate +
                                             " are those from 1 to " +
                                             std::to_string(kMostElasticSets));
  }
}

void add_input(CLI::App& command, RunOptions& options) {
  auto* from = command.add_option_group("jobs", "Which jobs come");
  add_file_option(*from, "--trace", options.trace, "FILE.swf",
                  "A trace in the Standard Workload Format 2.2, sorted by submission; - reads "
                  "standard input");
  add_file_option(*from, "--jobs", options.jobs, "FILE.yaml",
                  "A YAML or JSON list of jobs (docs/simulator.md)");
  auto* model =
      from->add_option(
              "--generate", options.generate,
              "Jobs drawn from a model: lublin (Lublin and Feitelson, 2003), of which --limit "
              "says how many, 1000 without it; or the mix of a paper: fine-grained-1, "
              "fine-grained-2 (its experiments 1, and 2 and 3), fine-grained-random, "
              "elastic-random (Fig. 7 and 8), elastic-table1, elastic-table1-earlier, "
              "virtual-clusters (docs/simulator.md)")
          ->check(CLI::IsMember(models()))
          ->type_name("MODEL");
  from->require_option(1);
  command
      .add_option("--load", options.load,
                  "Stretches the gaps of lublin so that run time times size is this share of "
                  "the processors; without it the model's own gaps")
      ->check(NumberRange(0.001, 100))
      ->needs(model);
  command.add_option("--largest", options.largest, "Processors of its largest job; all without it")
      ->check(CLI::Range(2, 10'000'000))
      ->needs(model);
  command
      .add_option("--overestimate", options.overestimate,
                  "Its users ask for the run time times 1 to so much")
      ->check(NumberRange(1, 1000))
      ->needs(model)
      ->capture_default_str();
  command
      .add_option(
          "--submission-gap", options.submission_gap,
          "Seconds from one job of the elastic paper to the next; without it the paper's: 180, "
          "of Table 1 90")
      ->check(NumberRange(0, 1e6))
      ->needs(model)
      ->type_name("SECONDS");
}

// The extender's settings of policy ours.
constexpr std::array kKnobOptions{"--elastic-ageing", "--elastic-patience", "--elastic-strict",
                                  "--elastic-rescale-percent", "--elastic-broken-percent"};

void add_knobs(CLI::App& command, cluster::ElasticKnobs& knobs) {
  const auto seconds = [&](const char* option, std::int64_t& ms, std::int64_t least_ms,
                           const char* help) {
    command
        .add_option_function<double>(
            option, [&ms](double given) { ms = std::llround(1000 * given); }, help)
        ->check(NumberRange(static_cast<double>(least_ms) / 1000,
                            static_cast<double>(cluster::kLongestKnobMs) / 1000))
        ->type_name("SECONDS")
        ->default_str(std::to_string(ms / 1000));
  };
  const auto percent = [&](const char* option, int& value, const char* help) {
    command.add_option(option, value, help)
        ->check(CLI::Range(1, 100))
        ->type_name("PERCENT")
        ->capture_default_str();
  };
  seconds(
      kKnobOptions[0], knobs.ageing_ms, cluster::kLeastAgeingMs,
      "Policy ours: a waiting job goes up one rank of priority each time that it has waited for "
      "so long");
  seconds(kKnobOptions[1], knobs.patience_ms, 0,
          "Policy ours: for the first job that has waited for so long, what becomes free is kept; "
          "others start where that does not delay it");
  seconds(kKnobOptions[2], knobs.strict_ms, 0,
          "Policy ours: once it has waited for so long beyond that, no other starts");
  percent(kKnobOptions[3], knobs.rescale_percent,
          "Policy ours: at most so much of a job's time goes into rescales");
  percent(
      kKnobOptions[4], knobs.broken_percent,
      "Policy ours, on a --fleet: what a freed CPU counts in a NUMA node that others still use, "
      "against one in a NUMA node that becomes wholly free");
}

void add_elastic(CLI::App& command, RunOptions& options) {
  auto* policy =
      command
          .add_option_function<std::string>(
              "--elastic",
              [&options](const std::string& word) {
                options.elastic = cluster::elastic_policy_of(word);
              },
              "Jobs that say so have from min to max workers, each of them a task, on --processors "
              "or on a --fleet; the policy is also the queue. min, max, moldable, elastic "
              "(elastic-fig2): those of the elastic Charm++ paper. ours: rescales where it gains "
              "more than it costs (docs/simulator.md)")
          ->check(CLI::IsMember({"min", "max", "moldable", "elastic", "elastic-fig2", "ours"}))
          ->type_name("POLICY")
          ->excludes("--queue")
          ->excludes("--scenario");
  command
      .add_option("--rescale-gap", options.rescale_gap,
                  "Least seconds between a job's start, shrinks and expands, where it says none")
      ->check(NumberRange(0, 1e6))
      ->needs(policy)
      ->capture_default_str();
  command
      .add_flag_callback(
          "--learn", [&options] { options.curves_told = false; },
          "Policy ours is not told how fast jobs are with how many workers and what rescales take: "
          "it learns that as they run")
      ->needs(policy);
  add_knobs(command, options.knobs);
  command
      .add_option_function<std::string>(
          "--malleable",
          [&options](const std::string& text) {
            auto how = parse_malleable(text);
            if (!how) throw CLI::ValidationError("--malleable", how.error().text);
            options.malleable = *how;
          },
          "The jobs of --trace or --generate may have LEAST to MOST times their processors, as far "
          "as there are so many; by Amdahl's law with this serial share (0.1)")
      ->type_name("LEAST:MOST[:SERIAL]")
      ->needs(policy)
      ->excludes(command.get_option("--jobs"));
}

void add_policies(CLI::App& command, RunOptions& options) {
  command
      .add_option_function<std::string>(
          "--queue",
          [&options](const std::string& word) { options.queue = *value_of(word, kQueueWords); },
          "Who is next. fcfs: by submission, nobody goes past. easy: the same with EASY "
          "backfilling. priority, fair: higher priority first, or of equal ones whose user has "
          "fewest CPUs; nobody goes past. ours (default): as the extender does, by priority with "
          "backfilling. shortest: the same, but of equal priorities who would be over first, had "
          "all started when they came")
      ->check(CLI::IsMember({"fcfs", "easy", "priority", "fair", "ours", "shortest"}))
      ->type_name("RULE");
  command
      .add_option("--placement", options.placement,
                  "Where. pool (default with --processors): processors are merely counted. On a "
                  "--fleet each worker gets CPUs inside a node, by the agents' own allocator: "
                  "first-fit, least, most (loaded node), random, paper (task groups, Algorithms 3 "
                  "and 4), ours (default)")
      ->check(CLI::IsMember({"pool", "first-fit", "least", "most", "random", "paper", "ours"}))
      ->type_name("RULE");
  command
      .add_option_function<std::string>(
          "--granularity",
          [&options](const std::string& word) { options.granularity = *cluster::policy_of(word); },
          "How jobs are cut into workers: none (default: as the job says, else as few as fit in a "
          "NUMA node each), scale, granularity, auto (docs/scheduling.md)")
      ->check(CLI::IsMember({"none", "scale", "granularity", "auto"}))
      ->type_name("POLICY");
  command
      .add_option_function<std::string>(
          "--scenario", [&options](const std::string& name) { apply_scenario(name, options); },
          "All policies of one scenario of the fine-grained paper, in place of the three above")
      ->check(CLI::IsMember(scenario_names()))
      ->type_name("NAME")
      ->excludes("--queue")
      ->excludes("--placement")
      ->excludes("--granularity");
  add_file_option(command, "--model", options.model, "FILE.yaml",
                  "Parameters of the run-time model: jobs on a --fleet then disturb each other "
                  "(docs/simulator.md)");
  command
      .add_option("--search", options.search,
                  "Decisions of the allocator that placement ours may take to improve the places "
                  "of one job; 0 is much faster")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--depth", options.depth,
                  "Jobs of the queue that one pass looks at, on a --fleet with backfilling")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  add_input(command, options);
  auto* on = command.add_option_group("machine", "What they run on");
  on->add_option("--processors", options.processors, "So many processors, all alike")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("N");
  add_file_option(*on, "--fleet", options.fleet, "FILE.yaml",
                  "A YAML or JSON list of nodes, as for pinionctl plan-job (docs/jobs.md)");
  on->require_option(1);
  add_policies(command, options);
  add_elastic(command, options);
  add_seed_option(command, options.seed, "Of all that is drawn; same seed, same result")
      ->capture_default_str();
  command.add_option("--limit", options.limit, "Take so many jobs only")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N");
  command.add_flag("--check", options.check,
                   "After every event, check that no CPU is held twice and that the books agree");
  add_file_option(command, "--json", options.json, "FILE",
                  "The result as JSON; - writes it to standard output in place of the table");
  add_file_option(command, "--per-job", options.per_job, "FILE.csv",
                  "A line for each job as it ends: job,submit,start,end,... in seconds; - writes "
                  "it to standard output in place of the table");
  add_file_option(command, "--svg", options.svg, "FILE.svg",
                  "A picture: utilisation, the first 300 jobs by time, CPUs of the first nodes");
}

void check_run_options(const CLI::App& command, const RunOptions& options) {
  const auto refuse = [](const std::string& option, const std::string& why) {
    throw CLI::ValidationError(option, why);
  };
  const auto given = [&](const char* option) { return command.count(option) > 0; };
  check_model(command, options);
  const bool fleet = !options.fleet.empty();
  const bool pool = !fleet || options.placement == "pool";
  for (const char* option : {"--scenario", "--granularity", "--search", "--depth", "--model"}) {
    if (!pool || !given(option)) continue;
    refuse(option, fleet ? "has no effect with --placement pool: choose one on the nodes"
                         : "looks at nodes: give a --fleet");
  }
  if (pool && given("--placement") && options.placement != "pool") {
    refuse("--placement", options.placement + " needs nodes: give a --fleet");
  }
  if (given("--search") && !options.placement.empty() && options.placement != "ours") {
    refuse("--search", "has no effect but with --placement ours");
  }
  if (given("--depth") && (options.elastic || !backfills(options.queue))) {
    refuse("--depth", "has no effect but with --queue easy, ours or shortest");
  }
  const bool ours = options.elastic == cluster::ElasticPolicy::kOurs;
  if (given("--learn") && !ours) refuse("--learn", "has no effect but with --elastic ours");
  for (const char* option : kKnobOptions) {
    if (given(option) && !ours) refuse(option, "has no effect but with --elastic ours");
  }
  if (given("--elastic-broken-percent") && pool) {
    refuse("--elastic-broken-percent", "looks at NUMA nodes: give a --fleet");
  }
  refuse_shared_files(
      {{"--trace", options.trace},
       {"--jobs", options.jobs},
       {"--fleet", options.fleet},
       {"--model", options.model}},
      {{"--json", options.json}, {"--per-job", options.per_job}, {"--svg", options.svg}});
}

std::optional<cluster::PlacementPolicy> node_placement(const std::string& word) {
  return value_of(word, kPlacementWords);
}

}  // namespace pinion::sim
