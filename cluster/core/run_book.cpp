#include "cluster/core/run_book.h"

#include <algorithm>
#include <set>

namespace pinion::cluster {
namespace {

constexpr std::size_t kLongestNamespace = 63;
constexpr std::size_t kLongestJob = 253;

bool is_name(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

// How much a counter grew; nothing where it is not there, or began anew.
std::optional<double> grown(const std::optional<double>& from, const std::optional<double>& to) {
  if (!from || !to || *to < *from) return std::nullopt;
  return *to - *from;
}

}  // namespace

std::string job_key(std::string_view name_space, std::string_view job) {
  if (!is_name(name_space, kLongestNamespace) || !is_name(job, kLongestJob)) return {};
  return std::string(name_space) + "/" + std::string(job);
}

std::vector<EndedRun> RunBook::observe(const std::string& node,
                                       const std::vector<ContainerUse>& now, double now_s) {
  std::vector<EndedRun> ended;
  const auto known = nodes_.find(node);
  if (known == nodes_.end() && now.empty()) return ended;
  Node& at = nodes_[node];
  at.heard_s = now_s;
  std::set<std::string_view> here;
  for (const ContainerUse& use : now) {
    here.insert(use.id);
    const auto [container, is_new] = at.containers.try_emplace(use.id, Container{use, now_s});
    if (is_new) {
      ++runs_[use.job].containers;
    } else {
      compare(container->second, use, now_s);
    }
  }
  // After those that are new, so that a container that starts again in its place ends no run.
  for (auto container = at.containers.begin(); container != at.containers.end();) {
    if (here.contains(container->first)) {
      ++container;
    } else {
      leave(container->second.at.job, ended);
      container = at.containers.erase(container);
    }
  }
  if (at.containers.empty()) nodes_.erase(node);
  return ended;
}

std::vector<EndedRun> RunBook::expire(double now_s) {
  std::vector<EndedRun> ended;
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (now_s - node->second.heard_s <= kNodeSilence) {
      ++node;
      continue;
    }
    for (const auto& [id, container] : node->second.containers) leave(container.at.job, ended);
    node = nodes_.erase(node);
  }
  return ended;
}

std::optional<RunFigures> RunBook::under_way(const std::string& job) const {
  const auto run = runs_.find(job);
  return run == runs_.end() ? std::nullopt : std::optional(run->second.figures);
}

void RunBook::compare(Container& container, const ContainerUse& now, double now_s) {
  const double seconds = now_s - container.at_s;
  const Container before = container;
  const bool anew = before.at.used_s && now.used_s && *now.used_s < *before.at.used_s;
  if (before.at.used_s && now.used_s && !anew && seconds < kUseInterval) return;
  container.at = now;
  container.at.job = before.at.job;  // as its run was counted
  container.at_s = now_s;
  const auto used = grown(before.at.used_s, now.used_s);
  // After so long a silence nobody knows what was there.
  if (!used || seconds > kNodeSilence) return;
  const double allotted = seconds * now.cpus;
  if (!(*used >= kLeastUse * allotted)) return;
  RunFigures figures;
  figures.allotted = allotted;
  figures.used = *used;
  const auto misses = grown(before.at.misses, now.misses);
  const auto instructions = grown(before.at.instructions, now.instructions);
  if (misses && instructions) {
    figures.counted = allotted;
    figures.misses = *misses;
    figures.instructions = *instructions;
  }
  if (const auto waits = grown(before.at.waits, now.waits)) {
    figures.waits_counted = allotted;
    figures.waits = *waits;
  }
  Run& run = runs_[container.at.job];
  run.figures += figures;
  // Containers are compared at different moments: what two of them have in common counts once.
  run.figures.seconds += now_s - std::clamp(run.counted_until_s, before.at_s, now_s);
  run.counted_until_s = now_s;
}

void RunBook::leave(const std::string& job, std::vector<EndedRun>& ended) {
  const auto run = runs_.find(job);
  if (run == runs_.end() || --run->second.containers > 0) return;
  if (run->second.figures.allotted > 0) ended.push_back({job, run->second.figures});
  runs_.erase(run);
}

}  // namespace pinion::cluster
