// Walks over the fields of an encoded protobuf message without copying them. For the two messages
// that are too large to be copied for nothing: the envelope of every call (its payload is the
// rest), and Synchronize (megabytes of pods and containers that are needed one at a time).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pinion::nri {

struct Field {
  // As the wire calls them. Groups (3 and 4) were given up by the language long ago: malformed.
  enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint32_t number = 0;
  Type type = Type::kVarint;
  std::uint64_t value = 0;  // of kVarint
  std::string_view bytes;   // of kBytes: a string, or a message within
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}

  // The next field; nothing at the end, or when the rest is malformed.
  std::optional<Field> next();
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  std::optional<std::uint64_t> take_varint();
  bool take_value(Field& field);
  bool skip(std::uint64_t size);

  std::string_view rest_;
  bool malformed_ = false;
};

}  // namespace pinion::nri
