#include "cluster/core/gang_draft.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Holes;
using topology::Outcome;
using topology::Request;

std::int64_t squared(int n) {
  return std::int64_t{n} * n;
}

// What free CPUs are worth: a hole of twice the size is worth four times as much, so that a plan
// which keeps large holes whole is the better one.
std::int64_t value_of(const Holes& holes) {
  std::int64_t value = squared(holes.free);
  for (const Align align : {Align::kL3, Align::kNuma}) {
    for (const topology::Hole& hole : holes.of(align))
      value += squared(hole.of(topology::Smt::kPack));
  }
  return value;
}

// The same for holes in which reserve_in() has reserved: it keeps count of one kind of domain only.
std::int64_t estimated_loss(const Holes& before, const Holes& after, const Request& request) {
  std::int64_t loss = 0;
  int taken = 0;
  const auto& holes_before = before.of(request.align);
  const auto& holes_after = after.of(request.align);
  for (std::size_t at = 0; at < holes_before.size(); ++at) {
    const int had = holes_before[at].of(request.smt);
    const int has = holes_after[at].of(request.smt);
    loss += squared(had) - squared(has);
    taken += had - has;
  }
  return loss + squared(before.free) - squared(before.free - taken);
}

bool is_memory_bound(const Gang& gang) {
  return !gang.empty() && gang.front().profile == topology::Profile::kMemory;
}

// The member without what makes it one; its containers still differ, as one id twice is a resize.
GangMember anonymous(GangMember member) {
  member.id.clear();
  member.task_group.clear();
  for (Request& request : member.beside) {
    request.id = std::to_string(&request - member.beside.data() + 1);
    request.task_group.clear();
  }
  return member;
}

}  // namespace

bool same_shape(const Request& a, const Request& b) {
  const auto key = [](const Request& r) {
    return std::tie(r.cpus, r.align, r.strength, r.smt, r.memory_policy, r.memory, r.near_device,
                    r.near_nodes, r.job, r.profile, r.use_isolated, r.preferred);
  };
  return key(a) == key(b);
}

bool same_shape(const GangMember& a, const GangMember& b) {
  const auto alike = [](const Request& x, const Request& y) { return same_shape(x, y); };
  return alike(a, b) && a.terms.same_nodes(b.terms) &&
         std::equal(a.beside.begin(), a.beside.end(), b.beside.begin(), b.beside.end(), alike);
}

std::vector<std::vector<std::size_t>> by_shape(const Gang& gang) {
  std::vector<std::vector<std::size_t>> shapes;
  for (std::size_t member = 0; member < gang.size(); ++member) {
    std::size_t shape = 0;
    while (shape < shapes.size() && !same_shape(gang[shapes[shape].front()], gang[member])) ++shape;
    if (shape == shapes.size()) shapes.emplace_back();
    shapes[shape].push_back(member);
  }
  return shapes;
}

NodesAmong nodes_among(const FleetView& fleet, const std::vector<NodeIndex>* among) {
  const Fleet& all = fleet.fleet();
  std::vector<bool> is_among(static_cast<std::size_t>(all.size()), among == nullptr);
  if (among != nullptr) {
    for (const NodeIndex node : *among) is_among.at(static_cast<std::size_t>(node)) = true;
  }
  NodesAmong nodes;
  for (const auto& [name, node] : all.by_name()) {
    if (!is_among[static_cast<std::size_t>(node)]) continue;
    (fleet.node(node).stale ? nodes.silent : nodes.heard).push_back(node);
  }
  return nodes;
}

Draft::Draft(const FleetView& fleet, const Gang& gang, const PlanLimits& limits)
    : fleet_(fleet),
      gang_(gang),
      most_nodes_(limits.nodes),
      among_(nodes_among(fleet, limits.among)),
      placed_(gang.size()) {
  find_shapes();
  find_groups();
  if (gang.empty()) return;
  const std::set<NodeIndex> allowed(among_.heard.begin(), among_.heard.end());
  for (const NodeIndex node : fleet_.nodes_of_job(gang.front().job)) {
    if (allowed.contains(node)) {
      use(node);
    } else {
      ++elsewhere_;
    }
  }
}

int Draft::nodes() const {
  return elsewhere_ +
         static_cast<int>(std::count_if(used_.begin(), used_.end(), [](const auto& entry) {
           return !entry.second.groups.empty();
         }));
}

bool Draft::is_on(NodeIndex node) const {
  const auto used = used_.find(node);
  return used != used_.end() && !used->second.groups.empty();
}

std::vector<NodeIndex> Draft::roomiest() {
  Count left;
  for (const Shape& shape : shapes_) {
    left.emplace_back(left.size(), static_cast<int>(shape.members.size()));
  }
  std::stable_sort(left.begin(), left.end(), [&](const auto& a, const auto& b) {
    return shapes_[a.first].request.all_cpus() > shapes_[b.first].request.all_cpus();
  });
  // The CPUs of those whom the node takes of them, and whether they are taken off.
  const auto cpus_at = [&](NodeIndex node, bool take) {
    scratch(fleet_.node(node).holes);
    ResourceList spare = fleet_.node(node).spare;
    std::int64_t cpus = 0;
    for (auto& [shape, number] : left) {
      const GangMember& request = shapes_[shape].request;
      const int fit =
          number > 0 && may_take(node, request) ? at_once(node, spare, request, number) : 0;
      cpus += std::int64_t{fit} * request.all_cpus();
      if (take) number -= fit;
    }
    return cpus;
  };
  std::vector<NodeIndex> nodes;
  std::priority_queue<std::pair<std::int64_t, std::ptrdiff_t>> rooms;
  for (std::size_t at = 0; at < among_.heard.size(); ++at) {
    if (is_on(among_.heard[at])) {
      nodes.push_back(among_.heard[at]);
      cpus_at(among_.heard[at], true);
    }
  }
  for (std::size_t at = 0; at < among_.heard.size(); ++at) {
    if (is_on(among_.heard[at])) continue;
    // Of equal ones the first by name.
    rooms.emplace(cpus_at(among_.heard[at], false), -static_cast<std::ptrdiff_t>(at));
  }
  const int most = most_nodes_ - elsewhere_;
  while (!rooms.empty() && static_cast<int>(nodes.size()) < most) {
    const auto [cpus, at] = rooms.top();
    rooms.pop();
    const NodeIndex node = among_.heard[static_cast<std::size_t>(-at)];
    // What is left has become less since.
    const std::int64_t now = cpus_at(node, false);
    if (now == 0) continue;
    if (now < cpus) {
      rooms.emplace(now, at);
      continue;
    }
    cpus_at(node, true);
    nodes.push_back(node);
  }
  return nodes;
}

void Draft::find_shapes() {
  shape_of_.resize(gang_.size());
  for (Members& members : by_shape(gang_)) {
    for (const std::size_t member : members) shape_of_[member] = shapes_.size();
    GangMember request = anonymous(gang_[members.front()]);
    shapes_.push_back({.request = std::move(request), .members = std::move(members)});
  }
  for (const Shape& shape : shapes_) {
    narrowest_ = std::min(narrowest_, shape.request.align);
    for (const Request& request : shape.request.beside) {
      narrowest_ = std::min(narrowest_, request.align);
    }
  }
  most_at_once_.resize(shapes_.size());
  for (const NodeIndex node : among_.heard) {
    for (std::size_t at = 0; at < shapes_.size(); ++at) {
      const Shape& shape = shapes_[at];
      if (!may_take(node, shape.request)) continue;
      scratch(fleet_.node(node).holes);
      ResourceList spare = fleet_.node(node).spare;
      const auto wanted = static_cast<int>(shape.members.size());
      most_at_once_[at] = std::max(most_at_once_[at], at_once(node, spare, shape.request, wanted));
    }
  }
}

// Most of a machine's holes are in its L3 domains, for which few ask.
void Draft::scratch(const Holes& holes) {
  for (const Align align : topology::kAligns) {
    const auto kind = static_cast<std::size_t>(align);
    if (align >= narrowest_) scratch_.domains[kind] = holes.domains[kind];
  }
  scratch_.step = holes.step;
  scratch_.free = holes.free;
  scratch_.threads = holes.threads;
  scratch_.guarded = holes.guarded;
  scratch_.isolated = holes.isolated;
  scratch_.odd = holes.odd;
}

// Whether a first look does not rule it out.
bool Draft::may_take(NodeIndex node, const GangMember& member) const {
  return fleet_.takes(node, member.terms) && fleet_.may_fit(node, member) &&
         std::all_of(member.beside.begin(), member.beside.end(),
                     [&](const Request& request) { return fleet_.may_fit(node, request); });
}

// Takes them out of the scratch holes and of what the node has to spare. Isolated CPUs are not
// among the holes: such a node is taken to have room, until it is asked.
int Draft::at_once(NodeIndex node, ResourceList& spare, const GangMember& member, int wanted) {
  if (!fleet_.may_use(node, member.terms)) return 0;
  const ResourceList& each = member.terms.requests;
  wanted = times(spare, each, member.terms.apart ? std::min(wanted, 1) : wanted);
  if (!(member.use_isolated && scratch_.isolated)) {
    wanted = member.beside.empty() ? topology::reserve_in(scratch_, member, wanted)
                                   : together_at_once(member, wanted);
  }
  spare.milli_cpus -= each.milli_cpus * wanted;
  spare.memory -= each.memory * wanted;
  spare.members -= each.members * wanted;
  return wanted;
}

// No less than the members of several containers that fit: each kind of container is looked at by
// itself.
int Draft::together_at_once(const GangMember& member, int wanted) {
  wanted = std::min(wanted, scratch_.free / member.all_cpus());
  const auto cap = [&](const Request& request) {
    Holes holes = scratch_;
    wanted = std::min(wanted, topology::reserve_in(holes, request, wanted));
  };
  cap(member);
  for (const Request& request : member.beside) cap(request);
  return topology::reserve_in(scratch_, member, wanted);
}

void Draft::find_groups() {
  std::vector<TaskGroup> groups;
  for (std::size_t member = 0; member < gang_.size(); ++member) {
    const int number = group_number(gang_[member].task_group);
    group_of_.push_back(number);
    groups.resize(std::max(groups.size(), static_cast<std::size_t>(number) + 1));
    groups[static_cast<std::size_t>(number)].members.push_back(member);
    groups[static_cast<std::size_t>(number)].cpus += gang_[member].all_cpus();
  }
  for (const std::size_t group : placing_order(groups)) {
    Members members = std::move(groups[group].members);
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return gang_[a].all_cpus() > gang_[b].all_cpus();
    });
    groups_.push_back(std::move(members));
  }
}

int Draft::group_number(const std::string& task_group) {
  const auto next = static_cast<int>(group_numbers_.size());
  return group_numbers_.emplace(task_group, next).first->second;
}

Draft::Count Draft::count(const Members& members) const {
  std::map<std::size_t, int> numbers;
  for (const std::size_t member : members) ++numbers[shape_of_[member]];
  return {numbers.begin(), numbers.end()};
}

Draft::Count Draft::capped(Count count) const {
  for (auto& [shape, number] : count) number = std::min(number, most_at_once_[shape]);
  return count;
}

Draft::Candidate Draft::candidate(NodeIndex node, const Holes& holes, const ResourceList& spare,
                                  const Count& count) {
  Candidate candidate{.fit = 0, .pressure = 0, .loss = 0, .node = node};
  scratch(holes);
  ResourceList left = spare;
  for (const auto& [shape, number] : count) {
    candidate.fit += at_once(node, left, shapes_[shape].request, number);
  }
  if (candidate.fit == 0) return candidate;
  if (is_memory_bound(gang_)) candidate.pressure = fleet_.node(node).pressure_level;
  candidate.loss = estimated_loss(holes, scratch_, shapes_[count.front().first].request);
  return candidate;
}

const std::vector<Draft::Candidate>& Draft::candidates(const Count& count) {
  const auto known = candidates_.find(count);
  if (known != candidates_.end()) return known->second;
  std::vector<Candidate> all;
  for (const NodeIndex node : among_.heard) {
    const bool hopeless = std::none_of(count.begin(), count.end(), [&](const auto& entry) {
      return may_take(node, shapes_[entry.first].request);
    });
    if (hopeless) continue;
    const Candidate it = candidate(node, fleet_.node(node).holes, fleet_.node(node).spare, count);
    if (it.fit > 0) all.push_back(it);
  }
  // Allowed nodes are in the order of their names, and equal ones stay so.
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.fit, a.pressure, a.loss) < std::tuple(-b.fit, b.pressure, b.loss);
  });
  return candidates_.emplace(count, std::move(all)).first->second;
}

bool Draft::is_better(const Choice& a, const Choice& b) const {
  const auto key = [&](const Choice& choice) {
    return std::tuple(-choice.score, choice.other_groups, choice.candidate.pressure,
                      choice.candidate.loss,
                      std::string_view(fleet_.node(choice.candidate.node).name));
  };
  return key(a) < key(b);
}

std::optional<Draft::Choice> Draft::choose(const Members& members, int group) {
  const Count wanted = count(members);
  std::optional<Choice> best;
  const bool no_more = most_nodes_ != kAnyNumber && nodes() >= most_nodes_;
  static const std::vector<Candidate> none;
  for (const Candidate& it : no_more ? none : candidates(capped(wanted))) {
    if (used_.find(it.node) != used_.end()) continue;
    best = Choice{.score = node_score({.still_fit = it.fit}), .candidate = it};
    break;
  }
  for (const auto& [node, used] : used_) {
    if (no_more && used.groups.empty()) continue;
    const auto own = used.groups.find(group);
    const int here = own == used.groups.end() ? 0 : own->second;
    const int others = static_cast<int>(used.groups.size()) - (here > 0 ? 1 : 0);
    // The best that it could be.
    const int bound = here - others + static_cast<int>(members.size());
    if (best && bound < best->score) continue;
    Count left;
    for (const auto& entry : wanted) {
      const bool apart = shapes_[entry.first].request.terms.apart && !used.groups.empty();
      if (!apart && used.refused.find(entry.first) == used.refused.end()) left.push_back(entry);
    }
    if (left.empty()) continue;
    Choice choice{.other_groups = others,
                  .candidate = candidate(node, used.holes, used.spare, left)};
    if (choice.candidate.fit == 0) continue;
    choice.score =
        node_score({.members = here, .other_groups = others, .still_fit = choice.candidate.fit});
    if (!best || is_better(choice, *best)) best = choice;
  }
  return best;
}

Draft::Used& Draft::use(NodeIndex node) {
  remember(node);
  const auto known = used_.find(node);
  if (known != used_.end()) return known->second;
  const FleetNode& fleet_node = fleet_.node(node);
  Used used{.ledger = fleet_node.ledger, .holes = fleet_node.holes, .spare = fleet_node.spare};
  for (const auto& [id, claim] : fleet_node.ledger.claims()) {
    if (claim.job == gang_.front().job && !claim.job.empty()) {
      ++used.groups[group_number(claim.task_group)];
    }
  }
  return used_.emplace(node, std::move(used)).first->second;
}

void Draft::place(const Members& members) {
  if (members.empty()) return;
  const int group = group_of_[members.front()];
  Members rest = members;
  while (!rest.empty()) {
    const auto choice = choose(rest, group);
    if (!choice) return;
    rest = fill(choice->candidate.node, rest, choice->candidate.fit);
  }
}

Draft::Members Draft::fill(NodeIndex node, const Members& members, int most) {
  Used& used = use(node);
  Members left;
  int taken = 0;
  for (const std::size_t member : members) {
    const bool refused = used.refused.find(shape_of_[member]) != used.refused.end();
    if (taken < most && !refused && grant(used, node, member)) {
      ++taken;
    } else {
      left.push_back(member);
    }
  }
  used.holes = topology::holes_of(fleet_.node(node).topology(), used.ledger);
  return left;
}

bool Draft::grant(Used& used, NodeIndex node, std::size_t member) {
  const GangMember& its = gang_[member];
  std::vector<topology::Decision> decisions;
  const auto take = [&](const Request& request) {
    ++decisions_;
    Outcome outcome = topology::allocate(fleet_.node(node).topology(), used.ledger, request);
    auto* decision = std::get_if<topology::Decision>(&outcome);
    if (decision == nullptr) return false;
    used.ledger.commit(decision->claim);
    decisions.push_back(std::move(*decision));
    return true;
  };
  const bool apart = its.terms.apart && !used.groups.empty();
  const bool all = !apart && fleet_.may_use(node, its.terms) &&
                   has(used.spare, its.terms.requests) && take(its) &&
                   std::all_of(its.beside.begin(), its.beside.end(), take);
  if (!all) {
    for (const topology::Decision& decision : decisions) used.ledger.release(decision.claim.id);
    used.refused.insert(shape_of_[member]);
    return false;
  }
  remember(member);
  used.spare -= its.terms.requests;
  used.sequence.push_back(member);
  ++used.groups[group_of_[member]];
  placed_[member] = {.node = node, .decisions = std::move(decisions)};
  return true;
}

bool Draft::remove(const Members& members) {
  std::set<NodeIndex> nodes;
  for (const std::size_t member : members) {
    if (placed_[member].node < 0) continue;
    remember(member);
    nodes.insert(placed_[member].node);
    placed_[member] = Placed();
  }
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeIndex node) { return rebuild(node); });
}

// What stays there is decided anew, so that the decisions never build on something that is gone.
bool Draft::rebuild(NodeIndex node) {
  remember(node);
  const Members sequence = std::move(used_.find(node)->second.sequence);
  used_.erase(node);
  Used& used = use(node);
  bool all = true;
  for (const std::size_t member : sequence) {
    if (placed_[member].node == node) all = grant(used, node, member) && all;
  }
  if (used.groups.empty()) {
    used_.erase(node);
  } else {
    used.holes = topology::holes_of(fleet_.node(node).topology(), used.ledger);
  }
  return all;
}

void Draft::begin() {
  recording_ = true;
  used_before_.clear();
  placed_before_.clear();
}

void Draft::commit() {
  recording_ = false;
}

void Draft::undo() {
  recording_ = false;
  for (auto& [node, used] : used_before_) {
    if (used) {
      used_.insert_or_assign(node, std::move(*used));
    } else {
      used_.erase(node);
    }
  }
  for (auto& [member, placed] : placed_before_) placed_[member] = std::move(placed);
}

void Draft::remember(NodeIndex node) {
  if (!recording_ || used_before_.find(node) != used_before_.end()) return;
  const auto used = used_.find(node);
  used_before_.emplace(node, used == used_.end() ? std::nullopt : std::optional(used->second));
}

void Draft::remember(std::size_t member) {
  if (recording_) placed_before_.emplace(member, placed_[member]);
}

Quality Draft::quality() const {
  Quality quality;
  const bool memory_bound = is_memory_bound(gang_);
  for (const Placed& placed : placed_) quality.unplaced += placed.node < 0 ? 1 : 0;
  for (const auto& [node, used] : used_) {
    const auto groups = static_cast<int>(used.groups.size());
    quality.fragments += groups;
    quality.mixed += groups * (groups - 1) / 2;
    if (memory_bound) {
      quality.pressure += fleet_.node(node).pressure_level * static_cast<int>(used.sequence.size());
    }
    quality.holes += value_of(fleet_.node(node).holes) - value_of(used.holes);
  }
  return quality;
}

std::map<NodeIndex, Draft::Members> Draft::by_node() const {
  std::map<NodeIndex, Members> nodes;
  for (const auto& [node, used] : used_) {
    if (!used.sequence.empty()) nodes.emplace(node, used.sequence);
  }
  return nodes;
}

}  // namespace pinion::cluster
