#include "cluster/extender/wire/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cluster/extender/wire/reader.h"
#include "tests/unit/extender_wire/captured.h"

namespace pinion::cluster::wire {
namespace {

FilterAsk three_names() {
  FilterAsk ask;
  ask.names = {"a", "b", "c"};
  return ask;
}

TEST(Answers, FilterByNames) {
  const FilterAnswer answer{.nodes = {0},
                            .failed = {{.node = 1, .reason = 0}},
                            .unresolvable = {{.node = 2, .reason = 1}},
                            .reasons = {"no hole", "never"},
                            .error = {}};
  EXPECT_EQ(to_json(answer, three_names()),
            R"({"NodeNames":["a"],"FailedNodes":{"b":"no hole"},)"
            R"("FailedAndUnresolvableNodes":{"c":"never"},"Error":""})");
}

TEST(Answers, FilterThatTakesNone) {
  EXPECT_EQ(to_json(FilterAnswer{}, three_names()),
            R"({"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
}

TEST(Answers, FilterByObjectsEchoesThem) {
  const std::string text = captured("filter_objects");
  Reader reader;
  const auto ask = reader.filter(text);
  ASSERT_TRUE(ask) << ask.error().text;
  FilterAnswer answer;
  for (std::size_t i = 0; i < ask->names.size(); ++i) answer.nodes.push_back(i);
  const std::string json = to_json(answer, *ask);
  const std::string items = text.substr(text.find(R"("items":)"));
  EXPECT_THAT(json, testing::StartsWith(R"({"Nodes":{"metadata":{},)" +
                                        items.substr(0, items.find("]},\"NodeNames\"") + 2)));
  EXPECT_EQ(nlohmann::json::parse(json)["Nodes"]["items"],
            nlohmann::json::parse(text)["Nodes"]["items"]);
}

TEST(Answers, FilterErrorStandsAlone) {
  EXPECT_EQ(to_json(FilterAnswer{.nodes = {0}, .error = "not ready"}, three_names()),
            R"({"Error":"not ready"})");
}

TEST(Answers, ScoresAreClamped) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(to_json(PrioritizeAnswer{{most, -1}}, three_names()),
            R"([{"Host":"a","Score":10},{"Host":"b","Score":0},{"Host":"c","Score":0}])");
  EXPECT_EQ(to_json(PrioritizeAnswer{{7}}, FilterAsk{}), "[]");
}

TEST(Answers, Bind) {
  EXPECT_EQ(to_json(BindAnswer{}), R"({"Error":""})");
  EXPECT_EQ(to_json(BindAnswer{"gang of 4: \"x\" left"}), R"({"Error":"gang of 4: \"x\" left"})");
}

TEST(Answers, PreemptByUids) {
  EXPECT_EQ(
      to_json(PreemptAnswer{{{"a", {"1", "2"}, 3}, {"b", {}, 0}}}),
      R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"1"},{"UID":"2"}],"NumPDBViolations":3},)"
      R"("b":{"Pods":[],"NumPDBViolations":0}}})");
  EXPECT_EQ(to_json(PreemptAnswer{}), R"({"NodeNameToMetaVictims":{}})");
}

// Whatever a text holds: control characters, halves of characters, surrogates.
TEST(Answers, AreValidUtf8) {
  const auto error = [](const std::string& text) {
    return nlohmann::json::parse(to_json(BindAnswer{text}))["Error"].get<std::string>();
  };
  EXPECT_EQ(error(std::string("\0\x01\n\t\x7f", 5)), std::string("\0\x01\n\t\x7f", 5));
  for (char c = 0; c < 0x7F; ++c) EXPECT_EQ(error({'a', c, 'z'}), (std::string{'a', c, 'z'}));
  EXPECT_EQ(error("\u00e9\U0001F600"), "\u00e9\U0001F600");
  EXPECT_EQ(error("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(error("a\xC3"), "a\uFFFD");
  EXPECT_THAT(error("a\xED\xA0\x80z"), testing::StartsWith("a\uFFFD"));
}

TEST(Answers, ANodeThatWasNotAskedAboutIsADefect) {
  EXPECT_THROW((void)to_json(FilterAnswer{.nodes = {3}}, three_names()), std::out_of_range);
  EXPECT_THROW((void)to_json(FilterAnswer{.failed = {{0, 0}}}, three_names()), std::out_of_range);
}

}  // namespace
}  // namespace pinion::cluster::wire
