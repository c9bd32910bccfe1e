#include "cluster/core/auto_granularity.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cluster/core/split.h"

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Holes;

// How many workers of a split the nodes take, one number for each node that takes any, the largest
// first.
using Room = std::vector<int>;

// A split in one alignment.
struct Way {
  int workers = 1;
  Align align = Align::kNuma;
  topology::Request large{};  // what the workers with one more task ask
  topology::Request small{};  // what the others ask; the same in an even split
};

ResourceList requests_of(const topology::Request& request) {
  return {.milli_cpus = std::int64_t{1000} * request.cpus,
          .memory = static_cast<std::int64_t>(
              std::min<topology::Bytes>(request.memory, std::numeric_limits<std::int64_t>::max())),
          .members = 1};
}

int room_in(Holes holes, const ResourceList& capacity, const Way& way) {
  Holes again = holes;
  const int most = times(capacity, requests_of(way.large), way.workers);
  const int large = topology::reserve_in(holes, way.large, most);
  if (way.small.cpus == way.large.cpus) return large;
  return std::min(large, topology::reserve_in(again, way.small, most));
}

// Nodes by their holes, of which many may be alike.
class Supply {
 public:
  void add(const Holes& holes, const ResourceList& capacity, int nodes) {
    alike_.push_back({&holes, capacity, nodes});
  }

  [[nodiscard]] Room room(const Way& way) const {
    Room room;
    if (way.large.cpus > largest(way.align, way.large.smt)) return room;
    for (const auto& [holes, capacity, nodes] : alike_) {
      const int here = room_in(*holes, capacity, way);
      if (here > 0) room.insert(room.end(), static_cast<std::size_t>(nodes), here);
    }
    std::sort(room.begin(), room.end(), std::greater<>());
    return room;
  }

 private:
  // Most splits of a large job are too coarse for any hole, and there may be a thousand of them.
  [[nodiscard]] int largest(Align align, topology::Smt smt) const {
    auto& known = largest_.at(static_cast<std::size_t>(align));
    if (!known) {
      known = 0;
      for (const auto& [holes, capacity, nodes] : alike_)
        known = std::max(*known, holes->largest(align, smt));
    }
    return *known;
  }

  struct Alike {
    const Holes* holes;
    ResourceList capacity;
    int nodes;
  };
  std::vector<Alike> alike_;
  // By Align; all ways of a job have the same Smt.
  mutable std::array<std::optional<int>, 4> largest_;
};

Supply supply_now(const std::vector<FreeNode>& fleet) {
  Supply supply;
  for (const FreeNode& node : fleet) supply.add(node.holes, node.spare, 1);
  return supply;
}

Supply supply_idle(const std::vector<FreeNode>& fleet) {
  const auto amounts = [](const ResourceList& capacity) {
    return std::tuple(capacity.milli_cpus, capacity.memory, capacity.members);
  };
  using Key = std::pair<const MachineKind*, decltype(amounts(ResourceList()))>;
  struct Alike {
    ResourceList capacity;
    int nodes = 0;
  };
  std::map<Key, Alike> alike;
  for (const FreeNode& node : fleet) {
    Alike& it = alike[{node.kind.get(), amounts(node.capacity)}];
    it.capacity = node.capacity;
    ++it.nodes;
  }
  Supply supply;
  for (const auto& [key, it] : alike) supply.add(key.first->idle, it.capacity, it.nodes);
  return supply;
}

// The workers that so many nodes hold, counted up to all of them.
int total(const Room& room, int workers, int nodes) {
  int sum = 0;
  for (std::size_t at = 0; at < room.size() && at < static_cast<std::size_t>(nodes); ++at) {
    sum = std::min(workers, sum + room[at]);
  }
  return sum;
}

// Whether so many balanced groups each find a node of their own.
bool holds_groups(const Room& room, int workers, int groups) {
  if (room.size() < static_cast<std::size_t>(groups)) return false;
  for (int group = 0; group < groups; ++group) {
    const int size = workers / groups + (group < workers % groups ? 1 : 0);
    if (room[static_cast<std::size_t>(group)] < size) return false;
  }
  return true;
}

// The numbers of groups in the order in which the profile likes them.
std::vector<int> group_numbers(const JobShape& job, int workers, int nodes) {
  const int most = std::min(workers, nodes);
  std::vector<int> numbers;
  for (int groups = most; groups >= 1; --groups) numbers.push_back(groups);
  if (job.profile == Profile::kNetwork) std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

// 0: they do not all find a node of their own.
int groups_that_fit(const JobShape& job, const Room& room, int workers, int nodes) {
  for (const int groups : group_numbers(job, workers, nodes)) {
    if (holds_groups(room, workers, groups)) return groups;
  }
  return 0;
}

// The numbers of workers whose largest worker differs, in the order in which the profile likes
// them. There are at most two square roots of the tasks.
std::vector<int> worker_numbers(const JobShape& job, int most_workers) {
  // Not (a + b - 1) / b, which would overflow.
  const auto rounded_up = [](int a, int b) { return a / b + (a % b == 0 ? 0 : 1); };
  std::vector<int> numbers;
  // The fewest workers of which none has more tasks than these most would have.
  int workers = rounded_up(job.tasks, rounded_up(job.tasks, std::min(job.tasks, most_workers)));
  while (workers >= 1) {
    numbers.push_back(workers);
    const int each = rounded_up(job.tasks, workers);
    if (workers == 1) break;
    workers = std::min(workers - 1, rounded_up(job.tasks, each + 1));
  }
  if (job.profile == Profile::kNetwork) std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<Align> aligns(const JobShape& job) {
  if (job.profile == Profile::kNetwork) return {Align::kNuma, Align::kSocket};
  return {Align::kL3, Align::kNuma};
}

// In the order in which the profile likes them; splits with a worker too large to state are left
// out.
std::vector<Way> ways_of(const JobShape& job, int most_workers) {
  std::vector<Way> ways;
  for (const int workers : worker_numbers(job, most_workers)) {
    const auto cut = split(job, workers);
    if (!cut) continue;
    for (const Align align : aligns(job)) {
      ways.push_back({.workers = workers,
                      .align = align,
                      .large = request_of(job, cut->front().cpus, cut->front().memory, align),
                      .small = request_of(job, cut->back().cpus, cut->back().memory, align)});
    }
  }
  return ways;
}

Granularity chosen(const Way& way, int groups, int nodes, Cause cause) {
  return {
      .workers = way.workers, .groups = groups, .nodes = nodes, .align = way.align, .cause = cause};
}

class Choice {
 public:
  Choice(const JobShape& job, int nodes, const std::vector<FreeNode>& fleet, int most_workers)
      : job_(job),
        nodes_(nodes),
        fleet_(fleet),
        most_workers_(most_workers),
        ways_(ways_of(job, most_workers)) {}

  Granularity make() {
    std::optional<Granularity> best = first_that_fits();
    if (!best) best = first_for_idle_fleet();
    if (!best) best = never();
    best->tried = std::move(tried_);
    return *best;
  }

 private:
  std::optional<Granularity> first_that_fits() {
    const Supply supply = supply_now(fleet_);
    std::optional<Granularity> split_groups;
    for (const Way& way : ways_) {
      const Room room = supply.room(way);
      const int all = total(room, way.workers, nodes_);
      note(way, all);
      if (all < way.workers) continue;
      const int groups = groups_that_fit(job_, room, way.workers, nodes_);
      if (groups > 0) return chosen(way, groups, groups, Cause::kFits);
      if (split_groups) continue;
      const int likes = group_numbers(job_, way.workers, nodes_).front();
      split_groups = chosen(way, likes, nodes_used(room, way.workers), Cause::kFitsSplit);
    }
    return split_groups;
  }

  std::optional<Granularity> first_for_idle_fleet() {
    const Supply supply = supply_idle(fleet_);
    for (const Way& way : ways_) {
      const Room room = supply.room(way);
      if (total(room, way.workers, nodes_) < way.workers) continue;
      const int whole = groups_that_fit(job_, room, way.workers, nodes_);
      const int likes = group_numbers(job_, way.workers, nodes_).front();
      return whole > 0 ? chosen(way, whole, whole, Cause::kWaits)
                       : chosen(way, likes, nodes_used(room, way.workers), Cause::kWaits);
    }
    return std::nullopt;
  }

  [[nodiscard]] Granularity never() const {
    Granularity it = *choose_granularity(job_, Policy::kGranularity, nodes_);
    if (it.workers > most_workers_) it.workers = worker_numbers(job_, most_workers_).front();
    it.groups = std::min(it.groups, it.workers);
    it.nodes = std::min(it.nodes, it.workers);
    it.cause = Cause::kNever;
    return it;
  }

  static int nodes_used(const Room& room, int workers) {
    int nodes = 0;
    for (int placed = 0; placed < workers; ++nodes) placed += room[static_cast<std::size_t>(nodes)];
    return nodes;
  }

  // The last one noted is the choice, where one fits: of more than are kept the middle ones go.
  void note(const Way& way, int room) {
    if (tried_.size() == kMaxTried) tried_.pop_back();
    tried_.push_back(
        {.workers = way.workers, .cpus = way.large.cpus, .align = way.align, .room = room});
  }

  const JobShape& job_;
  int nodes_;
  const std::vector<FreeNode>& fleet_;
  int most_workers_;
  std::vector<Way> ways_;
  std::vector<Tried> tried_;
};

}  // namespace

topology::Request request_of(const JobShape& job, int cpus, Bytes memory, Align align) {
  topology::Request request;
  request.cpus = cpus;
  request.memory = memory;
  request.align = align;
  request.smt = job.smt;
  request.profile = job.profile;
  return request;
}

std::vector<FreeNode> free_nodes(const Fleet& fleet, const MemberTerms& terms) {
  std::vector<FreeNode> nodes;
  nodes.reserve(fleet.by_name().size());
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& node = fleet.node(index);
    if (node.stale || !fleet.may_use(index, terms)) continue;
    nodes.push_back(
        {.holes = node.holes, .kind = node.kind, .spare = node.spare, .capacity = node.capacity});
  }
  return nodes;
}

Result<Granularity> choose_by_fleet(const JobShape& job, int nodes,
                                    const std::vector<FreeNode>& fleet, int most_workers) {
  // Also checks the job.
  auto by_profile = choose_granularity(job, Policy::kGranularity, nodes);
  if (!by_profile || by_profile->cause == Cause::kNoProfile) return by_profile;
  return Choice(job, nodes, fleet, most_workers).make();
}

}  // namespace pinion::cluster
