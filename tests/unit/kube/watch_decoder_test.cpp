#include "cluster/extender/kube/watch_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/known_objects.h"

namespace pinion::kube {
namespace {

using testing::HasSubstr;
using Kind = WatchEvent::Kind;

constexpr const char* kFive =
    "{\"type\":\"ADDED\",\"object\":{\"n\":1}}\n\r\n"
    "{\"object\":{\"n\":2},\"type\":\"MODIFIED\"}\r\n"
    "{\"type\":\"DELETED\",\"object\":{\"text\":\"a\\nb\"}}\n"
    "{\"type\":\"BOOKMARK\",\"object\":{}}\n"
    "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n{\"type\":";

std::string shown(const WatchEvent& event) {
  return std::to_string(static_cast<int>(event.kind)) + std::string(event.object.json);
}

// What is decoded from `text` in pieces of `size` bytes, with the error at the end.
std::vector<std::string> decoded(std::string_view text, std::size_t size,
                                 std::size_t max_line = WatchDecoder::kMaxLine) {
  WatchDecoder decoder(max_line);
  std::vector<std::string> result;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    const Status fed = decoder.feed(text.substr(0, size), [&](const WatchEvent& event) -> Status {
      result.push_back(shown(event));
      return {};
    });
    if (fed) continue;
    result.push_back(fed.error().text);
    break;
  }
  return result;
}

TEST(WatchDecoder, GivesTheSameEventsInAnySplit) {
  const auto whole = decoded(kFive, 100'000);
  EXPECT_THAT(whole, testing::ElementsAre("0{\"n\":1}", "1{\"n\":2}", "2{\"text\":\"a\\nb\"}",
                                          "3{}", "4{\"code\":410}"));
  for (std::size_t size = 1; size < 80; ++size) EXPECT_EQ(decoded(kFive, size), whole) << size;
}

TEST(WatchDecoder, KnowsWhetherALineIsOpen) {
  WatchDecoder decoder;
  const auto ignore = [](const WatchEvent&) { return Status(); };
  ASSERT_TRUE(decoder.feed(kFive, ignore));
  EXPECT_TRUE(decoder.within_line());
  ASSERT_TRUE(decoder.feed("\"ADDED\",\"object\":{}}\n", ignore));
  EXPECT_FALSE(decoder.within_line());
}

TEST(WatchDecoder, BoundsALine) {
  const std::string event = "{\"type\":\"ADDED\",\"object\":{}}";
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    EXPECT_THAT(decoded(event + "\n", size, event.size()), testing::ElementsAre("0{}"));
    EXPECT_THAT(decoded(event + "\n", size, event.size() - 1),
                testing::ElementsAre(HasSubstr("more than")));
  }
  WatchDecoder decoder(10);
  EXPECT_EQ(
      decoder.feed(std::string(11, ' '), [](const WatchEvent&) { return Status(); }).error().code,
      Errc::kExhausted);
}

struct WrongEvent {
  const char* name;
  const char* line;
  const char* says;
};

class WrongLines : public testing::TestWithParam<WrongEvent> {};

TEST_P(WrongLines, EndTheWatchAfterWhatWasGood) {
  const std::string good = "{\"type\":\"ADDED\",\"object\":{}}\n";
  const std::string text = good + GetParam().line + "\n" + good;
  for (const std::size_t size : {std::size_t{1}, std::size_t{10}, std::size_t{1000}}) {
    EXPECT_THAT(decoded(text, size), testing::ElementsAre("0{}", HasSubstr(GetParam().says)));
  }
  WatchDecoder decoder;
  const auto ignore = [](const WatchEvent&) { return Status(); };
  EXPECT_EQ(decoder.feed(text, ignore).error().code, Errc::kInvalid);
  EXPECT_FALSE(decoder.feed(good, ignore)) << "it does not find its way back";
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongLines,
    testing::Values(
        WrongEvent{"half", "{\"type\":\"ADDED\",\"obj", "broken JSON"},
        WrongEvent{"no_utf8", "\"\xff\"", "broken JSON"},
        WrongEvent{"number", "1", "body: not an object"},
        WrongEvent{"two", "{\"type\":\"ADDED\",\"object\":{}} {}", "broken JSON"},
        WrongEvent{"no_type", "{}", "type: unknown"},
        WrongEvent{"other_type", "{\"type\":\"added\",\"object\":{}}", "type: unknown"},
        WrongEvent{"type_no_text", "{\"type\":1,\"object\":{}}", "type: not a string"},
        WrongEvent{"no_object", "{\"type\":\"ADDED\"}", "object: missing"},
        WrongEvent{"object_null", "{\"type\":\"ADDED\",\"object\":null}", "not an object"},
        WrongEvent{"name_no_text", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":1}}}",
                   "object.metadata.name: not a string"}),
    [](const auto& tested) { return tested.param.name; });

TEST(WatchDecoder, GivesTheObjectsTextAndMetadata) {
  WatchDecoder decoder;
  std::string text;
  const Status fed = decoder.feed(
      "{\"type\":\"ADDED\",\"object\": {\"Metadata\":{\"name\":\"no\"},\"metadata\":{\"uid\":\"u\","
      "\"name\":\"a\\u0062\",\"namespace\":\"n\",\"resourceVersion\":\"7\"},\"x\":{\"name\":\"y\"}}"
      " }\n",
      [&](const WatchEvent& event) -> Status {
        EXPECT_EQ(event.object.name_space, "n");
        EXPECT_EQ(event.object.name, "ab");
        EXPECT_EQ(event.object.uid, "u");
        EXPECT_EQ(event.object.version, "7");
        text = event.object.json;
        return failure(Errc::kConflict, "not so");
      });
  EXPECT_THAT(text, testing::AllOf(testing::StartsWith("{\"Metadata\""),
                                   testing::EndsWith("\"x\":{\"name\":\"y\"}}")));
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().text, "not so") << "what is said of an event ends the watch";
}

TEST(WatchDecoder, KeepsNoMemoryOfALongLine) {
  const std::string event = R"({"type":"ADDED","object":{"text":")";
  const std::string line = event + std::string(8U << 20U, 'x') + "\"}}\n";
  const auto ignore = [](const WatchEvent&) { return Status(); };
  for (const std::size_t size : {line.size(), line.size() / 2}) {
    WatchDecoder decoder;
    ASSERT_TRUE(decoder.feed(line.substr(0, size), ignore));
    ASSERT_TRUE(decoder.feed(line.substr(size), ignore));
    EXPECT_LT(decoder.kept_bytes(), 1U << 20U) << size;
    ASSERT_TRUE(decoder.feed(event + "\"}}\n", ignore));
    EXPECT_GT(decoder.kept_bytes(), event.size());
  }
}

RawObject object(std::string_view name, std::string_view uid, std::string_view version) {
  return {.name_space = "n", .name = name, .uid = uid, .version = version, .json = {}};
}

TEST(KnownObjects, TellNewFromChangedFromTheSame) {
  KnownObjects known;
  known.begin_list();
  EXPECT_EQ(known.seen(object("a", "1", "10")).change, Change::kAdded);
  EXPECT_EQ(known.seen(object("a", "1", "10")).change, std::nullopt);
  EXPECT_EQ(known.seen(object("a", "1", "11")).change, Change::kModified);
  EXPECT_EQ(known.size(), 1U);
}

TEST(KnownObjects, TellThatAnOlderOneOfTheNameIsGone) {
  KnownObjects known;
  known.begin_list();
  EXPECT_FALSE(known.seen(object("a", "1", "10")).gone);
  const auto news = known.seen(object("a", "2", "20"));
  EXPECT_EQ(news.change, Change::kAdded);
  EXPECT_EQ(news.gone, (KnownObjects::Gone{.name_space = "n", .name = "a", .uid = "1"}));
  EXPECT_FALSE(known.deleted(object("a", "1", "15"))) << "too late";
  EXPECT_TRUE(known.deleted(object("a", "2", "21")));
  EXPECT_FALSE(known.deleted(object("a", "2", "21"))) << "twice";
}

TEST(KnownObjects, TellWhatAListDoesNotHaveAnyMore) {
  KnownObjects known;
  known.begin_list();
  known.seen(object("a", "1", "1"));
  known.seen(object("b", "2", "2"));
  EXPECT_TRUE(known.end_list().empty());
  known.begin_list();
  known.seen(object("a", "1", "1"));  // and this list is given up
  known.begin_list();
  known.seen(object("c", "3", "3"));
  known.seen(object("b", "2", "2"));
  const auto gone = known.end_list();
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].name, "a");
  EXPECT_EQ(known.size(), 2U);
}

}  // namespace
}  // namespace pinion::kube
