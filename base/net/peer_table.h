// Who is connected to a listener, and who has to go when somebody else comes: pure bookkeeping, so
// that every listener keeps the same rules. Connections that have not proved who they are can never
// keep others out: the oldest one of the address that has most of them makes room. Those that have
// are never closed for others.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pinion::net {

struct PeerLimits {
  std::size_t most = 64;          // connections that have proved nothing
  std::size_t most_of_peer = 16;  // of these, from one address; both at least 1
  std::size_t most_proved = 64;
};

// What is counted as one peer: an IPv4 address (also one mapped into IPv6), the first 64 bits of an
// IPv6 address, which one machine may have to itself, or "unix".
[[nodiscard]] std::string peer_of(const sockaddr_storage& address);

class PeerTable {
 public:
  using Key = int;  // of a connection, the caller's; no two at once have the same

  explicit PeerTable(PeerLimits limits) : limits_(limits) {}

  // Takes a connection in. The result is out already: it is to be closed to make room.
  [[nodiscard]] std::optional<Key> add(Key key, std::string peer);
  // The connection has proved who it is. False: too many have; it is out already, and to be closed.
  // Of one that has done so before, or is not there: true, and nothing changes.
  [[nodiscard]] bool prove(Key key);
  void remove(Key key);

  // The oldest unproved connection, other than `spare`, of the peers that have most of them.
  [[nodiscard]] std::optional<Key> dispensable(Key spare) const;
  [[nodiscard]] bool contains(Key key) const { return members_.contains(key); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] std::size_t unproved() const { return members_.size() - proved_; }

 private:
  struct Member {
    std::string peer;
    std::uint64_t number = 0;  // grows with each that comes
    bool proved = false;
  };

  [[nodiscard]] std::size_t unproved_of(const std::string& peer) const;
  // Of those whose peer is `peer`, or, without one, has `count` of them beside `spare`.
  [[nodiscard]] std::optional<Key> oldest(const std::string* peer, std::size_t count,
                                          Key spare) const;
  [[nodiscard]] std::size_t others_of(const std::string& peer, Key spare) const;

  PeerLimits limits_;
  std::map<Key, Member> members_;
  std::map<std::string, std::size_t> unproved_;  // by peer, none of them 0
  std::size_t proved_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace pinion::net
