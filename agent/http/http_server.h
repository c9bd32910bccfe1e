// Serves the agent's pages from one thread, one request for each connection. No client can hold it
// up: the thread waits for all connections at once, and a request is answered when it is there as a
// whole. Who is slow or silent loses the connection after a few seconds, and where there are too
// many the oldest of the busiest peer makes room.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "agent/http/site.h"
#include "base/net/connection_figures.h"
#include "base/net/listen_address.h"
#include "base/net/peer_table.h"

namespace pinion::agent {

struct HttpLimits {
  std::chrono::milliseconds read{3000};     // from the connection to the request's end
  std::chrono::milliseconds write{10'000};  // from the first to the last byte of the answer
  std::size_t request_bytes = 16384;        // request line and headers
  std::size_t unsent_bytes = 8U << 20U;     // of all answers together, but for the newest
  net::PeerLimits peers{.most = 64, .most_of_peer = 32, .most_proved = 0};

  // At most so many are open at once: connections, the listener, what wakes the thread, a spare
  // one.
  [[nodiscard]] std::size_t descriptors() const { return peers.most + 4; }
};

struct HttpOptions {
  std::string listen;          // see base/net/listen_address.h
  bool page_anywhere = false;  // serve the page and its JSON on other than loopback addresses too
  HttpLimits limits{};
};

class HttpServer {
 public:
  // Listens and answers from now on. `figures` must outlive it. Errors: as net::listen_on(), and
  // those of eventfd(2).
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   HttpHandlers handlers,
                                                   net::ConnectionFigures& figures);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Closes all connections and waits for a handler that still runs.
  ~HttpServer();

  // With the port that was chosen: "127.0.0.1:40123".
  [[nodiscard]] std::string address() const { return listener_.address.to_string(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Connection {
    Fd socket;
    TimePoint until;      // when it has taken too long
    std::string request;  // as far as it has come
    std::string head;     // of the answer, once the request is there
    std::string body;
    std::size_t sent = 0;  // of both

    [[nodiscard]] bool answering() const { return !head.empty(); }
    [[nodiscard]] std::size_t answer_size() const { return head.size() + body.size(); }
  };

  HttpServer(const HttpOptions& options, HttpHandlers handlers, net::Listener listener, Fd wake,
             net::ConnectionFigures& figures);

  void run();
  [[nodiscard]] int wait_time(TimePoint now) const;
  void accept_some(TimePoint now);
  bool accept_one(TimePoint now);
  void advance(int key, TimePoint now);
  bool read_request(Connection& connection);
  static bool send_answer(Connection& connection);
  void answer(int key, Connection& connection, TimePoint now);
  void make_room_for_answers(int newest);
  void close_overdue(TimePoint now);
  void close(int key);

  HttpLimits limits_;
  Site site_;
  net::Listener listener_;
  Fd wake_;                                // readable when it is time to stop
  Fd spare_;                               // given up for one more connection when none is left
  TimePoint accept_again_;                 // after a shortage
  std::map<int, Connection> connections_;  // by descriptor
  net::PeerTable peers_;
  std::size_t unsent_ = 0;  // bytes of all answers
  net::ConnectionFigures& figures_;
  std::thread thread_;
};

}  // namespace pinion::agent
