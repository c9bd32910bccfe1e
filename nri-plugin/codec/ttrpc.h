// ttrpc's framing inside one connection of the mux: a 10-byte header (body length and stream id,
// both 32 bits big endian, type, flags) and the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nri-plugin/codec/mux.h"

namespace pinion::nri {

inline constexpr std::size_t kTtrpcHeaderSize = 10;
// The longest body that a receiver of the protocol takes, so the longest to send.
inline constexpr std::size_t kMaxTtrpcBody = std::size_t{4} << 20;
// The longest body taken here: older runtimes do not look at that limit when they send, and their
// Synchronize of a thousand containers is larger.
inline constexpr std::size_t kMaxReceivedBody = kMaxMuxPayload - kTtrpcHeaderSize;

// Other values are possible on the wire: a receiver skips such messages.
enum class MessageType : std::uint8_t { kRequest = 1, kResponse = 2, kData = 3 };

struct MessageHeader {
  std::uint32_t stream = 0;  // chosen by the caller: odd, increasing
  MessageType type = MessageType::kRequest;
  std::uint8_t flags = 0;
};

struct Message {
  MessageHeader header;
  ByteSpan body;  // valid until the decoder is used again and its input lives
};

// Puts the messages of one connection together from the pieces that the mux hands out. A message
// that lies whole in a piece is not copied; else it is collected in a buffer that is at most one
// message large and is given back when a large message is done.
class TtrpcDecoder {
 public:
  // Takes bytes off the front of `input` until a message is complete; nothing when `input` is used
  // up before.
  // Errors: kInvalid for a body above kMaxReceivedBody. The stream is then lost.
  Result<std::optional<Message>> next(ByteSpan& input);

  // Bytes of an incomplete message that wait for the rest.
  [[nodiscard]] std::size_t buffered() const { return done_ ? 0 : buffer_.size(); }

 private:
  bool fill(ByteSpan& input, std::size_t size);
  void drop_done();

  std::vector<std::byte> buffer_;  // header and body of the message being collected
  bool done_ = false;              // the buffer holds a message that was handed out
};

// Appends a header for a body of `body_size` bytes (at most kMaxTtrpcBody) to `out`.
void append_header(std::string& out, const MessageHeader& header, std::size_t body_size);

}  // namespace pinion::nri
