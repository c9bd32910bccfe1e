// NRI's multiplexer: several byte streams ("connections") over one unix socket. A frame is an
// 8-byte header (connection, payload length, both 32 bits big endian) and the payload. Frames cut
// the streams anywhere: where a message begins or ends is known to the layer above only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace pinion::nri {

using ByteSpan = std::span<const std::byte>;

inline constexpr std::uint32_t kPluginConnection = 1;   // the runtime calls the plugin
inline constexpr std::uint32_t kRuntimeConnection = 2;  // the plugin calls the runtime

inline constexpr std::size_t kMuxHeaderSize = 8;
// The longest payload taken: a whole ttrpc message of the largest size that is taken. (The protocol
// says 10 bytes and 4 MiB; older runtimes do not look at that when they send.)
inline constexpr std::size_t kMaxMuxPayload = 10 + (std::size_t{64} << 20);
// What a runtime's reader can hold while it waits for the beginning of a message.
inline constexpr std::size_t kFirstFrameLimit = 4096;

// A piece of one connection's stream.
struct MuxChunk {
  std::uint32_t connection = 0;
  ByteSpan bytes;  // points into the input it was taken from; never empty
};

// Takes a socket's stream apart as it arrives. Holds no payload, only the header being read.
class MuxDecoder {
 public:
  // Takes the next piece off the front of `input`; nothing when `input` is used up. A frame that
  // arrives in several inputs comes out in several pieces.
  // Errors: kInvalid for connection 0 (reserved) and a length above kMaxMuxPayload. The stream is
  // then lost: give up the socket.
  Result<std::optional<MuxChunk>> next(ByteSpan& input);

  [[nodiscard]] std::uint64_t frames() const { return frames_; }  // headers seen

 private:
  std::byte header_[kMuxHeaderSize] = {};
  std::size_t header_size_ = 0;  // bytes of it that are there
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  // payload bytes of the current frame still to come
  std::uint64_t frames_ = 0;
};

// Appends one whole ttrpc message to `out` as the frames that every runtime can read: one frame up
// to kFirstFrameLimit bytes; beyond that the first kFirstFrameLimit bytes in one frame and all the
// rest in a second. A larger first frame makes the runtime drop the connection, and many small ones
// overflow its queue of 256. Returns how many frames it made.
// Precondition: the message is neither empty nor above the protocol's limit, connection != 0.
std::size_t append_frames(std::string& out, std::uint32_t connection, std::string_view message);

// Big-endian numbers, as both layers of the protocol write them.
[[nodiscard]] std::uint32_t read_u32(const std::byte* at);
void append_u32(std::string& out, std::uint32_t value);

}  // namespace pinion::nri
