// A connection as cpp-httplib reads and writes it, with one deadline for the whole request, one for
// the whole answer, and a limit of bytes. httplib's own time-outs begin anew with every byte, so a
// client that sends one each few seconds would hold its thread for hours; and its own stream waits
// with select(2), which fails from descriptor 1024 on, and an agent with many perf events, or an
// extender with many connections, is past that.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <optional>

namespace pinion::net {

struct StreamLimits {
  std::chrono::milliseconds read{3000};     // from the connection's turn to the request's end
  std::chrono::milliseconds write{10'000};  // from the first to the last byte of the answer
  std::size_t request_bytes = 16384;        // request line, headers and body
};

class DeadlineStream : public httplib::Stream {
 public:
  // `socket` does not block, and stays the caller's.
  DeadlineStream(int socket, const StreamLimits& limits);

  // Waits for another request on the same connection, for which deadlines and limits begin anew.
  // False: none has begun within `idle`, or the connection is at its end.
  bool next_request(std::chrono::milliseconds idle);
  // Lets so many bytes of the request come beyond its limit, until `time` from now.
  void expect(std::size_t bytes, std::chrono::milliseconds time);

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override { return true; }
  // Bytes read; 0 at the end; -1 for an error, a deadline or a limit that is reached.
  ssize_t read(char* to, std::size_t size) override;
  // All of it, or -1.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // httplib compares it with FD_SETSIZE and answers 500 above that; it does nothing else with it.
  [[nodiscard]] socket_t socket() const override { return 0; }

 protected:
  // One try that does not block: bytes moved, 0 at the end; else -1, and the poll(2) events after
  // which to try again, or none when it has failed.
  struct Try {
    ssize_t bytes = -1;
    short again_after = 0;
  };
  virtual Try receive(char* to, std::size_t size);
  virtual Try transmit(const char* from, std::size_t size);

  [[nodiscard]] int descriptor() const { return socket_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool wait(short events, TimePoint until) const;
  ssize_t receive_some(char* to, std::size_t size);
  bool fill();

  int socket_;
  StreamLimits limits_;
  TimePoint read_until_;
  std::optional<TimePoint> write_until_;
  std::array<char, 4096> buffer_{};  // httplib reads byte by byte
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t left_;  // bytes that this request may still bring
};

}  // namespace pinion::net
