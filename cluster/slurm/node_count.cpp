#include "cluster/slurm/node_count.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>

#include "cluster/slurm/mark.h"

namespace pinion::slurm {
namespace {

using Phase = Placeholder::Phase;

struct Number {
  const char* name;
  std::int64_t least;
  std::int64_t most;
};

// As extender/elastic reads the annotations.
constexpr std::array kNumbers = {
    Number{"priority", -1'000'000'000, 1'000'000'000}, Number{"rescale-gap-seconds", 0, 604'800},
    Number{"rescale-cost-seconds", 0, 3'600}, Number{"run-seconds", 1, 31'536'000}};

}  // namespace

Result<std::map<std::string, std::string>> wishes_in(std::string_view comment) {
  std::map<std::string, std::string> wishes;
  for (const Number& word : kNumbers) {
    const std::string_view value = word_in(comment, word.name);
    if (value.empty()) continue;
    std::int64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end || number < word.least || number > word.most) {
      return failure(Errc::kInvalid, std::string(word.name) + " is to be a number from " +
                                         std::to_string(word.least) + " to " +
                                         std::to_string(word.most));
    }
    wishes.emplace(word.name, value);
  }
  return wishes;
}

Fit fit_of(const Job& job, const std::vector<const Placeholder*>& pods, int nodes, int cpus) {
  const std::set<std::string> on(job.on.begin(), job.on.end());
  const auto rank = [&](const Placeholder* pod) {
    const bool stays = !job.batch_host.empty() && pod->node == job.batch_host;
    return std::tuple(!on.contains(pod->node), !stays, pod->phase != Phase::kRunning,
                      pod->node.empty(), pod->index, pod->name);
  };
  std::vector<const Placeholder*> sorted = pods;
  std::sort(sorted.begin(), sorted.end(),
            [&](const Placeholder* a, const Placeholder* b) { return rank(a) < rank(b); });
  Fit fit;
  std::set<std::string> held;
  std::set<std::string> stay;
  bool shrinks = false;
  for (const Placeholder* pod : sorted) {
    const bool of_use = pod->phase != Phase::kLost && pod->cpus == cpus && pod->index >= 0 &&
                        (pod->node.empty() || !held.contains(pod->node));
    if (of_use && !pod->node.empty()) held.insert(pod->node);
    const bool its_own = of_use && on.contains(pod->node);
    if (of_use && static_cast<int>(fit.keep.size()) < nodes) {
      fit.keep.push_back(pod);
      if (its_own) stay.insert(pod->node);
      const bool can_be_taken = !its_own && pod->phase == Phase::kRunning && !pod->node.empty();
      if (can_be_taken && fit.take == nullptr) fit.take = pod;
    } else if (its_own) {
      shrinks = true;
    } else {
      fit.drop.push_back(pod);
    }
  }
  if (shrinks) fit.leave_to.assign(stay.begin(), stay.end());
  return fit;
}

}  // namespace pinion::slurm
