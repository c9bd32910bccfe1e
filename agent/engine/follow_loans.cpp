// Loans that begin and end with an event: whose files follow, in which order, and what is said.
#include "agent/engine/engine.h"
#include "agent/engine/note.h"

namespace pinion::engine {
namespace {

// In `loans` and not the same in `others`.
Loans without(const Loans& loans, const Loans& others) {
  Loans rest;
  for (const auto& [lender, loan] : loans) {
    const auto other = others.find(lender);
    if (other == others.end() || other->second != loan) rest.emplace(lender, loan);
  }
  return rest;
}

}  // namespace

// The borrower leaves first and comes last, so that lent cores are never in two files. Whoever is
// `starting` goes on being looked at for that.
void Engine::follow_loans(const Loans& before, std::string_view starting,
                          std::vector<Note>& notes) {
  const Loans now = loans_of(state_);
  const Loans ended = without(before, now);
  const Loans begun = without(now, before);
  if (!ended.empty() || !begun.empty()) state_.note_loans_change();
  const auto look_at = [&](const std::string& id) {
    Member* member = state_.find(id);
    if (member == nullptr || !member->started()) return;
    member->stuck = false;
    state_.work.push(id, id == starting ? Cause::kStart : Cause::kFence);
  };
  for (const auto& [lender, loan] : ended) look_at(loan.borrower);
  for (const auto& [lender, loan] : ended) look_at(lender);
  for (const auto& [lender, loan] : begun) {
    Member& member = *state_.find(lender);
    if (!member.guarded) continue;
    // Its partition would keep the borrower off.
    state_.leave_partition(member, member.own.cpus);
  }
  if (!begun.empty()) fence_->unguarded(state_, {});
  for (const auto& [lender, loan] : begun) look_at(lender);
  for (const auto& [lender, loan] : begun) {
    look_at(loan.borrower);
    Member& borrower = *state_.find(loan.borrower);
    borrower.unlimited = borrower.unlimited || borrower.resources.quota.value_or(0) > 0;
  }
  say_loans(ended, begun, notes);
}

void Engine::say_loans(const Loans& ended, const Loans& begun, std::vector<Note>& notes) {
  for (const auto& [lender, loan] : ended) {
    notes.push_back({.level = Note::Level::kInfo,
                     .text = "lent cores are back",
                     .fields = {{"pod", loan.pod},
                                {"id", lender.substr(0, 12)},
                                {"cpus", loan.cpus.to_string()},
                                {"borrower", loan.borrower.substr(0, 12)}}});
  }
  for (const std::string& id : state_.lenders) {
    Member& member = *state_.find(id);
    if (!member.started()) continue;
    const Loan loan = loan_of(state_, member);
    const bool news = std::exchange(member.unlent, loan.why) != loan.why;
    if (const auto fresh = begun.find(id); fresh != begun.end()) {
      Note line = note(Note::Level::kInfo, "lends its cores", member);
      line.fields.emplace_back("cpus", fresh->second.cpus.to_string());
      line.fields.emplace_back("to", loan.borrower->pod_name + "/" + loan.borrower->name);
      notes.push_back(std::move(line));
    }
    if (!news || loan.why == NoLoan::kNone) continue;
    Note line = note(Note::Level::kWarn, "does not lend its cores", member);
    line.fields.emplace_back("to", member.lending.lend_to->to_string());
    line.fields.emplace_back("why", to_string(loan.why));
    notes.push_back(std::move(line));
  }
}

}  // namespace pinion::engine
