#include "nri-plugin/codec/ttrpc.h"

#include <algorithm>

namespace pinion::nri {
namespace {

// A buffer above this is given back after its message: they are rare (Synchronize), and the agent
// shall be small between them.
constexpr std::size_t kKeptCapacity = std::size_t{64} << 10;

Result<std::size_t> body_size(const std::byte* header) {
  const std::size_t size = read_u32(header);
  if (size > kMaxReceivedBody) {
    return failure(Errc::kInvalid, "ttrpc message of " + std::to_string(size) +
                                       " bytes, above the limit of " +
                                       std::to_string(kMaxReceivedBody));
  }
  return size;
}

Message make_message(ByteSpan whole) {
  return Message{
      .header = {.stream = read_u32(whole.data() + 4),
                 .type = static_cast<MessageType>(std::to_integer<std::uint8_t>(whole[8])),
                 .flags = std::to_integer<std::uint8_t>(whole[9])},
      .body = whole.subspan(kTtrpcHeaderSize)};
}

}  // namespace

// Moves bytes from the input to the buffer until that has `size`. False: the input ended before.
bool TtrpcDecoder::fill(ByteSpan& input, std::size_t size) {
  const ByteSpan part = input.first(std::min(size - buffer_.size(), input.size()));
  buffer_.insert(buffer_.end(), part.data(), part.data() + part.size());  // pointers: memcpy
  input = input.subspan(part.size());
  return buffer_.size() == size;
}

void TtrpcDecoder::drop_done() {
  if (!done_) return;
  done_ = false;
  buffer_.clear();
  if (buffer_.capacity() > kKeptCapacity) std::vector<std::byte>().swap(buffer_);
}

Result<std::optional<Message>> TtrpcDecoder::next(ByteSpan& input) {
  drop_done();
  if (buffer_.empty() && input.size() >= kTtrpcHeaderSize) {
    const auto size = body_size(input.data());
    if (!size) return failure(size.error());
    const std::size_t whole = kTtrpcHeaderSize + *size;
    if (input.size() >= whole) {
      const Message message = make_message(input.first(whole));
      input = input.subspan(whole);
      return message;
    }
  }
  if (buffer_.size() < kTtrpcHeaderSize && !fill(input, kTtrpcHeaderSize)) return std::nullopt;
  const auto size = body_size(buffer_.data());
  if (!size) return failure(size.error());
  const std::size_t whole = kTtrpcHeaderSize + *size;
  buffer_.reserve(whole);
  if (buffer_.size() < whole && !fill(input, whole)) return std::nullopt;
  done_ = true;
  return make_message(buffer_);
}

void append_header(std::string& out, const MessageHeader& header, std::size_t body_size) {
  append_u32(out, static_cast<std::uint32_t>(body_size));
  append_u32(out, header.stream);
  out += static_cast<char>(header.type);
  out += static_cast<char>(header.flags);
}

}  // namespace pinion::nri
