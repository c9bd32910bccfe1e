// What the runtime's reader makes of a plugin's bytes, with its limits: it queues at most 256
// frames of a connection, reads a message through a buffer of 4096 bytes, and drops the connection
// when a frame does not fit where it is reading to. Written apart from nri-plugin/codec, so that
// both do not share a mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::test_support {

struct WireMessage {
  std::uint32_t connection = 0;
  std::uint32_t stream = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::string body;
};

class GoReader {
 public:
  // The worst case for the plugin: the frames of one call arrive before any of them is read.
  void receive(std::string_view bytes);

  // The complete messages so far, oldest first; they are then forgotten.
  std::vector<WireMessage> take_messages();
  // Payload sizes of all frames so far, and forgets them.
  std::vector<std::size_t> take_frame_sizes();
  // Why the runtime would have dropped the connection; empty while it would not.
  [[nodiscard]] const std::string& broken() const { return broken_; }

 private:
  struct Stream {
    std::deque<std::string> queue;
    std::string buffer;   // the reader's own 4096 bytes
    std::string message;  // header and body so far
    std::size_t need = 10;
  };

  bool read_some(Stream& stream);
  void finish_part(std::uint32_t connection, Stream& stream);

  std::string input_;
  std::map<std::uint32_t, Stream> streams_;
  std::vector<WireMessage> messages_;
  std::vector<std::size_t> frame_sizes_;
  std::string broken_;
};

}  // namespace pinion::test_support
