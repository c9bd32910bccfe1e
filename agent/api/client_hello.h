// The first bytes of a TLS connection: what a client says before anything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace pinion::agent::api {

// Of a TLS record and of the first message in it: as much as client_hello_size() can use.
inline constexpr std::size_t kRecordHeader = 6;

// How many bytes there have to be before the first record of a connection is whole, from the first
// bytes that came; with fewer than kRecordHeader of them the answer is kRecordHeader. Not set: this
// is no ClientHello in a record (RFC 8446, sections 4.1.2 and 5.1; at most 16,384 bytes).
[[nodiscard]] inline std::optional<std::size_t> client_hello_size(
    std::span<const std::uint8_t> bytes) {
  constexpr std::uint8_t handshake = 22;
  constexpr std::uint8_t major_version = 3;
  constexpr std::uint8_t client_hello = 1;
  constexpr std::size_t before_content = 5;
  constexpr std::size_t most = 16384;
  const auto wrong = [&](std::size_t at, std::uint8_t wanted) {
    return bytes.size() > at && bytes[at] != wanted;
  };
  if (wrong(0, handshake) || wrong(1, major_version) || wrong(before_content, client_hello)) {
    return std::nullopt;
  }
  if (bytes.size() < kRecordHeader) return kRecordHeader;
  const std::size_t content = static_cast<std::size_t>(bytes[3]) << 8U | bytes[4];
  if (content == 0 || content > most) return std::nullopt;
  return before_content + content;
}

}  // namespace pinion::agent::api
