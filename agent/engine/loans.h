// Lent cores: an exclusive container whose pod says so leaves its cores to another container of its
// namespace, which is in the shared set and agrees. Nothing is stored: who lends to whom follows
// from the claims and the containers that live, so that it is the same after a restart. The claim
// stays the lender's, and nobody else gets the cores. Pure.
#pragma once

#include <map>
#include <string>

#include "agent/engine/state.h"
#include "base/words.h"

namespace pinion::engine {

// The borrower of the member's cores; with nullptr what stands in the way, kNone where it lends to
// nobody by its own wish.
struct Loan {
  const Member* borrower = nullptr;
  NoLoan why = NoLoan::kNone;
};
[[nodiscard]] Loan loan_of(const State& state, const Member& lender);

// Whether its cores are lent now: another runs there, and it does not.
[[nodiscard]] inline bool is_lent(const State& state, const Member& member) {
  return loan_of(state, member).borrower != nullptr;
}

// All that is lent to the member.
[[nodiscard]] CpuSet borrowed(const State& state, const Member& member);

// Of the claims, the CPUs that the member's file may have: its own, those lent to it or those of
// its pod that it shares, and those that a pending update has reserved.
[[nodiscard]] CpuSet rightful(const State& state, const Member& member);

// All loans of this moment, by the lender's id.
struct Lent {
  std::string pod;       // the lender's, NAMESPACE/NAME
  std::string borrower;  // its id
  CpuSet cpus;

  bool operator==(const Lent&) const = default;
};
using Loans = std::map<std::string, Lent, std::less<>>;
[[nodiscard]] Loans loans_of(const State& state);
[[nodiscard]] CpuSet lent_cpus(const State& state);

// The first broken rule of lending as a sentence, or nothing: what is lent is in one container's
// set alone, it is held against everybody else, and nobody has what is lent to another.
[[nodiscard]] std::optional<std::string> broken_loan(const State& state, const CpuSet& pool,
                                                     const CpuSet& held);

inline constexpr std::array kNoLoanWords{Word<NoLoan>{"fence", NoLoan::kFence},
                                         Word<NoLoan>{"not_exclusive", NoLoan::kNotExclusive},
                                         Word<NoLoan>{"not_started", NoLoan::kNotStarted},
                                         Word<NoLoan>{"no_pod", NoLoan::kNoPod},
                                         Word<NoLoan>{"no_container", NoLoan::kNoContainer},
                                         Word<NoLoan>{"several", NoLoan::kSeveral},
                                         Word<NoLoan>{"not_running", NoLoan::kNotRunning},
                                         Word<NoLoan>{"does_not_borrow", NoLoan::kDoesNotBorrow},
                                         Word<NoLoan>{"not_guaranteed", NoLoan::kNotGuaranteed},
                                         Word<NoLoan>{"not_shared", NoLoan::kNotShared}};
// The same as a sentence.
[[nodiscard]] std::string_view to_string(NoLoan why);

}  // namespace pinion::engine
