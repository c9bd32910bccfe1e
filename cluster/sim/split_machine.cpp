#include "cluster/sim/split_machine.h"

namespace pinion::sim {

void SplitMachine::submit(Handle handle, const Job& job, Ms now) {
  is_service_.emplace(handle, job.service);
  of(job.service).submit(handle, job, now);
}

void SplitMachine::end(Handle handle, Ms now) {
  const auto found = is_service_.find(handle);
  of(found->second).end(handle, now);
  is_service_.erase(found);
}

std::vector<Started> SplitMachine::pass(Ms now) {
  std::vector<Started> started = services_->pass(now);
  for (Started& one : hpc_->pass(now)) {
    for (Piece& piece : one.pieces) piece.node += first_;
    started.push_back(std::move(one));
  }
  return started;
}

Status SplitMachine::check(Ms now) const {
  if (Status good = services_->check(now); !good) return good;
  return hpc_->check(now);
}

}  // namespace pinion::sim
