#include "cluster/slurm/job_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/slurm/answer_json.h"
#include "cluster/slurm/hostlist.h"

namespace pinion::slurm {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

// A number, or an object that says whether there is one: {"set": true, "infinite": false,
// "number": 4}. nullopt: there is none, or it is infinite.
std::optional<std::int64_t> number_of(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_object() || json_at(value, "set") != json(true)) return std::nullopt;
  if (json_at(value, "infinite") == json(true)) return std::nullopt;
  const json& number = json_at(value, "number");
  return number.is_object() ? std::nullopt : number_of(number);
}

std::int64_t number(const json& job, const char* name) {
  return std::max<std::int64_t>(number_of(json_at(job, name)).value_or(0), 0);
}

int small(const json& job, const char* name) {
  return static_cast<int>(std::min<std::int64_t>(number(job, name), 1'000'000'000));
}

std::uint32_t id_of(const json& job, const char* name) {
  const std::int64_t id = number(job, name);
  return id > std::numeric_limits<std::uint32_t>::max() ? 0 : static_cast<std::uint32_t>(id);
}

// A word, or the words of a list.
bool has(const json& value, std::string_view word) {
  if (value.is_string()) return value.get_ref<const std::string&>() == word;
  return value.is_array() && std::any_of(value.begin(), value.end(), [&](const json& one) {
           return one.is_string() && one.get_ref<const std::string&>() == word;
         });
}

template <std::size_t N>
bool has_any(const json& value, const std::array<const char*, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return has(value, word); });
}

Job::State state_of(const json& state) {
  constexpr std::array ending = {"COMPLETING", "STAGE_OUT"};
  constexpr std::array pending = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                                  "SPECIAL_EXIT"};
  constexpr std::array running = {"RUNNING",  "SUSPENDED", "CONFIGURING",
                                  "RESIZING", "SIGNALING", "STOPPED"};
  constexpr std::array over = {"COMPLETED", "CANCELLED", "FAILED",   "TIMEOUT",      "NODE_FAIL",
                               "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"};
  if (has_any(state, ending)) return Job::State::kEnding;
  if (has_any(state, pending)) return Job::State::kPending;
  if (has_any(state, running)) return Job::State::kRunning;
  return has_any(state, over) ? Job::State::kOver : Job::State::kEnding;
}

// Nothing for a list that cannot be read.
std::vector<std::string> hosts(const json& job, const char* name) {
  return expand_hosts(json_text(job, name)).value_or(std::vector<std::string>());
}

Job read_job(const json& from) {
  Job job;
  job.id = id_of(from, "job_id");
  job.submit_s = number(from, "submit_time");
  job.restarts = small(from, "restart_cnt");
  job.state = state_of(json_at(from, "job_state"));
  job.held = number_of(json_at(from, "priority")) == 0;
  job.dependent = !json_text(from, "dependency").empty();
  // Of who is held the start is not estimated: it is the begin.
  job.begin_s = number(from, "eligible_time");
  job.batch = json_at(from, "batch_flag") == json(true);
  job.requeues = json_at(from, "requeue") == json(true) && job.batch;
  job.reason = json_text(from, "state_reason");
  job.user = json_text(from, "user_name");
  job.uid = id_of(from, "user_id");
  job.gid = id_of(from, "group_id");
  job.account = json_text(from, "account");
  job.comment = json_text(from, "comment");
  job.admin_comment = json_text(from, "admin_comment");
  job.nodes = small(from, "node_count");
  job.max_nodes = small(from, "max_nodes");
  job.cpus = small(from, "cpus");
  job.tasks = small(from, "tasks");
  job.cpus_per_task = small(from, "cpus_per_task");
  job.tasks_per_node = small(from, "tasks_per_node");
  job.cpus_per_node = small(from, "minimum_cpus_per_node");
  job.memory_per_node_mib = number(from, "memory_per_node");
  job.memory_per_cpu_mib = number(from, "memory_per_cpu");
  // Slurm's words for what it shares its nodes with: with nobody.
  job.exclusive = has(json_at(from, "shared"), "none");
  job.heterogeneous = number(from, "het_job_id") > 0;
  job.constraint = json_text(from, "features");
  job.partitions = words_of(json_at(from, "partition"));
  job.excluded = hosts(from, "excluded_nodes");
  job.pinned = hosts(from, "required_nodes");
  job.on = hosts(from, "nodes");
  job.batch_host = json_text(from, "batch_host");
  job.array = id_of(from, "array_job_id");
  if (const auto element = number_of(json_at(from, "array_task_id"));
      job.array != 0 && element && *element >= 0 && *element < std::numeric_limits<int>::max()) {
    job.element = static_cast<int>(*element);
  }
  job.elements = json_text(from, "array_task_string");
  job.most_elements = small(from, "array_max_tasks");
  return job;
}

}  // namespace

Result<std::vector<Job>> read_jobs(std::string_view text) {
  const auto list = list_of_answer(text, "jobs");
  if (!list) return failure(list.error());
  std::vector<Job> jobs;
  jobs.reserve(list->size());
  for (const json& one : *list) {
    Job job = read_job(one);
    if (job.id != 0) jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace pinion::slurm
