// A container's CPUs and memory changed in place, in two steps. At UpdateContainer the engine
// agrees or refuses; then the runtime does it, or another plugin, runc or the kernel refuses, of
// which nobody tells. So the container stays what it was until POST_UPDATE_CONTAINER, and the
// ledger holds what both sizes need: what it gives up goes to nobody, what it is to get is kept
// free. Where that event does not come it was not done, unless the runtime's record says the new
// size; the cgroup's file does not tell, as runc may have written it before the kernel refused.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"
#include "agent/engine/pod_whole.h"
#include "agent/engine/quota.h"

namespace pinion::engine {
namespace {

using topology::Bytes;
using topology::Claim;

constexpr std::string_view kResizeRefused = "refused a resize";  // begins a line of the log

// Of each node the larger one.
std::vector<Claim::Share> larger_shares(const std::vector<Claim::Share>& one,
                                        const std::vector<Claim::Share>& other) {
  std::map<topology::Index, Bytes> bytes;
  for (const auto& shares : {one, other}) {
    for (const Claim::Share& share : shares) {
      bytes[share.node] = std::max(bytes[share.node], share.bytes);
    }
  }
  std::vector<Claim::Share> larger;
  larger.reserve(bytes.size());
  for (const auto& [node, most] : bytes) larger.push_back({.node = node, .bytes = most});
  return larger;
}

// The kubelet tries again every second, and what comes of it may alternate.
bool is_news(Member& member, const std::string& text) {
  constexpr std::size_t most = 16;
  if (member.said_of_resizes.contains(text)) return false;
  if (member.said_of_resizes.size() == most) member.said_of_resizes.clear();
  member.said_of_resizes.insert(text);
  return true;
}

bool same_size(const Resources& one, const Resources& other) {
  return milli_cpus(one) == milli_cpus(other) &&
         policy::stated_memory(one) == policy::stated_memory(other);
}

}  // namespace

// From whatever the member has to what it now is entitled to; what it gives up entirely stays in
// the ledger. A text: refused, nothing has changed.
std::optional<std::string> Engine::resize(Member& member, const Entitlement& entitlement,
                                          const Pod& pod, Effects& effects) {
  if (entitlement.kind == Entitlement::Kind::kShared) {
    if (member.role == Role::kWaiting) member.trouble.clear();
    member.shared_why = entitlement.text;
    member.of_pod = false;
    if (std::exchange(member.role, Role::kShared) != Role::kExclusive) return std::nullopt;
    member.unbound = member.unbound || !member.own.mems.empty();
    member.own = {};
    Note line = note(Note::Level::kInfo, "gave up its exclusive cores", member);
    line.fields.emplace_back("why", entitlement.text);
    effects.notes.push_back(std::move(line));
    return std::nullopt;
  }
  if (member.role != Role::kExclusive || entitlement.kind == Entitlement::Kind::kRefused) {
    const topology::Request before = member.request;
    auto refusal = place(member, entitlement, pod, effects);
    if (refusal) member.request = before;  // one that waits goes on waiting for what it asked
    return refusal;
  }
  topology::Request request = entitlement.request;
  request.id = member.claim;
  request.preferred = member.own.cpus;
  request.planned = false;
  if (request.cpus == member.request.cpus && request.memory == member.request.memory) {
    return std::nullopt;
  }
  const CpuSet before = member.own.cpus;
  if (const auto refusal = resize_cores(member, request, pod)) {
    return count_refusal(member, *refusal, effects);
  }
  if (member.own.cpus == before) return std::nullopt;  // its memory alone
  Note line = note(Note::Level::kInfo, "resized", member);
  line.fields.emplace_back("from", before.to_string());
  line.fields.emplace_back("cpus", member.own.cpus.to_string());
  effects.notes.push_back(std::move(line));
  return std::nullopt;
}

// The ledger has the new size: it gets the old one again, and a claim of what the new one needs
// beside it.
void Engine::reserve_both(const Member& member) {
  topology::Ledger& ledger = state_.ledger;
  const PendingUpdate& pending = *member.pending;
  if (!pending.claim) return;
  Claim rest = *pending.claim;
  ledger.release(member.claim);
  if (pending.claim_before) {
    Claim both = *pending.claim_before;
    both.memory = larger_shares(both.memory, rest.memory);
    ledger.commit(std::move(both));
    rest.memory.clear();
  }
  rest.id = reserve_id(member.id);
  rest.cpus -= ledger.exclusive();
  if (!rest.cpus.empty()) ledger.commit(std::move(rest));
}

// The member is to be of that size when the runtime has done it. A text: refused, nothing has
// changed.
std::optional<std::string> Engine::agree(Member& member, const Resources& after,
                                         const Entitlement& entitlement, const Pod& pod,
                                         Effects& effects) {
  PodRecord& record = record_of(pod);
  const Size before = member;
  const auto milli = record.milli;
  const std::size_t said = effects.notes.size();
  const std::uint64_t revision = state_.kept_revision();
  PendingUpdate pending;
  pending.told_before = member.told;
  if (member.role == Role::kExclusive) pending.claim_before = *state_.ledger.find(member.claim);
  for (const auto& [name, kept] : record.kept()) {
    pending.kept_before.push_back({name, kept, *state_.ledger.find(kept.request.id)});
  }
  if (after != member.resources) note_resize(record, member, after);
  if (auto refusal = resize(member, entitlement, pod, effects)) {
    record.milli = milli;
    Note& line = effects.notes.back();
    line.text = kResizeRefused;
    line.fields.emplace_back("from", member.own.cpus.to_string());  // empty: it is shared
    return refusal;
  }
  member.resources = after;
  if (member.role == Role::kExclusive) pending.claim = *state_.ledger.find(member.claim);
  const bool kept_changed = state_.kept_revision() != revision;
  if (member.resources == before.resources && member.role == before.role &&
      member.of_pod == before.of_pod && pending.claim == pending.claim_before && !kept_changed) {
    member.said_of_resizes.clear();
    return std::nullopt;
  }
  if (!kept_changed) pending.kept_before.clear();
  if (milli && record.milli) pending.milli = *record.milli - *milli;
  if (pending.milli < 0) record.milli = milli;
  const auto first = effects.notes.begin() + static_cast<std::ptrdiff_t>(said);
  pending.notes.assign(std::make_move_iterator(first),
                       std::make_move_iterator(effects.notes.end()));
  effects.notes.erase(first, effects.notes.end());
  pending.size = std::exchange(static_cast<Size&>(member), before);
  member.pending = std::move(pending);
  reserve_both(member);
  count_memory(member);
  if (state_.ledger.find(reserve_id(member.id)) != nullptr) {
    fence_->allocated_running(state_, effects);
  }
  return std::nullopt;
}

// Of the size that it is to be.
void Engine::tell_own(Member& member, Reply& reply) {
  Size& size = member;
  if (member.pending) std::swap(size, member.pending->size);
  const bool gives_up = member.pending && member.pending->claim_before && !member.pending->claim;
  if (gives_up) state_.ledger.release(member.claim);  // then others may run there, as it may
  // The record of a lender says its own cores also while they are lent: by it they are found again
  // after a restart. Its file is put right at POST_UPDATE, and its program only sleeps.
  reply.own = member.role == Role::kExclusive ? member.own : target_of(member);
  reply.own_quota = told_quota(member);
  if (gives_up) state_.ledger.commit(*member.pending->claim_before);
  if (member.pending) std::swap(size, member.pending->size);
  member.told = reply.own;
}

// It was done.
void Engine::confirm(Member& member, std::vector<Note>& notes) {
  const PendingUpdate pending = *std::exchange(member.pending, std::nullopt);
  PodRecord& record = state_.pods.find(member.pod_id)->second;
  const CpuSet held = state_.ledger.exclusive();
  const bool less_memory = pending.size.request.memory < member.request.memory;
  const bool was_exclusive = member.role == Role::kExclusive;
  state_.ledger.release(reserve_id(member.id));
  if (was_exclusive && !pending.claim) release_cores(member);
  if (was_exclusive && pending.claim && pending.claim != pending.claim_before) ++counters_.resized;
  if (milli_cpus(member.resources) != milli_cpus(pending.size.resources)) {
    record.quota_trusted = false;  // the kubelet writes another one
  }
  static_cast<Size&>(member) = pending.size;
  if (pending.claim) {
    state_.ledger.release(member.claim);
    state_.ledger.commit(*pending.claim);
    if (!member.started()) state_.note_unstarted_change();
    member.unlimited = member.unlimited || lifts_quota(member);
  }
  if (pending.milli < 0 && record.milli) {
    record.milli = std::max<std::int64_t>(*record.milli + pending.milli, 0);
  }
  // kept() says less, of a lender another size, or of a name what another's update would give back.
  const bool runs_anew = was_exclusive != pending.claim.has_value();
  if (!pending.kept_before.empty() || member.lending.lend_to || runs_anew) {
    state_.note_loans_change();
  }
  freed_ = freed_ || less_memory || !held.is_subset_of(state_.ledger.exclusive());
  count_memory(member);
  member.said_of_resizes.clear();
  member.stuck = false;
  notes.insert(notes.end(), pending.notes.begin(), pending.notes.end());
}

// It was not done: the member is what it was, and what was reserved is free.
void Engine::take_back(Member& member) {
  const PendingUpdate pending = *std::exchange(member.pending, std::nullopt);
  PodRecord& record = state_.pods.find(member.pod_id)->second;
  state_.ledger.release(reserve_id(member.id));
  if (pending.claim_before) state_.ledger.commit(*pending.claim_before);
  if (pending.milli > 0 && record.milli) {
    record.milli = std::max<std::int64_t>(*record.milli - pending.milli, 0);
  }
  keep_as_before(record, pending.kept_before);
  freed_ = true;
  count_memory(member);
  member.applied.reset();  // a part of it may be in its files
  member.told = pending.told_before;
  member.stuck = false;
}

// What the pod kept before an update took of it, as far as nobody has that meanwhile.
void Engine::keep_as_before(PodRecord& pod, const std::vector<PendingUpdate::KeptBefore>& before) {
  if (before.empty()) return;
  topology::Ledger& ledger = state_.ledger;
  std::vector<PendingUpdate::KeptBefore> wanted = before;
  KeptByName& kept = state_.change_kept(pod);
  // What is kept now under these names, and for those to come, makes way, and else stays.
  for (auto one = kept.begin(); one != kept.end();) {
    const bool named = one->first == kRest ||
                       std::any_of(before.begin(), before.end(),
                                   [&](const auto& entry) { return entry.name == one->first; });
    if (!named) {
      ++one;
      continue;
    }
    const Claim claim = *ledger.find(one->second.request.id);
    wanted.push_back({one->first, one->second, claim});
    ledger.release(claim.id);
    one = kept.erase(one);
  }
  for (PendingUpdate::KeptBefore& one : wanted) {
    if (ledger.find(one.claim.id) != nullptr || one.claim.cpus.intersects(ledger.exclusive())) {
      continue;
    }
    ledger.commit(one.claim);
    if (state_.shared().empty()) {  // others have all but these by now
      ledger.release(one.claim.id);
      continue;
    }
    kept.emplace(one.name, std::move(one.kept));
  }
}

// A pending update of which nobody has said that it was done: it was if the runtime's record says
// so.
void Engine::settle(Member& member, const Resources& record, std::vector<Note>& notes) {
  const bool done = same_size(merge(member.resources, record), member.pending->size.resources) &&
                    !same_size(member.resources, member.pending->size.resources);
  if (member.started()) state_.work.push(member.id, done ? Cause::kPostUpdate : Cause::kResize);
  if (done) return confirm(member, notes);
  take_back(member);
  Note line =
      note(Note::Level::kWarn, "the runtime has not done a resize, it stays as it was", member);
  line.fields.emplace_back("cpus", target_of(member).cpus.to_string());
  if (is_news(member, line.text)) notes.push_back(std::move(line));
}

void Engine::on(const UpdateContainer& event, Effects& effects) {
  if (has_stopped(event.container)) return;  // it ended while the runtime was asked
  Member& member = *known(event.pod, event.container, effects);
  if (member.pending) settle(member, {}, effects.notes);
  const Resources after = merge(member.resources, event.wanted);
  Entitlement entitlement = entitlement_for(event.pod, member, after);
  // It keeps what it has for the same CPUs, whatever new settings say: until all are looked at.
  if (entitlement.kind == Entitlement::Kind::kShared && member.role == Role::kExclusive &&
      milli_cpus(after) == milli_cpus(member.resources) &&
      after.shares == member.resources.shares) {
    entitlement.kind = Entitlement::Kind::kExclusive;
    entitlement.request = member.request;
    entitlement.request.memory = policy::stated_memory(after);
  }
  if (auto refusal = agree(member, after, entitlement, event.pod, effects)) {
    if (!is_news(member, *refusal)) {
      std::erase_if(effects.notes, [](const Note& line) { return line.text == kResizeRefused; });
      effects.refused.clear();
    }
    effects.reply.refusal = refusal_text(member, *refusal);
    return;
  }
  member.stuck = false;
  member.quota_left.reset();  // the runtime writes it
  tell_own(member, effects.reply);
}

void Engine::on(const UpdateOverdue& event, Effects& effects) {
  Member* member = state_.find(event.id);
  if (member == nullptr || !member->pending) return;
  settle(*member, {}, effects.notes);
}

// POST_UPDATE: of what is pending, of what was given up as not done, or, where the runtime is asked
// for two updates at once, of the one before what is pending. The record tells which.
void Engine::note_update(Member& member, const ContainerEvent& event, Effects& effects) {
  const Resources after = merge(member.resources, event.container.resources);
  if (member.pending && same_size(after, member.pending->size.resources)) {
    return confirm(member, effects.notes);
  }
  if (same_size(after, member.resources)) return;
  if (member.pending) take_back(member);
  resize_unseen(member, after, event.pod, effects);
}

// A resize that was done while nobody listened: the runtime's record says another size.
void Engine::resize_unseen(Member& member, const Resources& after, const Pod& pod,
                           Effects& effects) {
  const Entitlement entitlement = entitlement_for(pod, member, after);
  const bool same = entitlement.kind == Entitlement::Kind::kExclusive &&
                    member.role == Role::kExclusive &&
                    entitlement.request.cpus == member.request.cpus &&
                    entitlement.request.memory == member.request.memory;
  const auto refusal = same ? std::nullopt : agree(member, after, entitlement, pod, effects);
  if (refusal) member.trouble = *refusal;
  if (member.pending) confirm(member, effects.notes);
  member.resources = after;
  if (!same && !refusal && member.started()) state_.work.push(member.id, Cause::kResize);
}

}  // namespace pinion::engine
