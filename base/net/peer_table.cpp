#include "base/net/peer_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace pinion::net {
namespace {

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

}  // namespace

std::string peer_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return text_of(AF_INET, &v4.sin_addr);
  }
  if (address.ss_family != AF_INET6) return "unix";
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof(v6));
  constexpr std::size_t mapped_prefix = 12;
  constexpr std::size_t network_prefix = 8;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    return text_of(AF_INET, &v6.sin6_addr.s6_addr[mapped_prefix]);
  }
  std::memset(&v6.sin6_addr.s6_addr[network_prefix], 0, sizeof(in6_addr) - network_prefix);
  return text_of(AF_INET6, &v6.sin6_addr) + "/64";
}

std::size_t PeerTable::unproved_of(const std::string& peer) const {
  const auto found = unproved_.find(peer);
  return found == unproved_.end() ? 0 : found->second;
}

std::size_t PeerTable::others_of(const std::string& peer, Key spare) const {
  const auto spared = members_.find(spare);
  const bool has_it =
      spared != members_.end() && !spared->second.proved && spared->second.peer == peer;
  return unproved_of(peer) - (has_it ? 1 : 0);
}

std::optional<PeerTable::Key> PeerTable::oldest(const std::string* peer, std::size_t count,
                                                Key spare) const {
  std::optional<Key> oldest;
  std::uint64_t number = next_;
  for (const auto& [key, member] : members_) {
    if (member.proved || key == spare || member.number >= number) continue;
    const bool fits =
        peer != nullptr ? member.peer == *peer : others_of(member.peer, spare) == count;
    if (!fits) continue;
    oldest = key;
    number = member.number;
  }
  return oldest;
}

std::optional<PeerTable::Key> PeerTable::dispensable(Key spare) const {
  std::size_t most = 0;
  for (const auto& [peer, count] : unproved_) most = std::max(most, others_of(peer, spare));
  return most == 0 ? std::nullopt : oldest(nullptr, most, spare);
}

std::optional<PeerTable::Key> PeerTable::add(Key key, std::string peer) {
  ++unproved_[peer];
  const auto& member =
      members_.insert_or_assign(key, Member{.peer = std::move(peer), .number = next_++})
          .first->second;
  std::optional<Key> out;
  if (unproved_of(member.peer) > limits_.most_of_peer) {
    out = oldest(&member.peer, 0, key);
  } else if (unproved() > limits_.most) {
    out = dispensable(key);
  }
  if (out) remove(*out);
  return out;
}

std::optional<PeerTable::Key> PeerTable::longest_waiting(bool known) const {
  const std::pair<const Key, Member>* longest = nullptr;
  const auto order = [](const Member& member) {
    return std::pair(member.known, *member.waits_since);
  };
  for (const auto& one : members_) {
    const Member& member = one.second;
    if (!member.waits_since || (member.known && !known)) continue;
    if (longest == nullptr || order(member) < order(longest->second)) longest = &one;
  }
  return longest == nullptr ? std::nullopt : std::optional(longest->first);
}

std::optional<PeerTable::Key> PeerTable::prove(Key key, bool known) {
  const auto found = members_.find(key);
  if (found == members_.end() || found->second.proved) return std::nullopt;
  std::optional<Key> out;
  if (proved_ >= limits_.most_proved) {
    out = longest_waiting(known).value_or(key);
    remove(*out);
    if (out == key) return out;
  }
  Member& member = found->second;
  if (--unproved_[member.peer] == 0) unproved_.erase(member.peer);
  member.proved = true;
  member.known = known;
  ++proved_;
  return out;
}

PeerTable::Member* PeerTable::proved(Key key) {
  const auto found = members_.find(key);
  return found == members_.end() || !found->second.proved ? nullptr : &found->second;
}

void PeerTable::waits(Key key) {
  if (Member* const member = proved(key)) member->waits_since = next_++;
}

bool PeerTable::works(Key key) {
  Member* const member = proved(key);
  if (member != nullptr) member->waits_since.reset();
  return member != nullptr;
}

void PeerTable::remove(Key key) {
  const auto found = members_.find(key);
  if (found == members_.end()) return;
  if (found->second.proved) {
    --proved_;
  } else if (--unproved_[found->second.peer] == 0) {
    unproved_.erase(found->second.peer);
  }
  members_.erase(found);
}

}  // namespace pinion::net
