#include "nri-plugin/codec/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/nri.pb.h"
#include "proto/ttrpc.pb.h"

namespace pinion::nri {
namespace {

namespace wire = ::nri::pkg::api::v1alpha1;

TEST(FieldReader, ReadsWhatProtobufWrites) {
  ::ttrpc::Request request;
  request.set_service("service");
  request.set_method(std::string(200, 'm'));  // its length takes two bytes
  request.set_timeout_nano(-5);               // ten bytes
  request.add_metadata()->set_key("k");
  const std::string text = request.SerializeAsString();
  FieldReader reader(text);
  std::vector<std::uint32_t> numbers;
  while (const auto field = reader.next()) {
    numbers.push_back(field->number);
    if (field->number == 1) {
      EXPECT_EQ(field->bytes, "service");
    }
    if (field->number == 2) {
      EXPECT_EQ(field->bytes, std::string(200, 'm'));
    }
    if (field->number == 4) {
      EXPECT_EQ(static_cast<std::int64_t>(field->value), -5);
    }
  }
  EXPECT_FALSE(reader.malformed());
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 4, 5}));
}

TEST(FieldReader, MessageCutAnywhereIsMalformedOrShorter) {
  wire::SynchronizeRequest request;
  request.add_pods()->set_id("pod");
  request.add_containers()->set_id("container");
  request.set_more(true);
  const std::string text = request.SerializeAsString();
  for (std::size_t size = 0; size < text.size(); ++size) {
    FieldReader reader(std::string_view(text).substr(0, size));
    int fields = 0;
    while (reader.next()) ++fields;
    EXPECT_LT(fields, 3);
    wire::SynchronizeRequest parsed;
    EXPECT_EQ(!reader.malformed(), parsed.ParseFromString(text.substr(0, size))) << size;
  }
}

TEST(FieldReader, FixedWidthFieldsAreSkipped) {
  const std::string text(
      "\x09"
      "12345678"
      "\x15"
      "1234"
      "\x1a\x01z",
      17);
  FieldReader reader(text);
  EXPECT_EQ(reader.next()->type, Field::Type::kFixed64);
  EXPECT_EQ(reader.next()->type, Field::Type::kFixed32);
  EXPECT_EQ(reader.next()->bytes, "z");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.malformed());
}

TEST(FieldReader, Malformed) {
  struct Case {
    const char* name;
    std::string text;
  };
  const Case cases[] = {
      {"field 0", std::string("\x02\x00", 2)},
      {"group", "\x0b\x0c"},
      {"type 6", "\x0e"},
      {"tag without end", "\xff\xff\xff"},
      {"varint of eleven bytes", "\x08" + std::string(10, '\xff') + "\x01"},
      {"field number above 29 bits", "\xfa\xff\xff\xff\xff\x01"},
      {"length beyond the end",
       "\x0a\x05"
       "abc"},
      {"huge length", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
      {"fixed64 cut",
       "\x09"
       "1234567"},
      {"fixed32 cut",
       "\x0d"
       "123"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FieldReader reader(c.text);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.malformed());
    EXPECT_FALSE(reader.next());
  }
}

}  // namespace
}  // namespace pinion::nri
