// Takes connections for the gRPC server. gRPC's own listener takes as many as come, and never
// another one after accept(2) has once failed for want of a descriptor; so it is handed
// connections, and does not listen. How many there are is bounded, and whoever has made no call
// within seconds is closed: a call proves a certificate, or the right to the socket. Over TCP, gRPC
// and its memory see only connections whose first message of TLS is there as a whole.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "agent/api/listen.h"
#include "base/fd.h"
#include "base/net/connection_figures.h"
#include "base/net/peer_table.h"

namespace pinion::agent::api {

struct DoorLimits {
  net::PeerLimits waiting{.most = 88, .most_of_peer = 32, .most_proved = 0};  // for a ClientHello
  net::PeerLimits peers{.most = 32, .most_of_peer = 16, .most_proved = 64};
  std::size_t most_ending = 32;  // closed here, not yet by gRPC: no others are taken meanwhile
  std::chrono::milliseconds prove{10'000};  // from the connection to its first call

  // At most so many are open at once: gRPC's and ours for each connection, the listener, what wakes
  // the thread.
  [[nodiscard]] std::size_t descriptors() const {
    return waiting.most + 2 * (peers.most + peers.most_proved + most_ending + 1) + 2;
  }
};

// Of the second address, for tools on the node alone.
inline constexpr DoorLimits kLocalDoor{.waiting = {.most = 0, .most_of_peer = 0, .most_proved = 0},
                                       .peers = {.most = 8, .most_of_peer = 8, .most_proved = 8},
                                       .most_ending = 4};

class Door {
 public:
  // Gives a connected socket, which it owns from then on, to gRPC.
  using HandOver = std::function<void(int socket)>;

  // Listens; nobody is taken before start(). `figures` must outlive it. A unix socket is its
  // owner's alone; one that a dead agent left is replaced. Errors: kInvalid, kNotFound (no
  // directory), kUnavailable (in use), kDenied.
  static Result<std::unique_ptr<Door>> open(const Endpoint& endpoint, DoorLimits limits,
                                            net::ConnectionFigures& figures);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  // With the port that was chosen.
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

  void start(HandOver hand_over);
  // A call came over the connection of `peer`, as gRPC writes it ("ipv4:10.0.0.7:40123"). Any
  // thread.
  void proved(std::string_view peer);
  // Takes nobody any more, removes a unix socket. Connections stay as they are.
  void close();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Who has not yet begun the handshake.
  struct Newcomer {
    Fd socket;
    sockaddr_storage address{};
    TimePoint until;
  };
  struct Guest {
    Fd copy;         // of the socket, to see its end and to bring it about
    int given = -1;  // gRPC's descriptor of it
    ino_t inode = 0;
    std::string peer;
    TimePoint until;  // when it is to have proved itself
    bool proved = false;
    bool ending = false;
  };

  Door(Endpoint endpoint, DoorLimits limits, Fd wake, net::ConnectionFigures& figures);

  Status listen();
  void run();
  bool has_room();
  int wait_time(TimePoint now);
  void look_at_guests(TimePoint now);
  void end(Guest& guest);
  bool accept_one(TimePoint now);
  void listen_to(int newcomer, TimePoint now);
  void close_late_newcomers(TimePoint now);
  void drop(int newcomer);
  void let_in(Fd socket, const sockaddr_storage& address, TimePoint until);
  void mind_socket(TimePoint now);

  Endpoint endpoint_;
  DoorLimits limits_;
  Fd wake_;  // readable when it is time to stop
  Fd listener_;
  ino_t socket_inode_ = 0;  // of the unix socket in its directory
  TimePoint next_look_;     // whether it is still there
  TimePoint accept_again_;  // after a shortage
  HandOver hand_over_;
  net::ConnectionFigures& figures_;
  std::map<int, Newcomer> newcomers_;  // by descriptor; over TCP only
  net::PeerTable waiting_;

  std::mutex mutex_;
  std::map<int, Guest> guests_;  // by the copy's descriptor; these three under mutex_
  net::PeerTable peers_;
  std::size_t ending_ = 0;

  std::thread thread_;
};

}  // namespace pinion::agent::api
