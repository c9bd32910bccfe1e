#include "nri-plugin/codec/ttrpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "bytes.h"

namespace pinion::nri {
namespace {

using testing::HasSubstr;

std::string message(std::uint32_t stream, MessageType type, std::uint8_t flags,
                    const std::string& body) {
  std::string out;
  append_header(out, {.stream = stream, .type = type, .flags = flags}, body.size());
  return out + body;
}

struct TakenMessages {
  std::vector<std::uint32_t> streams;
  std::vector<int> types;
  std::vector<std::string> bodies;
  std::string error;
  std::size_t most_buffered = 0;
};

TakenMessages decode_ttrpc(std::string_view text, std::size_t step) {
  TtrpcDecoder decoder;
  TakenMessages taken;
  for (std::size_t at = 0; at < text.size(); at += step) {
    ByteSpan input = as_bytes(text.substr(at, step));
    while (true) {
      const auto next = decoder.next(input);
      if (!next) {
        taken.error = next.error().text;
        return taken;
      }
      taken.most_buffered = std::max(taken.most_buffered, decoder.buffered());
      if (!*next) break;
      taken.streams.push_back((*next)->header.stream);
      taken.types.push_back(static_cast<int>((*next)->header.type));
      taken.bodies.push_back(as_text((*next)->body));
    }
    EXPECT_TRUE(input.empty());
  }
  return taken;
}

TEST(TtrpcDecoder, MessagesComeOutWholeHoweverTheInputIsCut) {
  const std::string text = message(1, MessageType::kRequest, 0, "abc") +
                           message(3, MessageType::kResponse, 1, "") +
                           message(0xfffffffd, MessageType::kData, 7, std::string(200, 'x')) +
                           message(5, static_cast<MessageType>(99), 0, "z");
  for (std::size_t step = 1; step <= text.size(); ++step) {
    SCOPED_TRACE(step);
    const TakenMessages taken = decode_ttrpc(text, step);
    EXPECT_THAT(taken.streams, testing::ElementsAre(1, 3, 0xfffffffd, 5));
    EXPECT_THAT(taken.types, testing::ElementsAre(1, 2, 3, 99));
    EXPECT_THAT(taken.bodies, testing::ElementsAre("abc", "", std::string(200, 'x'), "z"));
    EXPECT_EQ(taken.error, "");
  }
}

TEST(TtrpcDecoder, HeaderIsReadAsThePeerWroteIt) {
  const std::string text("\0\0\0\2\0\0\1\1\2\5hi", 12);
  TtrpcDecoder decoder;
  ByteSpan input = as_bytes(text);
  const auto next = decoder.next(input);
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->header.stream, 257U);
  EXPECT_EQ((*next)->header.type, MessageType::kResponse);
  EXPECT_EQ((*next)->header.flags, 5);
  EXPECT_EQ(as_text((*next)->body), "hi");
  EXPECT_EQ(message(257, MessageType::kResponse, 5, "hi"), text);
}

TEST(TtrpcDecoder, BodyLengthIsBounded) {
  struct Case {
    const char* name;
    std::string text;
    const char* want;  // a part of the error; empty: there is none
  };
  const Case cases[] = {
      {"at the limit", std::string("\4\0\0\0\0\0\0\1\1\0", 10), ""},
      {"one above", std::string("\4\0\0\1\0\0\0\1\1\0", 10), "67108865 bytes"},
      {"longest", std::string("\xff\xff\xff\xff\0\0\0\1\1\0", 10), "4294967295 bytes"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (const std::size_t step : {c.text.size(), std::size_t{1}}) {
      const std::string error = decode_ttrpc(c.text, step).error;
      EXPECT_THAT(error, HasSubstr(c.want));
      EXPECT_EQ(error.empty(), *c.want == '\0') << error;
    }
  }
}

TEST(TtrpcDecoder, LargestMessageByteByByteTakesLinearTimeAndOneMessageOfMemory) {
  const std::string text = message(1, MessageType::kRequest, 0, std::string(kMaxTtrpcBody, 'b')) +
                           message(3, MessageType::kRequest, 0, "next");
  const auto begin = std::chrono::steady_clock::now();
  const TakenMessages taken = decode_ttrpc(text, 1);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(taken.bodies.size(), 2U);
  EXPECT_EQ(taken.bodies[0].size(), kMaxTtrpcBody);
  EXPECT_EQ(taken.bodies[1], "next");
  EXPECT_LE(taken.most_buffered, kTtrpcHeaderSize + kMaxTtrpcBody);
  // Quadratic copying would be 8 TB: hours. Linear is tens of milliseconds.
  EXPECT_LT(took, std::chrono::seconds(20));
}

TEST(TtrpcDecoder, BufferedIsZeroBetweenMessages) {
  const std::string text = message(1, MessageType::kRequest, 0, "abcdef");
  TtrpcDecoder decoder;
  ByteSpan first = as_bytes(text).first(12);
  ASSERT_TRUE(decoder.next(first));
  EXPECT_EQ(decoder.buffered(), 12U);
  ByteSpan second = as_bytes(text).subspan(12);
  const auto next = decoder.next(second);
  ASSERT_TRUE(next && *next);
  EXPECT_EQ(as_text((*next)->body), "abcdef");
  EXPECT_EQ(decoder.buffered(), 0U);
}

}  // namespace
}  // namespace pinion::nri
