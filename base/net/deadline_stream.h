// A connection of which requests are read and to which answers are written by a thread that waits,
// with a deadline for each part, which bytes that come do not put off, and a limit of bytes: no
// client holds its thread for long, or makes it keep much.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::net {

struct StreamLimits {
  std::chrono::milliseconds head{3000};     // from the connection's turn to the last header
  std::chrono::milliseconds write{10'000};  // from the first to the last byte of the answer
  std::size_t head_bytes = 16384;           // request line and headers
};

class DeadlineStream {
 public:
  // `socket` does not block, and stays the caller's.
  DeadlineStream(int socket, const StreamLimits& limits);
  DeadlineStream(const DeadlineStream&) = delete;
  DeadlineStream& operator=(const DeadlineStream&) = delete;
  virtual ~DeadlineStream() = default;

  // Waits for another request on the same connection, for which deadlines and limits begin anew.
  // False: none has begun within `idle`, or the connection is at its end.
  bool next_request(std::chrono::milliseconds idle);
  // From the request line to the empty line behind the headers, with it. Errors: kUnavailable: the
  // connection or the time has ended before; kExhausted: it is longer than the limit.
  Result<std::string> read_head();
  // Of so many bytes that come within `time` from now, with room for `spare` more behind them.
  // Memory is taken as they come, up to 64 KiB or twice as much as is there; `may_take`, if it is
  // one, is asked each time whether the body may take so many bytes in all. Errors: kUnavailable,
  // with what has come; kExhausted: it may not.
  Result<std::string> read_body(std::size_t bytes, std::chrono::milliseconds time,
                                std::size_t spare = 0,
                                const std::function<bool(std::size_t bytes)>& may_take = {});
  // On another thread: whoever waits for bytes, or does so later, is told that there are no more.
  void stop_reading() const;
  // All of it. False: the connection or the time has ended before.
  bool write(std::string_view bytes);

 protected:
  // One try that does not block: bytes moved, 0 at the end; else -1, and the poll(2) events after
  // which to try again, or none when it has failed.
  struct Try {
    ssize_t bytes = -1;
    short again_after = 0;
  };
  virtual Try receive(char* to, std::size_t size);
  virtual Try transmit(const char* from, std::size_t size);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool wait(short events, TimePoint until) const;
  // Bytes read; 0 at the end; -1 for an error or the deadline.
  ssize_t receive_some(char* to, std::size_t size);
  ssize_t read(char* to, std::size_t size);
  bool fill();

  int socket_;
  StreamLimits limits_;
  TimePoint read_until_;
  std::optional<TimePoint> write_until_;
  std::array<char, 4096> buffer_{};  // what has come and is not read, from at_ to end_
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace pinion::net
