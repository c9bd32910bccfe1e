#include "cluster/extender/profiles/history_map.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/utf8.h"
#include "cluster/core/run_book.h"

namespace pinion::cluster::profiles {
namespace {

using nlohmann::json;

constexpr std::size_t kMostSamples = 3;

// How a figure is called, and the largest value that it may have.
struct FigureField {
  const char* name;
  MeanFigure ProfileHistory::*figure;
  double most;
};
constexpr std::array kFields{
    FigureField{"used", &ProfileHistory::used, 1},
    FigureField{"missesPerCpuSecond", &ProfileHistory::misses, kLargestFigure},
    FigureField{"missesPerKiloInstruction", &ProfileHistory::per_kilo, kLargestFigure},
    FigureField{"waitsPerCpuSecond", &ProfileHistory::waits, kLargestFigure}};

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string entry_text(const ProfileHistory& history) {
  std::string text = R"({"runs":)" + std::to_string(history.runs) + R"(,"lastUnix":)" +
                     std::to_string(history.last_unix_s);
  for (const FigureField& field : kFields) {
    const MeanFigure& figure = history.*field.figure;
    if (!figure.known()) continue;
    text += std::string(R"(,")") + field.name + R"(":{"value":)" + number_text(figure.value) +
            R"(,"seconds":)" + number_text(figure.seconds) + "}";
  }
  return text + "}";
}

// Of a number from `least` to `most`.
std::optional<double> number_at(const json& object, const char* name, double least, double most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!(value >= least && value <= most)) return std::nullopt;
  return value;
}

Result<ProfileHistory> read_entry(const json& entry) {
  const auto wrong = [](const std::string& what) { return failure(Errc::kInvalid, what); };
  if (!entry.is_object()) return wrong("not an object");
  ProfileHistory history;
  const auto runs = number_at(entry, "runs", 1, kMostRuns);
  if (!runs) return wrong("runs: not a number from 1 to " + std::to_string(kMostRuns));
  const auto last = number_at(entry, "lastUnix", 0, static_cast<double>(kLastSecond));
  if (!last) return wrong("lastUnix: not a time in seconds since 1970");
  history.runs = static_cast<int>(*runs);
  history.last_unix_s = static_cast<std::int64_t>(*last);
  for (const FigureField& field : kFields) {
    const auto found = entry.find(field.name);
    if (found == entry.end()) continue;
    if (!found->is_object()) return wrong(std::string(field.name) + ": not an object");
    const auto value = number_at(*found, "value", 0, field.most);
    const auto seconds = number_at(*found, "seconds", 0, 3 * kFullRunSeconds);
    if (!value) return wrong(std::string(field.name) + ".value: missing, or out of its range");
    if (!seconds) return wrong(std::string(field.name) + ".seconds: missing, or out of its range");
    history.*field.figure = {.value = *value, .seconds = *seconds};
  }
  return history;
}

// "NAMESPACE/JOB", as job_key() makes it.
bool is_key(const std::string& key) {
  const auto slash = key.find('/');
  return slash != std::string::npos && job_key(std::string_view(key).substr(0, slash),
                                               std::string_view(key).substr(slash + 1)) == key;
}

std::string_view namespace_of(std::string_view key) {
  return key.substr(0, key.find('/'));
}

}  // namespace

void drop_oldest(Histories& histories) {
  if (histories.size() <= kMostJobs) return;
  std::map<std::string, std::vector<std::string>, std::less<>> jobs;  // by namespace, newest first
  for (const auto& [key, history] : histories) {
    jobs[std::string(namespace_of(key))].push_back(key);
  }
  const auto newer = [&](const std::string& a, const std::string& b) {
    return histories.at(a).last_unix_s > histories.at(b).last_unix_s;
  };
  for (auto& [name, keys] : jobs) std::stable_sort(keys.begin(), keys.end(), newer);
  while (histories.size() > kMostJobs) {
    const auto most = std::max_element(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    histories.erase(most->second.back());
    most->second.pop_back();
  }
}

std::string to_text(const Histories& histories) {
  std::string text = "{";
  for (const auto& [key, history] : histories) {
    text += text.size() == 1 ? "\n" : ",\n";
    text += '"' + key + "\": " + entry_text(history);
  }
  return text + "\n}\n";
}

Result<ReadHistories> read_histories(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return failure(Errc::kInvalid, "no JSON object");
  ReadHistories read;
  const auto ignore = [&](const std::string& key, const std::string& why) {
    ++read.ignored;
    if (read.samples.size() < kMostSamples) read.samples.push_back(quoted_value(key) + ": " + why);
  };
  for (const auto& [key, entry] : document.items()) {
    if (!is_key(key)) {
      ignore(key, "not NAMESPACE/JOB");
      continue;
    }
    const auto history = read_entry(entry);
    if (history) {
      read.histories[key] = *history;
    } else {
      ignore(key, history.error().text);
    }
  }
  drop_oldest(read.histories);
  return read;
}

}  // namespace pinion::cluster::profiles
