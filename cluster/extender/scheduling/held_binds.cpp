#include "cluster/extender/scheduling/held_binds.h"

namespace pinion::cluster {

bool HeldBinds::may_hold(const std::string& gang, int size) const {
  if (gangs_.contains(gang)) return true;
  auto all = static_cast<std::size_t>(size);
  for (const auto& [key, calls] : gangs_) all += static_cast<std::size_t>(calls.size);
  return all <= most_;
}

void HeldBinds::hold(const std::string& gang, int size, const std::string& uid, CallId call_id,
                     std::int64_t now_ms) {
  refuse(gang, uid, "asked again meanwhile");
  if (!overdue_.contains(gang)) overdue_.set(gang, now_ms + hold_ms_);
  Calls& calls = gangs_[gang];
  calls.size = size;
  calls.call_ids[uid] = call_id;
}

int HeldBinds::count(const std::string& gang) const {
  const auto found = gangs_.find(gang);
  return found == gangs_.end() ? 0 : static_cast<int>(found->second.call_ids.size());
}

std::vector<std::string> HeldBinds::let_go(const std::string& gang, CallId own) {
  std::vector<std::string> uids;
  const auto found = gangs_.find(gang);
  if (found == gangs_.end()) return uids;
  for (const auto& [uid, call_id] : found->second.call_ids) {
    if (call_id != own) answered_.push_back({.call_id = call_id, .go = true, .text = {}});
    uids.push_back(uid);
  }
  end(gang);
  return uids;
}

void HeldBinds::end(const std::string& gang) {
  gangs_.erase(gang);
  overdue_.erase(gang);
}

void HeldBinds::refuse(const std::string& gang, const std::string& uid, const std::string& why) {
  const auto found = gangs_.find(gang);
  if (found == gangs_.end()) return;
  auto& call_ids = found->second.call_ids;
  const auto call = call_ids.find(uid);
  if (call == call_ids.end()) return;
  answered_.push_back({.call_id = call->second, .go = false, .text = why});
  call_ids.erase(call);
  if (call_ids.empty()) end(gang);
}

void HeldBinds::refuse(const std::string& gang, const std::string& why) {
  const auto found = gangs_.find(gang);
  if (found == gangs_.end()) return;
  for (const auto& [uid, call_id] : found->second.call_ids) {
    answered_.push_back({.call_id = call_id, .go = false, .text = why});
  }
  end(gang);
}

std::vector<std::string> HeldBinds::gangs() const {
  std::vector<std::string> gangs;
  for (const auto& [gang, calls] : gangs_) gangs.push_back(gang);
  return gangs;
}

}  // namespace pinion::cluster
