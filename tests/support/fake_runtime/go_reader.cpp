#include "tests/support/fake_runtime/go_reader.h"

#include <algorithm>
#include <utility>

namespace pinion::test_support {
namespace {

constexpr std::size_t kBuffer = 4096;
constexpr std::size_t kQueue = 256;
constexpr std::size_t kBodyLimit = std::size_t{4} << 20;

std::uint32_t big_endian(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value * 256 + static_cast<unsigned char>(text[i]);
  return value;
}

}  // namespace

void GoReader::receive(std::string_view bytes) {
  input_ += bytes;
  std::size_t at = 0;
  while (broken_.empty() && input_.size() - at >= 8) {
    const std::uint32_t connection = big_endian(input_, at);
    const std::size_t size = big_endian(input_, at + 4);
    if (input_.size() - at - 8 < size) break;
    Stream& stream = streams_[connection];
    stream.queue.push_back(input_.substr(at + 8, size));
    frame_sizes_.push_back(size);
    if (stream.queue.size() > kQueue) broken_ = "more than 256 frames are queued";
    at += 8 + size;
  }
  input_.erase(0, at);
  for (auto& [connection, stream] : streams_) {
    while (broken_.empty() && read_some(stream)) finish_part(connection, stream);
  }
}

// One turn of the reader's "read until `need` bytes are there". False: it would wait.
bool GoReader::read_some(Stream& stream) {
  const std::size_t missing = stream.need - stream.message.size();
  if (stream.buffer.empty()) {
    if (stream.queue.empty()) return false;
    std::string frame = std::move(stream.queue.front());
    stream.queue.pop_front();
    const bool direct = missing >= kBuffer;
    if (frame.size() > (direct ? missing : kBuffer)) {
      broken_ = "a frame of " + std::to_string(frame.size()) + " bytes where " +
                std::to_string(direct ? missing : kBuffer) + " fit";
      return false;
    }
    (direct ? stream.message : stream.buffer) += frame;
    if (direct) return true;
  }
  const std::size_t take = std::min(missing, stream.buffer.size());
  stream.message.append(stream.buffer, 0, take);
  stream.buffer.erase(0, take);
  return true;
}

void GoReader::finish_part(std::uint32_t connection, Stream& stream) {
  if (stream.message.size() < stream.need) return;
  if (stream.need == 10) {
    const std::size_t body = big_endian(stream.message, 0);
    if (body > kBodyLimit) broken_ = "a message of " + std::to_string(body) + " bytes";
    stream.need += body;
    if (body > 0) return;
  }
  messages_.push_back(WireMessage{.connection = connection,
                                  .stream = big_endian(stream.message, 4),
                                  .type = static_cast<std::uint8_t>(stream.message[8]),
                                  .flags = static_cast<std::uint8_t>(stream.message[9]),
                                  .body = stream.message.substr(10)});
  stream.message.clear();
  stream.need = 10;
}

std::vector<WireMessage> GoReader::take_messages() {
  return std::exchange(messages_, {});
}

std::vector<std::size_t> GoReader::take_frame_sizes() {
  return std::exchange(frame_sizes_, {});
}

}  // namespace pinion::test_support
