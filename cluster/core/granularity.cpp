#include "cluster/core/granularity.h"

#include <algorithm>
#include <array>

#include "topology/words.h"

namespace pinion::cluster {
namespace {

constexpr std::array kPolicyWords{
    Word<Policy>{"none", Policy::kNone}, Word<Policy>{"scale", Policy::kScale},
    Word<Policy>{"granularity", Policy::kGranularity}, Word<Policy>{"auto", Policy::kAuto}};

Status check(const JobShape& job, int nodes) {
  const auto wrong = [](const std::string& what) { return failure(Errc::kInvalid, what); };
  if (job.tasks < 1)
    return wrong("a job needs at least one task, not " + std::to_string(job.tasks));
  if (nodes < 1) return wrong("a job needs at least one node, not " + std::to_string(nodes));
  if (job.workers < 1 || job.workers > job.tasks) {
    return wrong(std::to_string(job.workers) + " workers for " + std::to_string(job.tasks) +
                 " tasks: choose 1 to as many workers as tasks");
  }
  if (job.groups < 0 || job.groups > job.workers) {
    return wrong(std::to_string(job.groups) + " task groups for " + std::to_string(job.workers) +
                 " workers: choose 1 to as many groups as workers");
  }
  return {};
}

Granularity users_default(const JobShape& job, Cause cause) {
  return {.workers = job.workers, .groups = std::max(job.groups, 1), .nodes = 1, .cause = cause};
}

std::string count_of(int n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string text_of(Cause cause) {
  switch (cause) {
    case Cause::kNoPolicy:
      return "the user's own choice, no policy is set";
    case Cause::kNoProfile:
      return "the user's own choice, the job states no profile";
    case Cause::kNetwork:
      return "a network-bound job stays in one worker";
    case Cause::kWorkerPerNode:
      return "one worker for each node";
    case Cause::kWorkerPerTask:
      return "one worker for each task";
    case Cause::kFits:
      return "fits now, each group on a node of its own";
    case Cause::kFitsSplit:
      return "fits now, but some groups lie on several nodes";
    case Cause::kWaits:
      return "nothing fits now; the idle fleet could take this";
    case Cause::kNever:
      break;
  }
  return "no split of this job fits, even on the idle fleet";
}

}  // namespace

std::string_view to_string(Policy policy) {
  return word_of(policy, kPolicyWords);
}

std::optional<Policy> policy_of(std::string_view word) {
  return value_of(word, kPolicyWords);
}

std::string to_string(const Granularity& granularity) {
  std::string text = count_of(granularity.workers, "worker") + " in " +
                     count_of(granularity.groups, "group") + " on " +
                     count_of(granularity.nodes, "node") + ": " + text_of(granularity.cause);
  for (const Tried& tried : granularity.tried) {
    text += "; " + std::to_string(tried.workers) + " x " + std::to_string(tried.cpus) +
            " CPUs by " + std::string(topology::to_string(tried.align)) + ": room for " +
            (tried.room >= tried.workers ? "all" : std::to_string(tried.room));
  }
  return text;
}

Result<Granularity> choose_granularity(const JobShape& job, Policy policy, int nodes) {
  if (auto checked = check(job, nodes); !checked) return failure(std::move(checked.error()));
  if (policy == Policy::kAuto) {
    return failure(Errc::kInvalid, "policy auto looks at the fleet: use choose_by_fleet");
  }
  if (policy == Policy::kNone) return users_default(job, Cause::kNoPolicy);
  if (job.profile == Profile::kNone) return users_default(job, Cause::kNoProfile);
  if (job.profile == Profile::kNetwork) return Granularity{.cause = Cause::kNetwork};
  const int used = std::min(nodes, job.tasks);
  const bool per_task = policy == Policy::kGranularity;
  return Granularity{.workers = per_task ? job.tasks : used,
                     .groups = used,
                     .nodes = used,
                     .cause = per_task ? Cause::kWorkerPerTask : Cause::kWorkerPerNode};
}

}  // namespace pinion::cluster
