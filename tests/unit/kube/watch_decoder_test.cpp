#include "cluster/extender/kube/watch_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/known_objects.h"

namespace pinion::kube {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Kind = WatchEvent::Kind;

constexpr const char* kFive =
    "{\"type\":\"ADDED\",\"object\":{\"n\":1}}\n\r\n"
    "{\"object\":{\"n\":2},\"type\":\"MODIFIED\"}\r\n"
    "{\"type\":\"DELETED\",\"object\":{\"text\":\"a\\nb\"}}\n"
    "{\"type\":\"BOOKMARK\",\"object\":{}}\n"
    "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n{\"type\":";

std::string shown(const WatchEvent& event) {
  return std::to_string(static_cast<int>(event.kind)) + event.object.dump();
}

// What is decoded from `text` in pieces of `size` bytes, with the error at the end.
std::vector<std::string> decoded(std::string_view text, std::size_t size,
                                 std::size_t max_line = WatchDecoder::kMaxLine) {
  WatchDecoder decoder(max_line);
  std::vector<std::string> result;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    const Status fed = decoder.feed(
        text.substr(0, size), [&](const WatchEvent& event) { result.push_back(shown(event)); });
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
  const auto ignore = [](const WatchEvent&) {};
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
  EXPECT_EQ(decoder.feed(std::string(11, ' '), [](const WatchEvent&) {}).error().code,
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
  const auto ignore = [](const WatchEvent&) {};
  EXPECT_EQ(decoder.feed(text, ignore).error().code, Errc::kInvalid);
  EXPECT_FALSE(decoder.feed(good, ignore)) << "it does not find its way back";
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongLines,
    testing::Values(WrongEvent{"half", "{\"type\":\"ADDED\",\"obj", "no JSON"},
                    WrongEvent{"no_utf8", "\"\xff\"", "no JSON"},
                    WrongEvent{"number", "1", "unknown type"},
                    WrongEvent{"no_type", "{}", "unknown type"},
                    WrongEvent{"other_type", "{\"type\":\"added\",\"object\":{}}", "unknown type"},
                    WrongEvent{"type_no_text", "{\"type\":1,\"object\":{}}", "unknown type"},
                    WrongEvent{"no_object", "{\"type\":\"ADDED\"}", "no object"},
                    WrongEvent{"object_null", "{\"type\":\"ADDED\",\"object\":null}", "no object"}),
    [](const auto& tested) { return tested.param.name; });

json object(const std::string& name, const std::string& uid, const std::string& version) {
  return {{"metadata",
           {{"namespace", "n"}, {"name", name}, {"uid", uid}, {"resourceVersion", version}}}};
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
  EXPECT_EQ(news.gone, json({{"metadata", {{"namespace", "n"}, {"name", "a"}, {"uid", "1"}}}}));
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
  EXPECT_EQ(gone[0].at("metadata").at("name"), "a");
  EXPECT_EQ(known.size(), 2U);
}

}  // namespace
}  // namespace pinion::kube
