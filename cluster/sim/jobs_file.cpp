#include "cluster/sim/jobs_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/quantity.h"
#include "cluster/sim/malleable.h"
#include "cluster/sim/swf.h"
#include "cluster/sim/yaml_number.h"
#include "topology/words.h"

namespace pinion::sim {
namespace {

constexpr std::array<std::string_view, 27> kJobKeys{"name",
                                                    "count",
                                                    "submit",
                                                    "every",
                                                    "run",
                                                    "request",
                                                    "tasks",
                                                    "cpus-per-task",
                                                    "memory-per-task",
                                                    "workers",
                                                    "groups",
                                                    "nodes",
                                                    "profile",
                                                    "kind",
                                                    "user",
                                                    "priority",
                                                    "min",
                                                    "max",
                                                    "change",
                                                    "times",
                                                    "serial",
                                                    "launcher",
                                                    "gap",
                                                    "restart",
                                                    "restart-per-worker",
                                                    "rebalance",
                                                    "wishes"};
constexpr std::array kElasticKeys{"min",       "max",     "change",
                                  "times",     "serial",  "launcher",
                                  "gap",       "restart", "restart-per-worker",
                                  "rebalance", "wishes"};
constexpr std::array kChangeWords{Word<cluster::Change>{"rigid", cluster::Change::kRigid},
                                  Word<cluster::Change>{"moldable", cluster::Change::kMoldable},
                                  Word<cluster::Change>{"malleable", cluster::Change::kMalleable}};
constexpr int kMostCpus = 4096;  // of a task
constexpr std::size_t kMostName = 100;
constexpr std::size_t kMostTimes = 100;
constexpr std::size_t kMostWishes = 100;
constexpr double kLeastSeconds = 0.001;
constexpr double kMostRescale = 1e5;  // seconds

std::string word_in(YamlEntry& entry, const char* key) {
  std::string word = entry.text(key);
  const bool plain = word.size() <= kMostName && std::all_of(word.begin(), word.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                     });
  if (!plain) {
    entry.fail(entry[key],
               std::string(key) + ": letters, digits, '.', '_' and '-' only, 100 at most");
  }
  return word;
}

Ms ms_in(YamlEntry& entry, const char* key, Ms otherwise) {
  const double seconds =
      yaml_number(entry, key, static_cast<double>(otherwise) / 1000, 0, kMostSeconds);
  return static_cast<Ms>(std::llround(seconds * 1000));
}

// The seconds with each number of workers; empty after an error.
std::vector<cluster::SizeRate> read_times(YamlEntry& entry) {
  const YAML::Node node = entry["times"];
  if (!node.IsMap() || node.size() == 0 || node.size() > kMostTimes) {
    entry.fail(node, "times must be a map from numbers of workers to seconds, 100 at most");
    return {};
  }
  std::vector<cluster::SizeRate> times;
  for (const auto& one : node) {
    const double workers =
        number_of(entry, one.first, "times: a number of workers", 1, kMaxProcessors);
    const double seconds =
        number_of(entry, one.second, "times: seconds", kLeastSeconds, kMostSeconds);
    const cluster::SizeRate rate{static_cast<int>(workers), 1 / seconds};
    const bool twice = std::any_of(times.begin(), times.end(), [&](const cluster::SizeRate& other) {
      return other.workers == rate.workers;
    });
    if (rate.workers != workers || twice) {
      entry.fail(one.first, "times: numbers of workers must be whole and differ");
    }
    if (entry.error()) return {};
    times.push_back(rate);
  }
  return times;
}

// How fast it is with how many; says how long it runs where `times` are given.
void read_speed_up(YamlEntry& entry, Elastic& elastic, Job& job) {
  if (!entry.has("times")) {
    elastic.speed_up = cluster::SpeedUp(
        yaml_number(entry, "serial", cluster::kCautiousSerial, 0, 1), job.shape.tasks);
    return;
  }
  if (entry.has("run") || entry.has("serial")) {
    entry.fail(entry["times"], "times: give it without 'run' and 'serial'");
  }
  auto times = read_times(entry);
  if (!entry.error()) set_rates(job, elastic, std::move(times));
}

double ms_part(YamlEntry& entry, const char* key) {
  return 1000 * yaml_number(entry, key, 0, 0, kMostRescale);
}

// Empty after an error.
std::vector<Wish> read_wishes(YamlEntry& entry, const Elastic& elastic) {
  const YAML::Node node = entry["wishes"];
  if (!node.IsMap() || node.size() > kMostWishes) {
    entry.fail(node, "wishes must be a map from seconds to numbers of workers, " +
                         std::to_string(kMostWishes) + " at most");
    return {};
  }
  std::map<Ms, int> wishes;
  for (const auto& one : node) {
    const double seconds = number_of(entry, one.first, "wishes: seconds", 0, kMostSeconds);
    const double workers =
        number_of(entry, one.second, "wishes: a number of workers", 0, elastic.max);
    const auto whole = static_cast<int>(workers);
    if (whole != workers || (whole > 0 && whole < elastic.min)) {
      entry.fail(one.second, "wishes: a number of workers is whole, and from min to max or 0");
    }
    if (!wishes.emplace(std::llround(seconds * 1000), whole).second) {
      entry.fail(one.first, "wishes: seconds must differ");
    }
    if (entry.error()) return {};
  }
  std::vector<Wish> in_order;
  in_order.reserve(wishes.size());
  for (const auto& [after, workers] : wishes) {
    in_order.push_back({.after = after, .workers = workers});
  }
  return in_order;
}

void read_elastic(YamlEntry& entry, const YAML::Node& node, Job& job) {
  if (std::none_of(kElasticKeys.begin(), kElasticKeys.end(),
                   [&](const char* key) { return entry.has(key); })) {
    return;
  }
  auto elastic = std::make_shared<Elastic>();
  if (!entry.has("tasks")) job.shape.tasks = entry.number("max", 1, kMaxProcessors);
  elastic->min = entry.number("min", 1, kMaxProcessors);
  elastic->max = entry.number("max", job.shape.tasks, kMaxProcessors);
  elastic->change = entry.word("change", kChangeWords, cluster::Change::kMalleable);
  if (elastic->change == cluster::Change::kRigid) elastic->min = elastic->max = job.shape.tasks;
  if (entry.has("min") && entry.has("max") && elastic->min > elastic->max) {
    entry.fail(node, "min is larger than max");
  }
  if (elastic->min > job.shape.tasks || job.shape.tasks > elastic->max) {
    entry.fail(node, "tasks must lie between min and max");
  }
  elastic->launcher = entry.number("launcher", 0, kMaxProcessors, 0);
  if (entry.has("gap")) elastic->gap = ms_in(entry, "gap", 0);
  elastic->restart = ms_part(entry, "restart");
  elastic->restart_per_worker = ms_part(entry, "restart-per-worker");
  elastic->rebalance = ms_part(entry, "rebalance");
  if (entry.has("wishes")) elastic->wishes = read_wishes(entry, *elastic);
  read_speed_up(entry, *elastic, job);
  job.elastic = std::move(elastic);
}

struct Entry {
  Job job;
  int count = 0;  // 0: one, of that very name
  Ms every = 0;
};

Result<Entry> read_entry(const YAML::Node& node) {
  if (!node.IsMap()) return yaml_error(node, "an entry must be a map with a run time");
  YamlEntry entry(node, kJobKeys);
  Entry result;
  Job& job = result.job;
  if (!entry.has("run") && !entry.has("kind") && !entry.has("times")) {
    entry.fail(node, "one of the keys 'run', 'kind' and 'times' is missing");
  }
  job.name = word_in(entry, "name");
  job.kind = word_in(entry, "kind");
  job.user = word_in(entry, "user");
  result.count = entry.number("count", 0, kMaxFileJobs);
  result.every = ms_in(entry, "every", 0);
  job.submit = ms_in(entry, "submit", 0);
  job.run = ms_in(entry, "run", 0);
  job.shape.tasks = entry.number("tasks", 1, kMaxProcessors);
  read_elastic(entry, node, job);
  job.request = std::max(job.run, ms_in(entry, "request", 0));
  job.shape.cpus_per_task = entry.number("cpus-per-task", 1, kMostCpus);
  job.shape.workers = entry.number("workers", 0, kMaxProcessors);
  job.shape.groups = entry.number("groups", 0, kMaxProcessors);
  job.nodes = entry.number("nodes", 0, kMaxProcessors);
  job.shape.profile = entry.word("profile", topology::kProfileWords, topology::Profile::kNone);
  job.priority = entry.number("priority", 0, 1'000'000, -1'000'000);
  if (entry.has("memory-per-task")) {
    const auto memory = byte_quantity(entry.text("memory-per-task"));
    if (memory) {
      job.shape.memory_per_task = *memory;
    } else {
      entry.fail(entry["memory-per-task"], "memory-per-task: " + memory.error().text);
    }
  }
  if (job.shape.workers > job.shape.tasks) entry.fail(node, "more workers than tasks");
  if (job.shape.groups > std::max(job.shape.workers, 1)) {
    entry.fail(node, "more groups than workers");
  }
  if (entry.error()) return failure(*entry.error());
  return result;
}

}  // namespace

Result<std::vector<Job>> parse_jobs_file(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<std::vector<Job>> {
    if (!root.IsSequence()) return yaml_error(root, "the file must be a list of jobs");
    std::vector<Job> jobs;
    std::set<std::string> names;
    for (const YAML::Node& one : root) {
      auto entry = read_entry(one);
      if (!entry) return failure(std::move(entry.error()));
      const int count = std::max(entry->count, 1);
      if (std::ssize(jobs) + count > kMaxFileJobs) {
        return yaml_error(one, "more than " + std::to_string(kMaxFileJobs) + " jobs");
      }
      for (int i = 0; i < count; ++i) {
        Job job = entry->job;
        job.number = std::ssize(jobs) + 1;
        job.submit += i * entry->every;
        if (!job.name.empty() && entry->count > 0) job.name += "-" + std::to_string(i);
        if (!names.insert(job.called()).second) {
          return yaml_error(one, "two jobs are called '" + job.called() + "'");
        }
        jobs.push_back(std::move(job));
      }
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Job& a, const Job& b) { return a.submit < b.submit; });
    return jobs;
  });
}

}  // namespace pinion::sim
