#include "nri-plugin/codec/fields.h"

namespace pinion::nri {

// Seven bits a byte, lowest first, the high bit says that more follow; at most ten bytes.
std::optional<std::uint64_t> FieldReader::take_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

bool FieldReader::skip(std::uint64_t size) {
  if (size > rest_.size()) return false;
  rest_.remove_prefix(size);
  return true;
}

bool FieldReader::take_value(Field& field) {
  const bool has_number = field.type == Field::Type::kVarint || field.type == Field::Type::kBytes;
  if (has_number) {
    const auto number = take_varint();
    if (!number) return false;
    field.value = *number;
  }
  switch (field.type) {
    case Field::Type::kVarint:
      return true;
    case Field::Type::kFixed64:
      return skip(8);
    case Field::Type::kBytes:
      field.bytes = rest_.substr(0, field.value);
      return skip(field.value);
    case Field::Type::kFixed32:
      return skip(4);
  }
  return false;
}

std::optional<Field> FieldReader::next() {
  if (rest_.empty() || malformed_) return std::nullopt;
  malformed_ = true;  // until the field is read
  const auto tag = take_varint();
  if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
  Field field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  field.type = static_cast<Field::Type>(*tag & 7U);
  if (!take_value(field)) return std::nullopt;
  malformed_ = false;
  return field;
}

}  // namespace pinion::nri
