#include "tests/lab/mpi_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

namespace pinion::lab {
namespace {

using Value = std::function<std::optional<double>(const Round&)>;

struct Wanted {
  std::string name;
  std::string unit;
  Value value;
};

// A share of the run time. On an idle machine it is below 0.01: mpirun and the ranks take turns.
constexpr double kBusyElsewhere = 0.05;

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// A member of what HPCC measured.
Value of_hpcc(std::optional<double> HpccFigures::*member) {
  return [member](const Round& round) { return round.run.hpcc.*member; };
}

// Of the time of the job's cores, in per cent.
std::optional<double> intrusion_of(const Round& round) {
  if (!round.agent || !round.agent->intrusion_ns) return std::nullopt;
  const double core_seconds = round.held_seconds * round.run.cpuset.count();
  if (core_seconds <= 0) return std::nullopt;
  return 100 * static_cast<double>(*round.agent->intrusion_ns) / 1e9 / core_seconds;
}

std::optional<double> l3_misses_of(const Round& round) {
  if (!round.agent || !round.agent->l3_misses) return std::nullopt;
  return static_cast<double>(*round.agent->l3_misses) / 1e6;
}

std::vector<Wanted> wanted() {
  return {
      {"run time", "s", [](const Round& round) { return std::optional(round.run.seconds); }},
      {"HPL", "GFlop/s", of_hpcc(&HpccFigures::hpl_gflops)},
      {"DGEMM", "GFlop/s", of_hpcc(&HpccFigures::dgemm_gflops)},
      {"STREAM triad", "GB/s", of_hpcc(&HpccFigures::triad_gbytes)},
      {"RandomAccess", "MUP/s", of_hpcc(&HpccFigures::random_mups)},
      {"ring latency", "us", of_hpcc(&HpccFigures::ring_latency_us)},
      {"ring bandwidth", "GB/s", of_hpcc(&HpccFigures::ring_bandwidth_gbytes)},
      {"migrations", "",
       [](const Round& round) {
         return std::optional(static_cast<double>(round.run.use.migrations()));
       }},
      {"involuntary switches", "",
       [](const Round& round) {
         return std::optional(static_cast<double>(round.run.use.preemptions()));
       }},
      {"waited for a CPU", "s", [](const Round& round) { return round.run.use.wait_seconds(); }},
      {"core intrusion", "%", intrusion_of},
      {"L3 misses", "million", l3_misses_of},
  };
}

std::vector<double> values_of(const std::vector<Round>& rounds, const Value& value) {
  std::vector<double> values;
  for (const auto& round : rounds) {
    if (const auto one = value(round)) values.push_back(*one);
  }
  return values;
}

bool has(const ctl::Comparison& comparison, const std::string& name) {
  for (const auto& measure : comparison.measures) {
    if (measure.name == name) return true;
  }
  return false;
}

std::string beside(double seconds, double alone) {
  const double change = 100 * (seconds / alone - 1);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f s (%+.0f %%)", seconds, change);
  return text.data();
}

std::string effect_of(const ctl::Measure& time) {
  switch (ctl::verdict_of(time)) {
    case ctl::Verdict::kMore:
      return "Unpinned takes longer, by more than chance.";
    case ctl::Verdict::kLess:
      return "Unpinned is FASTER here, by more than chance: the noise leaves the program more "
             "than\n"
             "the cores that it was given.";
    case ctl::Verdict::kNoDifference:
      return "No effect on the run time is to be seen on this machine: the noise leaves the "
             "program\n"
             "what it needs. More --rounds tell smaller differences apart.";
    case ctl::Verdict::kTooFew:
      return "Too few rounds to say whether that is more than chance: --rounds 4 or more.";
  }
  return {};
}

// Of the ranks' time, how much they waited while another had their CPU.
double wait_share(const MpiRun& run, int ranks) {
  return run.use.wait_seconds().value_or(0) / (run.seconds * ranks);
}

// No container of the demo can be what ranks on cores of their own wait for. "" when they did not.
std::string elsewhere(const Rounds& rounds, const MpiJob& job) {
  double most = wait_share(rounds.alone, job.ranks);
  for (const auto& round : rounds.pinned) most = std::max(most, wait_share(round.run, job.ranks));
  if (most < kBusyElsewhere) return {};
  return "Programs outside of the demo used the machine meanwhile: alone or pinned, the job "
         "waited\n"
         "for its CPUs up to " +
         fixed(100 * most, 0) +
         " % of the time. These figures are worth little; try on an idle machine.";
}

// What a reader looks for and does not find.
std::string not_shown(const Rounds& rounds, const MpiJob& job, const ctl::Comparison& comparison) {
  std::string text;
  if (job.ranks == 1) {
    text +=
        "\nOne rank only: no NUMA node here has two cores beside the reserved one. How ranks wait\n"
        "for the slowest of them is not shown.";
  }
  text += has(comparison, "core intrusion")
              ? "\nCore intrusion is what others ran on the job's own cores; unpinned it has none."
              : "\nCore intrusion is not shown: the agent's interface gave none.";
  if (!has(comparison, "L3 misses")) {
    text += "\nL3 misses are not shown: " +
            (rounds.why_no_l3_misses.empty() ? "the agent's interface gave none"
                                             : rounds.why_no_l3_misses) +
            ".";
  }
  return text;
}

}  // namespace

ctl::Comparison comparison_of(const Rounds& rounds) {
  ctl::Comparison comparison{.a_name = "pinned", .b_name = "unpinned", .measures = {}};
  for (const auto& one : wanted()) {
    ctl::Measure measure{.name = one.name,
                         .unit = one.unit,
                         .a = values_of(rounds.pinned, one.value),
                         .b = values_of(rounds.unpinned, one.value)};
    if (measure.a.empty() && measure.b.empty()) continue;
    comparison.measures.push_back(std::move(measure));
  }
  return comparison;
}

std::string progress_text(int round, bool pinned, const MpiRun& run) {
  return "  round " + std::to_string(round) + (pinned ? "  pinned    " : "  unpinned  ") +
         fixed(run.seconds, 2) + " s";
}

std::string meaning_of(const Rounds& rounds, const MpiJob& job) {
  const auto comparison = comparison_of(rounds);
  const auto& time = comparison.measures.front();  // every run has one
  const auto pinned = ctl::summary_of(time.a);
  const auto unpinned = ctl::summary_of(time.b);
  std::string text;
  if (pinned && unpinned) {
    text += "Alone on the machine it took " + fixed(rounds.alone.seconds, 2) +
            " s; beside the noise pinned " + beside(pinned->median, rounds.alone.seconds) +
            ", unpinned " + beside(unpinned->median, rounds.alone.seconds) + ".\n";
    const std::string others = elsewhere(rounds, job);
    text += others.empty() ? effect_of(time) : others;
  }
  return text + not_shown(rounds, job, comparison);
}

}  // namespace pinion::lab
