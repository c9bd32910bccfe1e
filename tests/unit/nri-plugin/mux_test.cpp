#include "nri-plugin/codec/mux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bytes.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::nri {
namespace {

using test_support::frame;
using testing::ElementsAre;
using testing::HasSubstr;

struct Taken {
  std::string first;   // bytes of connection 1
  std::string second;  // of connection 2
  std::string error;
};

// Feeds the text in pieces of `step` bytes.
Taken decode(const std::string& text, std::size_t step) {
  MuxDecoder decoder;
  Taken taken;
  for (std::size_t at = 0; at < text.size(); at += step) {
    ByteSpan input = as_bytes(std::string_view(text).substr(at, step));
    while (true) {
      const auto chunk = decoder.next(input);
      if (!chunk) {
        taken.error = chunk.error().text;
        return taken;
      }
      if (!*chunk) break;
      EXPECT_FALSE((*chunk)->bytes.empty());
      ((*chunk)->connection == 1 ? taken.first : taken.second) += as_text((*chunk)->bytes);
    }
    EXPECT_TRUE(input.empty());
  }
  return taken;
}

TEST(MuxDecoder, StreamsComeOutWholeHoweverTheInputIsCut) {
  const std::string text = frame(1, "abc") + frame(2, "X") + frame(1, "") + frame(1, "defg") +
                           frame(2, std::string(300, 'y')) + frame(1, "h");
  for (std::size_t step = 1; step <= text.size(); ++step) {
    SCOPED_TRACE(step);
    const Taken taken = decode(text, step);
    EXPECT_EQ(taken.first, "abcdefgh");
    EXPECT_EQ(taken.second, "X" + std::string(300, 'y'));
    EXPECT_EQ(taken.error, "");
  }
}

TEST(MuxDecoder, CountsFramesNotChunks) {
  MuxDecoder decoder;
  for (const char byte : frame(1, "abcdef") + frame(2, "x")) {
    ByteSpan input = as_bytes({&byte, 1});
    ASSERT_TRUE(decoder.next(input));
  }
  EXPECT_EQ(decoder.frames(), 2U);
}

TEST(MuxDecoder, RefusesWhatNoRuntimeSends) {
  struct Case {
    const char* name;
    std::string text;
    const char* want;  // a part of the error; empty: there is none
  };
  const std::string too_long = std::string("\0\0\0\1", 4) + std::string("\4\0\0\x0b", 4);
  const std::string longest = std::string("\0\0\0\1", 4) + std::string("\4\0\0\x0a", 4);
  const std::string huge = std::string("\0\0\0\1", 4) + std::string("\xff\xff\xff\xff", 4);
  const Case cases[] = {
      {"connection 0", frame(0, "abc"), "reserved connection 0"},
      {"connection 0, no payload", frame(0, ""), "reserved connection 0"},
      {"one byte above the limit", too_long, "67108875 bytes"},
      {"longest length", huge, "4294967295 bytes"},
      {"at the limit", longest, ""},
      {"text instead of a frame", "HTTP/1.1 400 Bad Request\r\n", "above the limit"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string error = decode(c.text, c.text.size()).error;
    EXPECT_THAT(error, HasSubstr(c.want));
    EXPECT_EQ(error.empty(), *c.want == '\0') << error;
    EXPECT_EQ(decode(c.text, 1).error, error);
  }
}

TEST(AppendFrames, OneFrameUpTo4096BytesElseExactlyTwo) {
  struct Case {
    std::size_t size;
    std::vector<std::size_t> want;
  };
  const Case cases[] = {{1, {1}},
                        {4095, {4095}},
                        {4096, {4096}},
                        {4097, {4096, 1}},
                        {8192, {4096, 4096}},
                        {8193, {4096, 4097}},
                        {1500000, {4096, 1495904}},
                        {(4 << 20) + 10, {4096, (4 << 20) + 10 - 4096}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.size);
    // A whole message, as the reader of a runtime wants to see it.
    std::string message = std::string(4, '\0') + std::string("\0\0\0\1\2\0", 6);
    if (c.size >= 10) {
      const std::size_t body = c.size - 10;
      for (std::size_t i = 0; i < 4; ++i) message[i] = static_cast<char>(body >> (24 - 8 * i));
    }
    message.resize(c.size, 'm');
    std::string out = "before";
    EXPECT_EQ(append_frames(out, 1, message), c.want.size());
    EXPECT_EQ(out.substr(0, 6), "before");
    test_support::GoReader reader;
    reader.receive(out.substr(6));
    EXPECT_EQ(reader.broken(), "");
    EXPECT_EQ(reader.take_frame_sizes(), c.want);
    if (c.size >= 10) {
      EXPECT_EQ(reader.take_messages().at(0).body.size(), c.size - 10);
    }
    EXPECT_EQ(decode(out.substr(6), out.size()).first, message);
  }
}

// The model of the runtime's reader must fail where the real one does, or it proves nothing.
TEST(GoReader, DropsWhatARuntimeDrops) {
  std::string message = std::string("\0\1\0\0", 4) + std::string("\0\0\0\1\2\0", 6);
  message.resize(10 + 65536, 'm');
  test_support::GoReader one_frame;
  one_frame.receive(frame(1, message));
  EXPECT_THAT(one_frame.broken(), HasSubstr("65546 bytes where 4096 fit"));

  std::string small_frames;
  for (std::size_t at = 0; at < message.size(); at += 200) {
    small_frames += frame(1, message.substr(at, 200));
  }
  test_support::GoReader queue;
  queue.receive(small_frames);
  EXPECT_THAT(queue.broken(), HasSubstr("256 frames"));

  test_support::GoReader good;
  good.receive(frame(1, message.substr(0, 4096)) + frame(1, message.substr(4096)));
  EXPECT_EQ(good.broken(), "");
  EXPECT_THAT(good.take_frame_sizes(), ElementsAre(4096, 61450));
}

}  // namespace
}  // namespace pinion::nri
