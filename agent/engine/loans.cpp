#include "agent/engine/loans.h"

#include "agent/engine/fence.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {
namespace {

// The one container that is meant, as far as names tell.
Loan named(const State& state, const Member& lender) {
  const Member* found = nullptr;
  for (const Member* member : state.meant_by(lender)) {
    // An attempt that was given up, or one that is not started yet, stands beside its namesake.
    const bool namesakes = found != nullptr && found->pod_id == member->pod_id;
    if (namesakes && !(found->started() && member->started())) {
      if (member->started()) found = member;
      continue;
    }
    if (found != nullptr) return {.why = NoLoan::kSeveral};
    found = member;
  }
  if (found != nullptr) return {.borrower = found};
  return {.why = state.means_pod_beside(lender) ? NoLoan::kNoContainer : NoLoan::kNoPod};
}

NoLoan unfit(const Member& borrower) {
  if (!borrower.lending.borrows) return NoLoan::kDoesNotBorrow;
  if (borrower.qos != Qos::kGuaranteed) return NoLoan::kNotGuaranteed;
  if (borrower.role != Role::kShared) return NoLoan::kNotShared;
  return borrower.started() ? NoLoan::kNone : NoLoan::kNotRunning;
}

}  // namespace

Loan loan_of(const State& state, const Member& lender) {
  if (!lender.lending.lend_to) return {};
  if (!state.lends) return {.why = NoLoan::kFence};
  if (lender.role != Role::kExclusive) return {.why = NoLoan::kNotExclusive};
  Loan loan = named(state, lender);
  if (loan.borrower == nullptr) return loan;
  loan.why = unfit(*loan.borrower);
  // Before its start others may still run on its cores.
  if (loan.why == NoLoan::kNone && !lender.started()) loan.why = NoLoan::kNotStarted;
  if (loan.why != NoLoan::kNone) loan.borrower = nullptr;
  return loan;
}

CpuSet borrowed(const State& state, const Member& member) {
  CpuSet cpus;
  if (!state.lends || unfit(member) != NoLoan::kNone) return cpus;
  for (const Member* lender : state.lenders_to(member)) {
    if (loan_of(state, *lender).borrower == &member) cpus |= lender->own.cpus;
  }
  return cpus;
}

CpuSet rightful(const State& state, const Member& member) {
  const auto claimed = [&](std::string_view id) {
    const topology::Claim* claim = state.ledger.find(id);
    return claim == nullptr ? CpuSet() : claim->cpus;
  };
  CpuSet cpus = member.pending ? claimed(reserve_id(member.id)) : CpuSet();
  if (member.role != Role::kExclusive) {
    return cpus | borrowed(state, member) | pod_cores(state, member).cpus;
  }
  return is_lent(state, member) ? cpus : cpus | claimed(member.claim);
}

Loans loans_of(const State& state) {
  Loans loans;
  for (const std::string& id : state.lenders) {
    const Member& member = *state.find(id);
    if (const Member* borrower = loan_of(state, member).borrower) {
      loans[id] = {.pod = member.name_space + "/" + member.pod_name,
                   .borrower = borrower->id,
                   .cpus = member.own.cpus};
    }
  }
  return loans;
}

CpuSet lent_cpus(const State& state) {
  CpuSet cpus;
  for (const auto& [id, loan] : loans_of(state)) cpus |= loan.cpus;
  return cpus;
}

std::optional<std::string> broken_loan(const State& state, const CpuSet& pool, const CpuSet& held) {
  const Loans loans = loans_of(state);
  if (loans.empty()) return std::nullopt;
  CpuSet lent;
  for (const auto& [id, loan] : loans) lent |= loan.cpus;
  if (!lent.is_subset_of(state.ledger.exclusive())) return "what is lent is not claimed";
  if (!lent.is_subset_of(held)) return "what is lent is not held against others";
  std::map<std::string_view, CpuSet> by_borrower;
  for (const auto& [id, loan] : loans) by_borrower[loan.borrower] |= loan.cpus;
  for (const auto& [id, member] : state.members) {
    const auto its = by_borrower.find(id);
    const CpuSet due = its == by_borrower.end() ? CpuSet() : its->second;
    // One that a QoS group keeps off has all CPUs in its own file.
    if (state.keeper_of(member) != nullptr && due.empty()) continue;
    if ((target(state, member, pool).cpus & lent) != due) {
      return id + " is to have '" + due.to_string() + "' of what is lent and has not";
    }
  }
  return std::nullopt;
}

std::string_view to_string(NoLoan why) {
  switch (why) {
    case NoLoan::kNone:
      return "";
    case NoLoan::kFence:
      return "this node's fence cannot lend cores";
    case NoLoan::kNotExclusive:
      return "it has no exclusive cores to lend";
    case NoLoan::kNotStarted:
      return "it is not started yet";
    case NoLoan::kNoPod:
      return "no pod of that name and its namespace runs on this node";
    case NoLoan::kNoContainer:
      return "the pod has no such container";
    case NoLoan::kSeveral:
      return "several containers on this node have that name";
    case NoLoan::kNotRunning:
      return "the borrower is not started yet";
    case NoLoan::kDoesNotBorrow:
      return "the borrower does not agree: it lacks pinion.dev/borrow: \"true\"";
    case NoLoan::kNotGuaranteed:
      return "the borrower's pod is not Guaranteed";
    case NoLoan::kNotShared:
      return "the borrower has, or waits for, exclusive cores of its own";
  }
  return "?";
}

}  // namespace pinion::engine
