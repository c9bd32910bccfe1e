#include "cluster/extender/elastic/speed_seen.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace pinion::cluster::elastic {
namespace {

constexpr std::string_view kShrink = "shrink";
constexpr std::string_view kExpand = "expand";

// All of the text, from kLeastAmount to `most`.
std::optional<double> read_number(std::string_view text, double most) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !(value >= kLeastAmount) || value > most) {
    return {};
  }
  return value;
}

struct Pair {
  std::string_view name;
  std::string_view value;
};

// The text up to the next blank, at its colon.
std::optional<Pair> take_pair(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  const auto colon = part.find(':');
  if (colon == std::string_view::npos) return {};
  return Pair{part.substr(0, colon), part.substr(colon + 1)};
}

std::optional<SizeRate> size_rate_of(const Pair& pair) {
  int workers = 0;
  const char* end = pair.name.data() + pair.name.size();
  const auto read = std::from_chars(pair.name.data(), end, workers);
  const auto rate = read_number(pair.value, kLargestAmount);
  if (read.ec != std::errc() || read.ptr != end || workers < 1 || workers > kLargestSize || !rate) {
    return {};
  }
  return SizeRate{.workers = workers, .rate = *rate};
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

// So that the smallest size is as fast as `known` says: the jobs' units are the same then.
double unit_of(const std::vector<SizeRate>& rates, const SpeedUp& known) {
  const auto smallest = std::min_element(
      rates.begin(), rates.end(),
      [](const SizeRate& one, const SizeRate& other) { return one.workers < other.workers; });
  return smallest->rate / known.rate(smallest->workers);
}

std::vector<SizeRate> in_units(std::vector<SizeRate> rates, double unit) {
  for (SizeRate& one : rates) one.rate /= unit;
  return rates;
}

}  // namespace

void SpeedSeen::add_rate(Measure of, int workers, double rate) {
  if (measure != of) rates.clear();
  measure = of;
  const auto at =
      std::lower_bound(rates.begin(), rates.end(), workers,
                       [](const SizeRate& one, int size) { return one.workers < size; });
  if (at != rates.end() && at->workers == workers) {
    at->rate = rate;
  } else if (rates.size() < kSizesKept) {
    rates.insert(at, {.workers = workers, .rate = rate});
  }
}

std::string_view to_string(SpeedSeen::Measure measure) {
  switch (measure) {
    case SpeedSeen::Measure::kProgress:
      return "progress";
    case SpeedSeen::Measure::kInstructions:
      return "instructions";
    case SpeedSeen::Measure::kNone:
      break;
  }
  return "";
}

std::optional<double> SpeedSeen::rate_of(Measure of, int workers) const {
  for (const SizeRate& one : rates) {
    if (of == measure && one.workers == workers) return one.rate;
  }
  return {};
}

void SpeedSeen::add_cost(bool expand, double seconds) {
  std::vector<double>& costs = expand ? expands : shrinks;
  costs.push_back(std::min(seconds, kLargestCostS));
  if (costs.size() > kCostsKept) costs.erase(costs.begin());
}

SpeedSeen read_speed_seen(std::string_view text) {
  SpeedSeen seen;
  auto measure = SpeedSeen::Measure::kNone;
  for (const auto known : {SpeedSeen::Measure::kProgress, SpeedSeen::Measure::kInstructions}) {
    if (text.starts_with(to_string(known))) measure = known;
  }
  while (!text.empty()) {
    const auto pair = take_pair(text);
    if (!pair) continue;
    if (pair->name == kShrink || pair->name == kExpand) {
      if (const auto cost = read_number(pair->value, kLargestCostS)) {
        seen.add_cost(pair->name == kExpand, *cost);
      }
    } else if (const auto one = size_rate_of(*pair); one && measure != SpeedSeen::Measure::kNone) {
      seen.add_rate(measure, one->workers, one->rate);
    }
  }
  return seen;
}

std::string speed_seen_text(const SpeedSeen& seen) {
  std::string text;
  const auto add = [&](std::string_view name, double value) {
    if (!text.empty()) text += ' ';
    text += std::string(name) + ":" + number_text(value);
  };
  if (!seen.rates.empty()) text = to_string(seen.measure);
  for (const SizeRate& one : seen.rates) add(std::to_string(one.workers), one.rate);
  for (const double cost : seen.shrinks) add(kShrink, cost);
  for (const double cost : seen.expands) add(kExpand, cost);
  return text;
}

Result<std::vector<SizeRate>> read_speed_up(std::string_view text) {
  std::vector<SizeRate> rates;
  while (!text.empty()) {
    const auto pair = take_pair(text);
    const auto one = pair ? size_rate_of(*pair) : std::nullopt;
    if (!one || rates.size() == kSizesKept) {
      return failure(Errc::kInvalid, "use WORKERS:SPEED, at most " + std::to_string(kSizesKept) +
                                         " of them with a blank between, as in \"1:1 4:3.4\"");
    }
    const auto same = [&](const SizeRate& other) { return other.workers == one->workers; };
    if (std::any_of(rates.begin(), rates.end(), same)) {
      return failure(Errc::kInvalid, std::to_string(one->workers) + " workers are there twice");
    }
    rates.push_back(*one);
  }
  return rates;
}

ScaledSpeedUp scaled_speed_up(const std::vector<SizeRate>& declared, const SpeedSeen& seen) {
  ScaledSpeedUp scaled;
  if (!declared.empty()) {
    scaled.speed_up = SpeedUp(in_units(declared, unit_of(declared, scaled.speed_up)));
  }
  if (seen.rates.empty()) return scaled;
  scaled.unit = unit_of(seen.rates, scaled.speed_up);
  scaled.speed_up.see(in_units(seen.rates, scaled.unit));
  return scaled;
}

std::optional<Progress> read_progress(std::string_view text) {
  const auto slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  Progress progress;
  if (const auto done = read_number(first, kLargestAmount)) {
    progress.done = *done;
  } else if (first != "0") {
    return {};
  }
  if (slash == std::string_view::npos) return progress;
  progress.whole = read_number(text.substr(slash + 1), kLargestAmount);
  if (!progress.whole) return {};
  return progress;
}

}  // namespace pinion::cluster::elastic
