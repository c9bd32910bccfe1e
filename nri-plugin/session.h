// NRI's protocol over one socket, without the socket: bytes in, bytes out, time passed in. A
// session lives from a socket's opening to its closing; Connection makes a new one after that.
//
//   start -> RegisterPlugin out -+-> its answer in --+
//                                +-> Configure in ---+-> Synchronize in, in parts -> calls in
//
// Configure may arrive before the answer to RegisterPlugin.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "nri-plugin/codec/mux.h"
#include "nri-plugin/codec/ttrpc.h"
#include "nri-plugin/counters.h"
#include "nri-plugin/handler.h"
#include "nri-plugin/service.h"

namespace pinion::nri {

using TimePoint = std::chrono::steady_clock::time_point;

struct SessionOptions {
  std::string name = "pinion";  // letters, digits, - _ . +
  std::string index = "10";     // two digits; plugins are asked in ascending order
  // The longest silence of the runtime during the handshake. A runtime takes in one plugin at a
  // time, and waits up to 5 s for one that does not register.
  std::chrono::milliseconds handshake_timeout{15000};
  // What the handler keeps of all parts of one Synchronize together, and a byte for each part. Of
  // 500 containers that are less than 1 MB, whatever their environment.
  std::size_t max_listed_bytes = std::size_t{256} << 20;
  // Answers that the runtime has not read yet; beyond it the session is given up.
  std::size_t max_pending_output = std::size_t{16} << 20;
};

// Errors: kInvalid for a name or an index that runtimes refuse.
Status validate(const SessionOptions& options);

// How far the handshake is.
enum class Phase {
  kNew,           // start() was not called
  kRegistering,   // RegisterPlugin sent
  kRegistered,    // and answered
  kConfigured,    // the runtime told who it is and was told which events to send
  kSynchronized,  // the runtime told what exists: calls come in
};
[[nodiscard]] std::string_view to_string(Phase phase);  // "registering", ...

class Session {
 public:
  // The handler and the counters must outlive the session.
  Session(const SessionOptions& options, Handler& handler, Counters& counters);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Begins the handshake: puts RegisterPlugin into the output.
  void start(TimePoint now);

  // Takes what arrived, calls the handler, puts answers into the output. An error ends the session:
  // the socket must be closed.
  // Errors: kInvalid for bytes that are not the protocol, kDenied when the runtime refuses the
  // registration, kExhausted when it does not read its answers.
  Status receive(ByteSpan bytes, TimePoint now);

  // Call it after receive(), with the time after it, and when deadline() has come.
  // Errors: kUnavailable when the runtime was silent during the handshake, or when Synchronize was
  // answered too late: some runtimes then say "connected" and never send an event again.
  Status tick(TimePoint now);
  // When tick() has something to do; nothing once the handshake is done.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  // Bytes for the socket, oldest first. The view is valid until the session is used again.
  [[nodiscard]] std::string_view output() const;
  void consume_output(std::size_t bytes);  // precondition: at most output().size()

  [[nodiscard]] Phase phase() const;
  // Who the runtime is; nothing before Configure.
  [[nodiscard]] const std::optional<RuntimeInfo>& runtime() const { return service_.runtime(); }

 private:
  Status take_chunk(MuxChunk chunk, TimePoint now);
  void on_call(const Message& message, TimePoint now);
  [[nodiscard]] Status check_output() const;
  Status on_registered(const Message& message, TimePoint now);
  void send_answer(std::uint32_t stream, Answer answer);
  void send(std::uint32_t connection, const MessageHeader& header,
            const google::protobuf::MessageLite& body);

  SessionOptions options_;
  Handler& handler_;
  Counters& counters_;
  Service service_;

  MuxDecoder mux_;
  TtrpcDecoder plugin_stream_;     // connection 1
  TtrpcDecoder runtime_stream_;    // connection 2
  std::uint32_t last_stream_ = 0;  // of the runtime's calls

  bool started_ = false;
  bool registered_ = false;
  TimePoint last_progress_;                       // of the handshake
  std::optional<TimePoint> synchronizing_since_;  // until tick() has seen the answer's time

  std::string scratch_;  // one encoded message
  std::string out_;
  std::size_t out_done_ = 0;  // bytes of out_ that the socket has taken
};

}  // namespace pinion::nri
