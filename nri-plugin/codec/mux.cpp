#include "nri-plugin/codec/mux.h"

#include <algorithm>
#include <string_view>

namespace pinion::nri {

std::uint32_t read_u32(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

Result<std::optional<MuxChunk>> MuxDecoder::next(ByteSpan& input) {
  while (left_ == 0) {
    const std::size_t take = std::min(kMuxHeaderSize - header_size_, input.size());
    std::copy_n(input.begin(), take, header_ + header_size_);
    header_size_ += take;
    input = input.subspan(take);
    if (header_size_ < kMuxHeaderSize) return std::nullopt;
    header_size_ = 0;
    ++frames_;
    connection_ = read_u32(header_);
    left_ = read_u32(header_ + 4);
    if (connection_ == 0) return failure(Errc::kInvalid, "mux frame for the reserved connection 0");
    if (left_ > kMaxMuxPayload) {
      return failure(Errc::kInvalid, "mux frame of " + std::to_string(left_) +
                                         " bytes, above the limit of " +
                                         std::to_string(kMaxMuxPayload));
    }
  }
  if (input.empty()) return std::nullopt;
  const ByteSpan bytes = input.first(std::min(left_, input.size()));
  input = input.subspan(bytes.size());
  left_ -= bytes.size();
  return MuxChunk{.connection = connection_, .bytes = bytes};
}

namespace {

void append_frame(std::string& out, std::uint32_t connection, std::string_view payload) {
  append_u32(out, connection);
  append_u32(out, static_cast<std::uint32_t>(payload.size()));
  out += payload;
}

}  // namespace

std::size_t append_frames(std::string& out, std::uint32_t connection, std::string_view message) {
  append_frame(out, connection, message.substr(0, kFirstFrameLimit));
  if (message.size() <= kFirstFrameLimit) return 1;
  append_frame(out, connection, message.substr(kFirstFrameLimit));
  return 2;
}

}  // namespace pinion::nri
