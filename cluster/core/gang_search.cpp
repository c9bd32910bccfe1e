#include "cluster/core/gang_search.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

using Members = Draft::Members;

Members placed_of(const Draft& draft, const Members& members) {
  Members placed;
  std::copy_if(members.begin(), members.end(), std::back_inserter(placed),
               [&](std::size_t member) { return draft.node_of(member) >= 0; });
  return placed;
}

// What is moved as one.
std::vector<Members> units_of(const Draft& draft) {
  if (draft.groups().size() > 1) return draft.groups();
  std::vector<Members> units;
  for (auto& [node, members] : draft.by_node()) {
    Members unit = members;
    std::sort(unit.begin(), unit.end());
    units.push_back(std::move(unit));
  }
  return units;
}

class Search {
 public:
  Search(Draft& draft, int steps)
      : draft_(draft),
        begun_at_(draft.decisions()),
        steps_(steps),
        units_(units_of(draft)),
        best_(draft.quality()) {}

  int run() {
    bool better = true;
    while (better && !is_over()) {
      better = false;
      for (std::size_t a = 0; a < units_.size(); ++a) better |= attempt({units_[a]});
      for (std::size_t a = 0; a < units_.size(); ++a) {
        for (std::size_t b = a + 1; b < units_.size() && !is_over(); ++b) {
          if (is_fixed() && are_alike(units_[a], units_[b])) continue;
          better |= attempt({units_[b], units_[a]});
        }
      }
    }
    return draft_.decisions() - begun_at_;
  }

 private:
  [[nodiscard]] bool is_over() const { return draft_.decisions() - begun_at_ >= steps_; }

  // Nothing is left to gain but holes.
  [[nodiscard]] bool is_fixed() const {
    return best_.unplaced == 0 && best_.mixed == 0 &&
           best_.fragments == static_cast<int>(units_.size());
  }

  // Whether trading their places changes nothing.
  [[nodiscard]] bool are_alike(const Members& a, const Members& b) const {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](std::size_t x, std::size_t y) {
             return draft_.shape_of(x) == draft_.shape_of(y);
           });
  }

  // Takes the units off and places, in this order, what has no node and then each of them.
  bool attempt(const std::vector<Members>& units) {
    if (is_over()) return false;
    const std::vector<Members> homeless = homeless_groups();
    draft_.begin();
    const bool removed = std::all_of(units.begin(), units.end(), [&](const Members& unit) {
      return draft_.remove(placed_of(draft_, unit));
    });
    if (removed) {
      for (const Members& group : homeless) draft_.place(group);
      for (const Members& unit : units) draft_.place(homeless_of(unit));
    }
    const Quality quality = removed ? draft_.quality() : best_;
    if (quality < best_) {
      draft_.commit();
      best_ = quality;
      return true;
    }
    draft_.undo();
    return false;
  }

  [[nodiscard]] Members homeless_of(const Members& members) const {
    Members homeless;
    std::copy_if(members.begin(), members.end(), std::back_inserter(homeless),
                 [&](std::size_t member) { return draft_.node_of(member) < 0; });
    return homeless;
  }

  [[nodiscard]] std::vector<Members> homeless_groups() const {
    std::vector<Members> groups;
    if (best_.unplaced == 0) return groups;
    for (const Members& group : draft_.groups()) {
      Members homeless = homeless_of(group);
      if (!homeless.empty()) groups.push_back(std::move(homeless));
    }
    return groups;
  }

  Draft& draft_;
  int begun_at_;
  int steps_;
  std::vector<Members> units_;
  Quality best_;
};

}  // namespace

int improve(Draft& draft, int steps) {
  return steps > 0 ? Search(draft, steps).run() : 0;
}

}  // namespace pinion::cluster
