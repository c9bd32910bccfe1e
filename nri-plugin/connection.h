// The socket to the runtime: opens it, moves bytes between it and a Session, and opens it again
// when it is lost. Never blocks; the agent's main loop polls fd() among other things:
//
//   poll(fd(), POLLIN | (wants_write() ? POLLOUT : 0), timeout until deadline())
//   on_readable(now) / on_writable(now) as poll says (POLLHUP and POLLERR count as readable)
//   tick(now), in every turn, after those
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/usual_paths.h"
#include "nri-plugin/counters.h"
#include "nri-plugin/handler.h"
#include "nri-plugin/reconnect_backoff.h"
#include "nri-plugin/session.h"

namespace pinion::nri {

struct ConnectionOptions {
  std::string socket = kUsualNriSocket;
  SessionOptions session;
  // Asked on each new connection of ours, before anything is said: an error ends it, and it is
  // tried again later. Empty: nothing is asked.
  std::function<Status()> before_session = {};
};

class Connection {
 public:
  // Connects to options.socket at the first tick(), and again whenever the connection is lost.
  // The handler must outlive the connection.
  Connection(ConnectionOptions options, Handler& handler);
  // Uses a socket that the runtime handed over; when that is lost, the connection is finished().
  Connection(ConnectionOptions options, Handler& handler, Fd socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // The socket to poll; -1 while there is none (wait for deadline()). May change in any call below.
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool wants_write() const;
  // When tick() has something to do, however quiet the socket is.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  void on_readable(TimePoint now);
  void on_writable(TimePoint now);
  void tick(TimePoint now);

  // Closes the connection in the next tick() and opens it again: the runtime then calls
  // Synchronize, whose answer may re-pin every container. The way to do so when no call of the
  // runtime is there to be answered. False: launched by the runtime, there is no way back.
  bool resync(TimePoint now, std::string why);

  // Launched by the runtime, and that closed the socket: there is nothing to come back to.
  [[nodiscard]] bool finished() const { return finished_; }

  // Nothing while there is no socket.
  [[nodiscard]] std::optional<Phase> phase() const;
  // Of this session, or else of the last one that got as far; nothing before the first.
  [[nodiscard]] const std::optional<RuntimeInfo>& runtime() const { return runtime_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::size_t pending_output() const;

 private:
  void connect(TimePoint now);
  void begin_session(Fd socket, TimePoint now);
  void end_session(TimePoint now, const Error& why);
  void close_session(const Error& why);
  void flush(TimePoint now);
  void note_progress(TimePoint now);

  ConnectionOptions options_;
  Handler& handler_;
  Counters counters_;
  ReconnectBackoff backoff_;

  Fd launched_;  // handed over, not yet in use
  bool reconnects_ = true;
  bool finished_ = false;
  TimePoint connect_at_;  // the next attempt

  Fd socket_;
  std::unique_ptr<Session> session_;  // there is one exactly while there is a socket
  std::optional<TimePoint> synchronized_at_;
  std::optional<RuntimeInfo> runtime_;
  std::optional<std::string> resync_;  // asked for, and why
  std::vector<std::byte> input_;
};

}  // namespace pinion::nri
