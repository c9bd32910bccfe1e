#include "cluster/core/hole_index.h"

#include <algorithm>
#include <vector>

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Holes;
using topology::Smt;

constexpr std::size_t kSmts = 3;

std::size_t kind_of(Align align, Smt smt) {
  return static_cast<std::size_t>(align) * kSmts + topology::slot_of(smt);
}

// Only whole cores come in steps.
int step_of(const Holes& holes, Smt smt) {
  return smt == Smt::kFullCore ? holes.step : 0;
}

// The different sizes of the node's holes of one kind, ascending, without 0, in `sizes`: which the
// caller keeps for the next kind, as they are many and small.
const std::vector<int>& sizes_of(const Holes& holes, Align align, Smt smt,
                                 std::vector<int>& sizes) {
  sizes.clear();
  for (const topology::Hole& hole : holes.of(align)) {
    if (hole.of(smt) > 0) sizes.push_back(hole.of(smt));
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

template <class Visit>
void for_each_kind(Visit visit) {
  for (const Align align : topology::kAligns) {
    for (const Smt smt : {Smt::kFullCore, Smt::kOnePerCore, Smt::kPack}) visit(align, smt);
  }
}

}  // namespace

void HoleIndex::count(const Holes& holes, int by) {
  for_each_kind([&](Align align, Smt smt) {
    std::vector<std::int64_t>& counts = counts_[kind_of(align, smt)];
    for (const topology::Hole& hole : holes.of(align)) {
      const auto size = static_cast<std::size_t>(hole.of(smt));
      if (size >= counts.size()) counts.resize(size + 1);
      counts[size] += by;
    }
  });
}

std::int64_t HoleIndex::room_at_most(const topology::Request& request) const {
  const bool climbs = request.strength == topology::Strength::kPreferred;
  const auto& counts = counts_[kind_of(climbs ? Align::kNone : request.align, request.smt)];
  std::int64_t room = 0;
  for (auto size = static_cast<std::size_t>(request.cpus); size < counts.size(); ++size) {
    room += counts[size] * static_cast<std::int64_t>(size / static_cast<std::size_t>(request.cpus));
  }
  return room;
}

void HoleIndex::add(NodeIndex node, std::string_view name, const Holes& holes) {
  count(holes, 1);
  std::vector<int> sizes;
  for_each_kind([&](Align align, Smt smt) {
    BySize& by_size = by_kind_[kind_of(align, smt)][step_of(holes, smt)];
    for (const int size : sizes_of(holes, align, smt, sizes)) by_size[size].emplace(name, node);
  });
}

void HoleIndex::remove(NodeIndex node, std::string_view name, const Holes& holes) {
  count(holes, -1);
  std::vector<int> sizes;
  for_each_kind([&](Align align, Smt smt) {
    BySize& by_size = by_kind_[kind_of(align, smt)][step_of(holes, smt)];
    for (const int size : sizes_of(holes, align, smt, sizes)) {
      const auto nodes = by_size.find(size);
      if (nodes == by_size.end()) continue;
      nodes->second.erase({name, node});
      if (nodes->second.empty()) by_size.erase(nodes);
    }
  });
}

void HoleIndex::update(NodeIndex node, std::string_view name, const Holes& before,
                       const Holes& after) {
  count(before, -1);
  count(after, 1);
  std::vector<int> old_sizes;
  std::vector<int> new_sizes;
  for_each_kind([&](Align align, Smt smt) {
    sizes_of(before, align, smt, old_sizes);
    sizes_of(after, align, smt, new_sizes);
    const bool moved = step_of(before, smt) != step_of(after, smt);
    if (!moved && old_sizes == new_sizes) return;
    ByStep& by_step = by_kind_[kind_of(align, smt)];
    BySize& from = by_step[step_of(before, smt)];
    for (const int size : old_sizes) {
      if (!moved && std::binary_search(new_sizes.begin(), new_sizes.end(), size)) continue;
      const auto nodes = from.find(size);
      nodes->second.erase({name, node});
      if (nodes->second.empty()) from.erase(nodes);
    }
    BySize& to = by_step[step_of(after, smt)];
    for (const int size : new_sizes) {
      if (!moved && std::binary_search(old_sizes.begin(), old_sizes.end(), size)) continue;
      to[size].emplace(name, node);
    }
  });
}

NodeIndex HoleIndex::tightest(const topology::Request& request, Align align,
                              const std::function<Answer(NodeIndex)>& accepts) const {
  if (request.smt != Smt::kPreferFull) {
    return tightest_of(request.cpus, kind_of(align, request.smt), accepts);
  }
  bool stopped = false;
  const NodeIndex whole =
      tightest_of(request.cpus, kind_of(align, Smt::kFullCore), [&](NodeIndex node) {
        const Answer answer = accepts(node);
        stopped = answer == Answer::kStop;
        return answer;
      });
  if (whole >= 0 || stopped) return whole;
  return tightest_of(request.cpus, kind_of(align, Smt::kPack), accepts);
}

NodeIndex HoleIndex::tightest_of(int cpus, std::size_t kind,
                                 const std::function<Answer(NodeIndex)>& accepts) const {
  // The steps side by side: the next size is the smallest that any of them has.
  std::vector<std::pair<BySize::const_iterator, BySize::const_iterator>> runs;
  for (const auto& [step, by_size] : by_kind_[kind]) {
    if (step > 0 && cpus % step != 0) continue;
    runs.emplace_back(by_size.lower_bound(cpus), by_size.end());
  }
  while (true) {
    int size = 0;
    for (const auto& [at, end] : runs) {
      if (at != end && (size == 0 || at->first < size)) size = at->first;
    }
    if (size == 0) return -1;
    NodeIndex best = -1;
    std::string_view best_name;
    for (auto& [at, end] : runs) {
      if (at == end || at->first != size) continue;
      for (const auto& [name, node] : at->second) {
        if (best >= 0 && name > best_name) break;
        const Answer answer = accepts(node);
        if (answer == Answer::kStop) return -1;
        if (answer == Answer::kNo) continue;
        best = node;
        best_name = name;
        break;
      }
      ++at;
    }
    if (best >= 0) return best;
  }
}

}  // namespace pinion::cluster
