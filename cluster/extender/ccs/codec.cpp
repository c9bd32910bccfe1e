#include "cluster/extender/ccs/codec.h"

#include <algorithm>

namespace pinion::cluster::ccs {
namespace {

constexpr std::size_t kNumberBytes = 4;
constexpr std::uint32_t kByte = 0xff;

void put_big_endian(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> static_cast<unsigned>(shift) & kByte));
  }
}

void put_little_endian(std::string& bytes, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(value >> shift & kByte));
  }
}

// Precondition: kNumberBytes are there.
std::uint32_t big_endian_at(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

std::string request(std::string_view handler, std::string_view data) {
  std::string bytes;
  put_big_endian(bytes, static_cast<std::uint32_t>(data.size()));
  put_big_endian(bytes, 0);  // the PE
  bytes.append(handler).append(kHandlerBytes - handler.size(), '\0');
  return bytes.append(data);
}

Result<std::optional<std::string_view>> answer_in(std::string_view bytes) {
  using Missing = std::optional<std::string_view>;
  if (bytes.size() < kNumberBytes) return Missing();
  const std::size_t length = big_endian_at(bytes);
  if (length > kMostAnswerBytes) {
    return failure(Errc::kInvalid, "an answer of " + std::to_string(length) + " bytes");
  }
  if (bytes.size() - kNumberBytes < length) return Missing();
  return Missing(bytes.substr(kNumberBytes, length));
}

Result<int> pes_in(std::string_view info) {
  const auto wrong = [](const char* what) {
    return failure(Errc::kInvalid, std::string("ccs_getinfo: ") + what);
  };
  if (info.size() < kNumberBytes) return wrong("no number of nodes");
  const std::uint64_t nodes = big_endian_at(info);
  info.remove_prefix(kNumberBytes);
  if (info.size() != nodes * kNumberBytes) return wrong("not one number for each node");
  std::uint64_t pes = 0;
  for (; !info.empty(); info.remove_prefix(kNumberBytes)) pes += big_endian_at(info);
  if (pes > static_cast<std::uint64_t>(kMostPes)) return wrong("too many PEs");
  return static_cast<int>(pes);
}

std::string bitmap(int before, int wanted) {
  const auto stay = static_cast<std::size_t>(std::min(before, wanted));
  std::string data(stay, '\1');
  data.resize(static_cast<std::size_t>(before), '\0');
  put_little_endian(data, static_cast<std::uint32_t>(wanted));
  data.push_back('\0');
  return data;
}

}  // namespace pinion::cluster::ccs
