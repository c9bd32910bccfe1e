#include "cluster/extender/jobs/job_request.h"

#include <array>
#include <charconv>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cluster/core/learnt_profile.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"
#include "policy/policy.h"
#include "topology/words.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_at;
using nlohmann::json;

// Those that mean nothing without a number of tasks.
constexpr std::array kOnlyWithTasks{annotation::kCpusPerTask, annotation::kMemoryPerTask,
                                    annotation::kPolicy, annotation::kNodes,
                                    annotation::kWorkerRole};
// What the agent reads, beside the job, its groups and its profile; and the extender.
constexpr std::array kForWorkers{
    annotation::kAlign,     annotation::kSmt,        annotation::kStrength,  annotation::kMemory,
    annotation::kIsolation, annotation::kNearDevice, annotation::kPlacement, annotation::kClass};

tl::unexpected<Error> wrong(const std::string& name, const std::string& value,
                            const std::string& expected) {
  return failure(Errc::kInvalid,
                 "annotation " + name + ": " + quoted_value(value) + " is not " + expected);
}

// Reads the annotations one by one; the first error is kept.
class Annotations {
 public:
  explicit Annotations(const json& object) : all_(json_at(object, "metadata", "annotations")) {}

  [[nodiscard]] bool has(const char* name) const { return all_.is_object() && all_.contains(name); }

  std::string text(const char* name) {
    if (!has(name)) return {};
    const json& value = all_.at(name);
    if (value.is_string()) return value.get<std::string>();
    fail(wrong(name, value.dump(-1, ' ', true, json::error_handler_t::replace), "a text").value());
    return {};
  }

  int number(const char* name, int otherwise, int most) {
    if (!has(name)) return otherwise;
    const std::string digits = text(name);
    int value = 0;
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= 1 && value <= most) return value;
    fail(wrong(name, digits, "a whole number from 1 to " + std::to_string(most)).value());
    return otherwise;
  }

  std::optional<Bytes> bytes(const char* name) {
    if (!has(name)) return std::nullopt;
    const std::string value = text(name);
    const auto amount = whole_quantity(value);
    if (amount && *amount > 0) return static_cast<Bytes>(*amount);
    fail(wrong(name, value, "an amount of memory as in 512Mi or 4Gi").value());
    return std::nullopt;
  }

  // The value of a word; `find` knows them, `words` lists them.
  template <class T, class Find>
  std::optional<T> word(const char* name, const Find& find, const std::string& words) {
    if (!has(name)) return std::nullopt;
    const std::string value = text(name);
    const std::optional<T> known = find(value);
    if (!known) fail(wrong(name, value, "one of: " + words).value());
    return known;
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const json& all_;
  std::optional<Error> error_;
};

// One that speaks of another profile is left from an earlier job.
std::string profile_why_of(Profile profile, const std::string& why) {
  return why.starts_with(word_or_none(profile) + ": ") ? why : std::string();
}

void read_choices(Annotations& annotations, JobRequest& request) {
  request.profile =
      annotations
          .word<Profile>(
              annotation::kProfile,
              [](const std::string& word) { return value_of(word, topology::kProfileWords); },
              list_of(topology::kProfileWords))
          .value_or(Profile::kNone);
  request.profile_why = profile_why_of(request.profile, annotations.text(annotation::kProfileWhy));
  request.policy = annotations.word<Policy>(
      annotation::kPolicy, [](const std::string& word) { return policy_of(word); },
      "none, scale, granularity, auto");
  annotations.word<bool>(
      annotation::kClass,
      [](const std::string& word) { return value_of(word, policy::kClassWords); },
      list_of(policy::kClassWords));
  for (const char* name : kForWorkers) {
    if (annotations.has(name)) request.for_workers[name] = annotations.text(name);
  }
}

// On a job that is cut it is the name of what was made.
bool wants_hostfile(Annotations& annotations) {
  if (!annotations.has(annotation::kHostfile)) return true;
  const std::string value = annotations.text(annotation::kHostfile);
  if (value == "none") return false;
  if (!annotations.has(annotation::kDecided)) {
    annotations.fail(wrong(annotation::kHostfile, value, "one of: none").value());
  }
  return true;
}

}  // namespace

Result<std::optional<JobRequest>> read_job_request(const json& object) {
  Annotations annotations(object);
  if (!annotations.has(annotation::kTasks)) {
    for (const char* name : kOnlyWithTasks) {
      if (!annotations.has(name)) continue;
      return failure(Errc::kInvalid, "annotation " + std::string(name) + " needs " +
                                         annotation::kTasks + ": state how many tasks the job has");
    }
    return std::optional<JobRequest>();
  }
  JobRequest request;
  request.tasks = annotations.number(annotation::kTasks, 1, kMaxTasks);
  request.cpus_per_task =
      annotations.number(annotation::kCpusPerTask, 1, topology::CpuSet::kCapacity);
  request.memory_per_task = annotations.bytes(annotation::kMemoryPerTask);
  request.nodes = annotations.number(annotation::kNodes, 0, kMaxNodes);
  request.groups = annotations.number(annotation::kTaskGroups, 0, kMaxTasks);
  request.job = policy::cut_name(annotations.text(annotation::kJob));
  request.worker_role = annotations.text(annotation::kWorkerRole);
  request.hostfile = wants_hostfile(annotations);
  read_choices(annotations, request);
  if (annotations.error()) return failure(*annotations.error());
  return std::optional(std::move(request));
}

std::string words_of(const JobRequest& request) {
  std::string text = counted(request.tasks, "task") + " x " + counted(request.cpus_per_task, "CPU");
  if (request.memory_per_task) text += ", " + quantity_text(*request.memory_per_task) + " each";
  const std::string_view profile = word_of(request.profile, topology::kProfileWords);
  if (!profile.empty()) text += ", profile " + std::string(profile);
  if (request.policy) text += ", policy " + std::string(to_string(*request.policy));
  if (request.nodes > 0) text += ", at most " + counted(request.nodes, "node");
  if (request.groups > 0) text += ", " + counted(request.groups, "group");
  return text;
}

std::string counted(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string quantity_text(Bytes bytes) {
  constexpr std::array<const char*, 7> suffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  while (bytes > 0 && bytes % 1024 == 0 && power + 1 < suffixes.size()) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + suffixes[power];
}

}  // namespace pinion::cluster::jobs
