#include "cluster/sim/jobs_file.h"

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "cluster/sim/swf.h"
#include "cluster/sim/yaml_number.h"

namespace pinion::sim {
namespace {

using ctl::YamlEntry;

constexpr std::array<std::string_view, 16> kJobKeys{
    "name",          "count",           "submit",  "every",  "run",   "request", "tasks",
    "cpus-per-task", "memory-per-task", "workers", "groups", "nodes", "profile", "kind",
    "user",          "priority"};
constexpr double kMostSeconds = 1e9;
constexpr int kMostCpus = 4096;  // of a task
constexpr std::size_t kMostName = 100;

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

struct Entry {
  Job job;
  int count = 0;  // 0: one, of that very name
  Ms every = 0;
};

Result<Entry> read_entry(const YAML::Node& node) {
  if (!node.IsMap()) return ctl::yaml_error(node, "an entry must be a map with a run time");
  YamlEntry entry(node, kJobKeys);
  Entry result;
  Job& job = result.job;
  if (!entry.has("run") && !entry.has("kind")) entry.fail(node, "the key 'run' is missing");
  job.name = word_in(entry, "name");
  job.kind = word_in(entry, "kind");
  job.user = word_in(entry, "user");
  result.count = entry.number("count", 0, kMaxFileJobs);
  result.every = ms_in(entry, "every", 0);
  job.submit = ms_in(entry, "submit", 0);
  job.run = ms_in(entry, "run", 0);
  job.request = std::max(job.run, ms_in(entry, "request", 0));
  job.shape.tasks = entry.number("tasks", 1, kMaxProcessors);
  job.shape.cpus_per_task = entry.number("cpus-per-task", 1, kMostCpus);
  job.shape.workers = entry.number("workers", 0, kMaxProcessors);
  job.shape.groups = entry.number("groups", 0, kMaxProcessors);
  job.nodes = entry.number("nodes", 0, kMaxProcessors);
  job.shape.profile = entry.word("profile", topology::kProfileWords, topology::Profile::kNone);
  job.priority = static_cast<std::int32_t>(yaml_number(entry, "priority", 0, -1e6, 1e6));
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
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsSequence()) return ctl::yaml_error(root, "the file must be a list of jobs");
    std::vector<Job> jobs;
    for (const YAML::Node& one : root) {
      auto entry = read_entry(one);
      if (!entry) return failure(std::move(entry.error()));
      const int count = std::max(entry->count, 1);
      if (std::ssize(jobs) + count > kMaxFileJobs) {
        return ctl::yaml_error(one, "more than " + std::to_string(kMaxFileJobs) + " jobs");
      }
      for (int i = 0; i < count; ++i) {
        Job job = entry->job;
        job.number = std::ssize(jobs) + 1;
        job.submit += i * entry->every;
        if (!job.name.empty() && entry->count > 0) job.name += "-" + std::to_string(i);
        jobs.push_back(std::move(job));
      }
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Job& a, const Job& b) { return a.submit < b.submit; });
    return jobs;
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, ctl::yaml_line(error.mark) + error.msg);
  }
}

}  // namespace pinion::sim
