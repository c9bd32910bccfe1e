#include "cluster/extender/elastic/workers.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::elastic {
namespace {

// Namespace, what stands before the number, and whether letters follow it.
using Called = std::tuple<std::string, std::string, bool>;
using ByNumber = std::multimap<int, HeldCpus>;

// What room there is for a worker depends on.
using Alike = std::tuple<int, topology::Align, topology::Strength, topology::Smt,
                         topology::MemoryPolicy, topology::Bytes, bool>;

Alike alike(const topology::Request& request) {
  return {request.cpus,          request.align,  request.strength,    request.smt,
          request.memory_policy, request.memory, request.use_isolated};
}

constexpr std::size_t kLetters = 5;  // that a Job's controller puts behind the number
// Nodes that are looked at for what would be there without elastic jobs, of all kinds of workers
// together: the scheduler waits meanwhile.
constexpr std::size_t kMostLooks = 50'000;

Called called(const ElasticObject& job) {
  std::string before = job.name;
  if (job.kind == jobs::JobKind::kMpiJob) before += "-worker";
  if (job.kind == jobs::JobKind::kVolcanoJob) {
    const auto& tasks = kube::json_at(job.spec_part, "tasks");
    if (job.worker_task < tasks.size()) {
      before += "-" + kube::json_text(tasks[job.worker_task], "name");
    }
  }
  return {job.name_space, before, job.kind == jobs::JobKind::kIndexedJob};
}

// nullopt: the name does not end with a number.
std::optional<std::pair<std::string_view, int>> cut(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dash + 1);
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  int number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return std::pair(name.substr(0, dash), number);
}

}  // namespace

std::map<std::string, OnFleet> on_fleet(const Fleet& fleet, const std::vector<ElasticObject>& jobs,
                                        const std::vector<PodCpus>& pods) {
  std::map<Called, ByNumber> workers;
  std::vector<HeldCpus> all_workers;
  for (const ElasticObject& job : jobs) workers.try_emplace(called(job));
  for (const PodCpus& pod : pods) {
    const std::string_view name = pod.name;
    for (const bool letters : {false, true}) {
      const std::size_t dash = name.rfind('-');
      if (letters && (dash == std::string_view::npos || name.size() - dash - 1 != kLetters))
        continue;
      const auto found = cut(letters ? name.substr(0, dash) : name);
      if (!found) continue;
      const auto of = workers.find({pod.name_space, std::string(found->first), letters});
      if (of == workers.end()) continue;
      of->second.emplace(found->second, pod.held);
      all_workers.push_back(pod.held);
    }
  }
  std::map<std::string, OnFleet> seen;
  std::map<Alike, std::int64_t> at_best;
  std::optional<RoomWhenLeft> without_workers;
  std::size_t looks = 0;
  for (const ElasticObject& job : jobs) {
    OnFleet& own = seen[job.uid];
    own.room = own.room_at_best = fleet.room_at_most(job.request);
    if (job.workers() == 0 && own.room < job.wish().value_or(job.min_workers)) {
      const auto [best, is_new] = at_best.try_emplace(alike(job.request), kAnyRoom);
      if (is_new && looks < kMostLooks) {
        if (!without_workers) without_workers.emplace(fleet, all_workers);
        looks += without_workers->nodes() + 1;
        best->second = without_workers->of(job.request);
      }
      own.room_at_best = best->second;
    }
    const ByNumber& numbers = workers.at(called(job));
    // 0, 1, 2 and so on, each once.
    int next = 0;
    const bool known = std::all_of(numbers.begin(), numbers.end(),
                                   [&](const auto& worker) { return worker.first == next++; });
    if (known) own.placed = next;
    if (!known || next != job.stated || next == 0) continue;
    std::vector<HeldCpus> leaving;
    for (auto at = numbers.rbegin(); at != numbers.rend(); ++at) leaving.push_back(at->second);
    own.frees_whole = whole_nodes_freed(fleet, leaving);
  }
  return seen;
}

}  // namespace pinion::cluster::elastic
