// Who is connected to a listener, and who has to go when somebody else comes: pure bookkeeping, so
// that every listener keeps the same rules. Connections that have not proved who they are can never
// keep others out: the oldest one of the address that has most of them makes room. Those that have
// are closed only for others that have, and only while they wait for their clients: the one that
// waits longest.
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
  // The connection has proved who it is; `known`: with more than is asked of all, so that it is not
  // closed for one that is not known. The result is out already, and to be closed: where too many
  // have, one that waits, or else this one. Of one that has done so before, or is not there:
  // nothing changes.
  [[nodiscard]] std::optional<Key> prove(Key key, bool known = false);
  // One that has proved who it is waits for its client from now on, even if it did before.
  void waits(Key key);
  // It does not wait any more. False: it has not proved who it is, or is out.
  bool works(Key key);
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
    bool known = false;
    std::optional<std::uint64_t> waits_since = {};  // a number as the one above
  };

  [[nodiscard]] std::size_t unproved_of(const std::string& peer) const;
  // Of those whose peer is `peer`, or, without one, has `count` of them beside `spare`.
  [[nodiscard]] std::optional<Key> oldest(const std::string* peer, std::size_t count,
                                          Key spare) const;
  [[nodiscard]] std::size_t others_of(const std::string& peer, Key spare) const;
  // Of those that are not known or, where `known`, of all: unknown ones first.
  [[nodiscard]] std::optional<Key> longest_waiting(bool known) const;
  Member* proved(Key key);

  PeerLimits limits_;
  std::map<Key, Member> members_;
  std::map<std::string, std::size_t> unproved_;  // by peer, none of them 0
  std::size_t proved_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace pinion::net
