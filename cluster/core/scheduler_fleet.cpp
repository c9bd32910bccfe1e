// What is told of nodes.
#include "cluster/core/scheduler.h"

#include <algorithm>
#include <utility>

#include "cluster/core/scheduler_parts.h"

namespace pinion::cluster {
namespace {

using State = Member::State;

}  // namespace

Result<std::vector<LostPromise>> Scheduler::report(NodeReport report, std::int64_t now_ms) {
  bool elsewhere = false;
  for (topology::Claim& claim : report.claims) {
    // Jobs are told apart by their ids, not by the names that agents know.
    claim.job.clear();
    const auto member = member_of_claim_.find(claim.id);
    if (member != member_of_claim_.end()) {
      const Member& it = *book_.member(member->second);
      claim.job = it.requests.front().job;
      elsewhere = elsewhere || (it.state == State::kReserved && it.node != report.name);
    }
  }
  const std::string name = report.name;
  const NodeIndex known = fleet_.find(name);
  const auto machine = known < 0 ? nullptr : fleet_.node(known).kind;
  // Its agent names it, as after a start that was given up: it has no promise, and may end.
  const auto runs_early = [&](const auto& claim) {
    const auto member = member_of_claim_.find(claim.first);
    return member != member_of_claim_.end() && !fleet_.promised(claim.first) &&
           book_.member(member->second)->state == State::kReserved;
  };
  bool early = false;
  std::vector<std::string> unowned;
  if (known >= 0) {
    const auto& claims = fleet_.node(known).ledger.claims();
    early = std::any_of(claims.begin(), claims.end(), runs_early);
    unowned = unowned_at(known);
  }
  auto lost = fleet_.report(std::move(report), now_ms);
  if (!lost) return lost;
  const NodeIndex node = fleet_.find(name);
  if (known < 0) set_terms(node, name);
  for (const std::string& id : unowned) forget_end_at(node, id);
  changed_ = true;
  if (!lost->empty()) withdraw_fallen("its room on a node is gone", now_ms);
  if (early) withdraw_fallen("a container of the job has run before it was started", now_ms);
  if (elsewhere) withdraw_fallen("a member of the job runs elsewhere", now_ms);
  note_ends_at(node);
  hold_head_room_at(node);
  // Machines that are equal are one; agents name theirs in each report.
  if (fleet_.node(node).kind != machine) {
    note_machines();
    requeue_hopeless();
  }
  return lost;
}

// Who has this claim, where it has started there.
const Member* Scheduler::owner_at(const FleetNode& node, const std::string& id) const {
  const auto known = member_of_claim_.find(id);
  if (known == member_of_claim_.end()) return nullptr;
  const Member* member = book_.member(known->second);
  return member->fixed() && member->node == node.name ? member : nullptr;
}

// Claims whose ending goes when their agent does not name them any more.
std::vector<std::string> Scheduler::unowned_at(NodeIndex index) const {
  const FleetNode& node = fleet_.node(index);
  std::vector<std::string> unowned;
  for (const auto& [id, claim] : node.ledger.claims()) {
    const auto ending = ending_of_.find(id);
    if (ending == ending_of_.end()) continue;
    if (ending->second.at_ms == kOverTime || owner_at(node, id) == nullptr) unowned.push_back(id);
  }
  return unowned;
}

// Members may be told of before their node is, as after a start. A claim of nobody is one of a pod
// that was gone before its agent first named it, or will be told of, or is not of this cluster: it
// is waited for last.
void Scheduler::note_ends_at(NodeIndex index) {
  const FleetNode& node = fleet_.node(index);
  for (const auto& [id, claim] : node.ledger.claims()) {
    if (id == kHeadClaim || ending_of_.contains(id)) continue;
    if (const Member* member = owner_at(node, id)) {
      note_end(*book_.job_of(member->id), *member, member->since_ms);
    } else if (!fleet_.promised(id)) {
      put_ending({.service = true, .order = begun_++, .id = id, .node = index});
    }
  }
}

// Who never fitted may fit now, and who would have may not any more.
void Scheduler::note_machines() {
  ++machines_;
  idle_.forget();
  changed_ = true;
}

void Scheduler::requeue_hopeless() {
  for (const JobId& id : std::exchange(hopeless_, {})) requeue(*book_.find(id));
}

void Scheduler::terms(const std::string& node, const NodeTerms& terms, std::int64_t now_ms) {
  Site& site = sites_[node];
  const NodeTerms before = std::exchange(site.terms, terms);
  if (before == terms) return;
  set_terms(fleet_.find(node), node);
  const bool more = before.others.milli_cpus > terms.others.milli_cpus ||
                    before.others.memory > terms.others.memory ||
                    before.others.members > terms.others.members ||
                    before.services > terms.services;
  const bool other = before.open != terms.open || before.capacity != terms.capacity;
  changed_ = changed_ || more;
  const bool nothing_said = terms == NodeTerms() && !site.has_members();
  if (nothing_said) sites_.erase(node);
  if (other) {
    note_machines();
    requeue_hopeless();
  }
  if (before.open && !terms.open) withdraw_fallen("a node of its plan is closed", now_ms);
  if (before.services < terms.services && !settings_.colocation.services_beside) {
    withdraw_fallen("a service is on a node of its plan", now_ms);
  }
}

void Scheduler::nodes_changed(std::int64_t now_ms) {
  note_machines();
  requeue_hopeless();
  withdraw_fallen("a node of its plan is closed to it", now_ms);
}

void Scheduler::set_terms(NodeIndex node, const std::string& name) {
  const auto site = sites_.find(name);
  if (node >= 0 && site != sites_.end()) {
    fleet_.set_terms(node, site->second.terms, site->second.taken, site->second.occupants);
  }
}

void Scheduler::add_requests(const std::string& node, const MemberTerms& terms) {
  const bool counts = settings_.colocation.counts();
  if (terms.requests == ResourceList() && !counts) return;
  Site& site = sites_[node];
  site.taken += terms.requests;
  if (counts) site.occupants.count(terms.service, terms.job, 1);
  set_terms(fleet_.find(node), node);
}

void Scheduler::remove_requests(const std::string& node, const MemberTerms& terms) {
  const bool counts = settings_.colocation.counts();
  const auto found = sites_.find(node);
  if ((terms.requests == ResourceList() && !counts) || found == sites_.end()) return;
  Site& site = found->second;
  site.taken -= terms.requests;
  if (counts) site.occupants.count(terms.service, terms.job, -1);
  set_terms(fleet_.find(node), node);
  if (!site.has_members() && site.terms == NodeTerms()) sites_.erase(found);
}

bool Scheduler::heard(std::string_view node, std::int64_t now_ms) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return false;
  changed_ = changed_ || fleet_.node(index).stale;
  fleet_.heard(index, now_ms);
  return true;
}

void Scheduler::unlinked(std::string_view node, std::int64_t now_ms) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return;
  fleet_.unlinked(index);
  withdraw_fallen("a node of its plan is silent", now_ms);
}

void Scheduler::measured(std::string_view node, MissRates rates) {
  const NodeIndex index = fleet_.find(node);
  if (index >= 0) fleet_.measured(index, std::move(rates));
}

// What is reserved for the member is there: its node, and its agent has left room for it.
bool Scheduler::stands(const Member& member) const {
  const NodeIndex index = fleet_.find(member.node);
  if (index < 0 || fleet_.node(index).stale) return false;
  const topology::Ledger& ledger = fleet_.node(index).ledger;
  return std::all_of(
      member.requests.begin(), member.requests.end(),
      [&](const topology::Request& request) { return ledger.find(request.id) != nullptr; });
}

void Scheduler::withdraw_fallen(const std::string& why, std::int64_t now_ms) {
  std::set<JobId> fallen;
  for (const auto& [id, kept_until] : reserved_.all()) {
    const auto members = members_in(*book_.find(id), State::kReserved);
    if (!std::all_of(members.begin(), members.end(), [&](const Member* member) {
          return stands(*member) && fleet_.may_use(fleet_.find(member->node), member->terms);
        })) {
      fallen.insert(id);
    }
  }
  for (const JobId& id : fallen) withdraw(id, why, now_ms);
}

void Scheduler::age(std::int64_t now_ms) {
  const bool awaited = fleet_.awaits();
  const int silent = fleet_.age(now_ms, settings_.silent_ms);
  if (awaited && !fleet_.awaits()) changed_ = true;  // what never fits can be told
  if (silent > 0) withdraw_fallen("a node of its plan is silent", now_ms);
}

void Scheduler::lost(std::string_view name, std::int64_t now_ms) {
  if (const auto site = sites_.find(name); site != sites_.end()) {
    site->second.terms = {};
    if (!site->second.has_members()) sites_.erase(site);
  }
  const NodeIndex node = fleet_.find(name);
  if (node < 0) return fleet_.remove(std::string(name));  // of its agent nothing was heard
  for (const auto& [id, expires_ms] : fleet_.expiring(node)) homeless_.set(id, expires_ms);
  std::erase_if(endings_, [&](const Ending& ending) {
    if (ending.node != node) return false;
    ending_of_.erase(ending.id);
    return true;
  });
  if (head_ && head_->cpus.contains(node)) drop_head_room();
  fleet_.remove(std::string(name));
  note_machines();
  withdraw_fallen("a node of its plan is gone", now_ms);
}

}  // namespace pinion::cluster
