#include "metrics/task_totals.h"

#include <algorithm>
#include <array>

namespace pinion::metrics {
namespace {

using Counter = std::optional<std::uint64_t> TaskCounters::*;

constexpr std::array<Counter, 4> kCounters{
    &TaskCounters::voluntary_switches, &TaskCounters::involuntary_switches,
    &TaskCounters::run_queue_wait_ns, &TaskCounters::migrations};

// Did any counter go back? Then this is another thread under the same id.
bool is_another(const TaskCounters& last, const TaskCounters& now) {
  return std::any_of(kCounters.begin(), kCounters.end(), [&](Counter counter) {
    return last.*counter && now.*counter && *(now.*counter) < *(last.*counter);
  });
}

}  // namespace

std::vector<int> TaskTotals::begin_scan(const std::vector<int>& tasks, bool complete) {
  threads_ = tasks.size();
  track(tasks, complete);
  scanned_ = true;
  return choose();
}

// Merges the list into what is tracked: ended threads are forgotten, new ones taken in.
void TaskTotals::track(const std::vector<int>& tasks, bool complete) {
  // A thread that gets its place only now may be an old one that was left out so far.
  const bool baseline = scanned_ ? left_out_ : !fresh_;
  std::vector<Task> merged;
  merged.reserve(std::min(tasks.size(), limits_.tracked));
  // First those that are tracked already, so that no new one takes the place of one of them.
  auto known = tasks_.cbegin();
  std::vector<int> added;
  for (const int id : tasks) {
    while (known != tasks_.cend() && known->id < id) ++known;
    if (known != tasks_.cend() && known->id == id) {
      merged.push_back(*known);
    } else {
      added.push_back(id);
    }
  }
  const std::size_t room = limits_.tracked - merged.size();
  left_out_ = added.size() > room || !complete;
  if (added.size() > room) added.resize(room);
  incomplete_ = incomplete_ || left_out_;
  const auto middle = static_cast<std::ptrdiff_t>(merged.size());
  for (const int id : added) merged.push_back({.id = id, .baseline = baseline, .last = {}});
  std::inplace_merge(merged.begin(), merged.begin() + middle, merged.end(),
                     [](const Task& a, const Task& b) { return a.id < b.id; });
  tasks_ = std::move(merged);
}

std::vector<int> TaskTotals::choose() {
  const std::size_t count = std::min(tasks_.size(), limits_.read_per_scan);
  std::vector<int> chosen;
  chosen.reserve(count);
  auto at = std::lower_bound(tasks_.cbegin(), tasks_.cend(), next_,
                             [](const Task& task, int id) { return task.id < id; });
  while (chosen.size() < count) {
    if (at == tasks_.cend()) at = tasks_.cbegin();
    chosen.push_back(at->id);
    ++at;
  }
  next_ = at == tasks_.cend() ? 0 : at->id;
  return chosen;
}

void TaskTotals::add(int task, const TaskCounters& now) {
  const auto found = std::lower_bound(tasks_.begin(), tasks_.end(), task,
                                      [](const Task& t, int id) { return t.id < id; });
  if (found == tasks_.end() || found->id != task) return;
  if (is_another(found->last, now)) {
    found->last = {};
    found->baseline = false;
  }
  for (const Counter counter : kCounters) {
    if (!(now.*counter)) continue;
    const std::uint64_t count = *(now.*counter);
    const std::uint64_t before = (found->last.*counter).value_or(found->baseline ? count : 0);
    sums_.*counter = (sums_.*counter).value_or(0) + (count - before);
    found->last.*counter = count;
  }
}

}  // namespace pinion::metrics
