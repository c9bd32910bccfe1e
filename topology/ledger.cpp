#include "topology/ledger.h"

#include <cstdlib>

namespace pinion::topology {
namespace {

// A ledger in which two containers hold one CPU would pin both to it: better to stop, a restart
// rebuilds the state from the runtime.
void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

const Claim* Ledger::find(std::string_view id) const {
  const auto found = claims_.find(id);
  return found == claims_.end() ? nullptr : &found->second;
}

Bytes Ledger::promised(Index node) const {
  const auto at = static_cast<std::size_t>(node);
  return node >= 0 && at < promised_.size() ? promised_[at] : 0;
}

void Ledger::commit(Claim claim) {
  release(claim.id);
  require(!claim.cpus.empty());
  require(!claim.cpus.intersects(exclusive_));
  require(!claim.cpus.intersects(reserved_));
  exclusive_ |= claim.cpus;
  for (const Claim::Share& share : claim.memory) {
    require(share.node >= 0);
    const auto at = static_cast<std::size_t>(share.node);
    if (at >= promised_.size()) promised_.resize(at + 1, 0);
    promised_[at] += share.bytes;
  }
  std::string id = claim.id;
  claims_.emplace(std::move(id), std::move(claim));
}

bool Ledger::release(std::string_view id) {
  const auto found = claims_.find(id);
  if (found == claims_.end()) return false;
  exclusive_ -= found->second.cpus;
  for (const Claim::Share& share : found->second.memory) {
    promised_[static_cast<std::size_t>(share.node)] -= share.bytes;
  }
  // Without its zeros at the end, so that a ledger after a release equals the one before the claim.
  while (!promised_.empty() && promised_.back() == 0) promised_.pop_back();
  claims_.erase(found);
  return true;
}

}  // namespace pinion::topology
