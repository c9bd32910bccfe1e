// CPUs that go offline, and come back, while containers run. Free and shared ones only change what
// there is to give. A rank whose core went moves to other cores like those it had; where there are
// none it runs in the shared set, and it gets cores again as soon as CPUs come back.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"
#include "topology/adopt.h"

namespace pinion::engine {

// Every rank that can stays exactly where it is, with its memory; the others are returned. Pods
// keep what is whole.
std::vector<Member*> Engine::adopt_on_changed_machine(bool same_nodes) {
  const topology::Ledger before = std::exchange(
      state_.ledger, topology::Ledger(settings_.reserved, settings_.strict_reservation));
  const auto stays = [&](const topology::Request& request, const CpuSet& cpus) {
    topology::Outcome outcome = topology::adopt(state_.topology, state_.ledger, request, cpus);
    auto* decision = std::get_if<topology::Decision>(&outcome);
    if (decision == nullptr) return false;
    if (same_nodes) {
      decision->claim.memory = before.find(request.id)->memory;
      decision->claim.mems = before.find(request.id)->mems;
    }
    state_.ledger.commit(std::move(decision->claim));
    return true;
  };
  std::vector<Member*> displaced;
  for (auto& [id, member] : state_.members) {
    if (member.role == Role::kExclusive && !stays(member.request, member.own.cpus)) {
      displaced.push_back(&member);
    }
  }
  for (auto& [id, pod] : state_.pods) {
    std::erase_if(state_.change_kept(pod), [&](const auto& entry) {
      topology::Request request = entry.second.request;
      request.cpus = entry.second.own.cpus.count();  // more where siblings are held
      return !stays(request, entry.second.own.cpus);
    });
  }
  return displaced;
}

void Engine::on(const MachineChanged& event, Effects& effects) {
  const CpuSet gone = state_.topology.online - event.topology.online;
  const CpuSet back = event.topology.online - state_.topology.online;
  effects.notes.push_back({.level = Note::Level::kWarn,
                           .text = "CPUs of the machine changed",
                           .fields = {{"offline", (gone | event.away).to_string()},
                                      {"online", (back | event.away).to_string()}}});
  ++counters_.machine_changes;
  for (auto& [id, member] : state_.members) {
    if (member.pending) take_back(member);  // what it was told may be offline
  }
  const bool same_nodes = std::equal(state_.topology.nodes.begin(), state_.topology.nodes.end(),
                                     event.topology.nodes.begin(), event.topology.nodes.end(),
                                     [](const auto& a, const auto& b) { return a.id == b.id; });
  state_.topology = event.topology;
  freed_ = true;
  // What is set aside for shared ones is not kept from those who have their memory already.
  for (auto& [id, member] : state_.members) state_.set_counted_memory(member, 0);
  const std::vector<Member*> displaced = adopt_on_changed_machine(same_nodes);
  for (auto& [id, member] : state_.members) {
    member.applied.reset();  // v1 takes offline CPUs out of every file, and puts none back
    member.stuck = false;
  }
  for (auto& [name, group] : state_.qos_groups) group.applied.reset();
  for (Member* member : displaced) {
    const CpuSet before = member->own.cpus;
    if (place_anew(*member)) {
      ++counters_.moved;
    } else {
      leave_cores(*member, Role::kWaiting);
      member->trouble = "its CPUs " + (before & gone).to_string() +
                        " went offline and no others are free: it runs in the shared set";
      ++counters_.unplaced;
    }
    Note line = note(Note::Level::kWarn, "moved, because CPUs went offline", *member);
    line.fields.emplace_back("from", before.to_string());
    line.fields.emplace_back("cpus", target_of(*member).cpus.to_string());
    line.fields.emplace_back("trouble", member->trouble);
    effects.notes.push_back(std::move(line));
    if (member->started()) state_.work.push(member->id, Cause::kResize);
  }
  for (auto& [id, member] : state_.members) count_memory(member);
  fence_->allocated_running(state_, effects);
}

}  // namespace pinion::engine
