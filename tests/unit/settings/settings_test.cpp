#include "base/settings/settings.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/tree.h"

namespace pinion::settings {
namespace {

using namespace std::chrono_literals;

struct Values {
  std::string name = "n";
  std::string clientCA;
  std::string level = "low";
  std::chrono::milliseconds time{1500};
  int port = 80;
  bool on = false;
};

std::vector<Setting> table(Values& values) {
  return {text("name", "A name [n]", values.name),
          text("clientCA", "A file", values.clientCA),
          word("level", "low | high [low]", values.level, {"low", "high"}),
          duration("waitTime", "A time [1500ms]", values.time, 100ms, 2min),
          number("port", "A port [80]", values.port, 1, 65535),
          yes_no("on", "A switch [false]", values.on)};
}

TEST(Settings, FlagsWinOverTheFile) {
  const test_support::TempDir directory;
  const std::string path = directory.path() / "conf.yaml";
  std::ofstream(path) << "name: from-file\nwaitTime: 5s\non: 'true'\n";
  Values values;
  const std::vector<const char*> argv{"p",           "--config", path.c_str(), "--name",
                                      "from-flag",   "--port",   "8080",       "--client-ca",
                                      "/etc/ca.pem", "--level",  "high"};
  const auto done =
      read(static_cast<int>(argv.size()), argv.data(), {"p", "about", "1"}, table(values));
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_FALSE(done->exit_code);
  EXPECT_EQ(values.name, "from-flag");
  EXPECT_EQ(values.time, 5s);
  EXPECT_TRUE(values.on);
  EXPECT_EQ(values.port, 8080);
  EXPECT_EQ(values.clientCA, "/etc/ca.pem");
  EXPECT_EQ(values.level, "high");
}

TEST(Settings, NoTimeIsATimeWhereItMayBe) {
  for (const char* text : {"0", "0s", "0ms", "0m"}) {
    std::chrono::milliseconds value = 7s;
    const Setting setting = duration("waitTime", "A time [7s]", value, 0s, 1min);
    const Status done = setting.set(text);
    EXPECT_TRUE(done) << text << ": " << done.error().text;
    EXPECT_EQ(value, 0s) << text;
    EXPECT_EQ(setting.show(), "0s");
    EXPECT_FALSE(setting.set("0d"));
  }
}

TEST(Settings, WhatIsShownIsReadBackAsItWas) {
  Values values;
  values.name = "it's: # strange";
  values.time = 250ms;
  values.on = true;
  const std::string text = to_yaml(table(values));
  Values again;
  const Status done = read_yaml(text, table(again));
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(again.name, values.name);
  EXPECT_EQ(again.time, values.time);
  EXPECT_TRUE(again.on);
  EXPECT_EQ(to_yaml(table(again)), text);
}

// As a disk leaves it that lost power: no default may come of it.
TEST(Settings, BytesOfZeroAreNoEmptyFile) {
  Values values;
  const Status done = read_yaml(std::string(512, '\0'), table(values));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text, "line 1: a control character");
}

TEST(Settings, WhichKeysHaveChanged) {
  struct Case {
    const char* name;
    const char* before;
    const char* after;
    std::vector<std::string> keys;
  };
  const Case cases[] = {
      {"nothing", "a: 1\nb: 2\n", "a: 1\nb: 2\n", {}},
      {"a value", "a: 1\nb: 2\n", "a: 1\nb: 3\n", {"b"}},
      {"one more", "a: 1\n", "a: 1\nb: 2\n", {"b"}},
      {"one less", "a: 1\nb: 2\n", "b: 2\n", {"a"}},
      {"another order", "a: 1\nb: 2\n", "b: 2\na: 1\n", {}},
      {"an entry of a map", "m:\n  x: 1\n  y: 2\n", "m:\n  x: 1\n  y: 3\n", {"m: y"}},
      {"a list in it",
       "m:\n  - n: 0\n    l:\n      k: 1\n",
       "m:\n  - n: 0\n    l:\n      k: 2\n",
       {"m"}},
      {"a key with the other's beginning", "ab: 1\n", "a: 1\n", {"a", "ab"}},
      {"all", "", "a: 1\n", {"a"}},
      {"no YAML", "a\n: \n  \n", "", {""}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(changed_keys(c.before, c.after), c.keys);
  }
}

struct Bad {
  const char* name;
  const char* text;
  const char* error;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class BadFile : public testing::TestWithParam<Bad> {};

TEST_P(BadFile, IsRefusedWithTheLine) {
  Values values;
  const Status done = read_yaml(GetParam().text, table(values));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kInvalid);
  EXPECT_EQ(done.error().text, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadFile,
    testing::Values(
        Bad{"unknown_key", "name: a\nnames: b\n", "line 2: unknown key 'names'"},
        Bad{"twice", "name: a\nname: b\n", "line 2: name: set twice"},
        Bad{"no_text", "name: a\n\x01\x01", "line 2: a control character"},
        Bad{"no_utf8", "name: a\nb: \xff{\n", "line 2: no UTF-8"},
        Bad{"no_map", "- a\n", "expected a map of settings"},
        Bad{"a_list", "name: [a]\n",
            "line 1: name: expected a single value: several go in one text, with commas"},
        Bad{"two_lines", "name: \"a\\nb\"\n", "line 1: name: a control character in it"},
        Bad{"word", "level: middle\n",
            "line 1: level: unknown value 'middle', use one of: low, high"},
        Bad{"no_time", "waitTime: 5\n",
            "line 1: waitTime: '5' is not a duration such as 500ms, 10s, 5m or 2h"},
        Bad{"time_below_none", "waitTime: -1s\n",
            "line 1: waitTime: '-1s' is not a duration such as 500ms, 10s, 5m or 2h"},
        Bad{"no_time_at_all", "waitTime: 0\n", "line 1: waitTime: '0' is not between 100ms and 2m"},
        Bad{"time_too_long", "waitTime: 5m\n",
            "line 1: waitTime: '5m' is not between 100ms and 2m"},
        Bad{"port", "port: 0\n", "line 1: port: '0' is not a number from 1 to 65535"},
        Bad{"no_number", "port: 80a\n", "line 1: port: '80a' is not a number from 1 to 65535"},
        Bad{"switch", "on: yes\n", "line 1: on: 'yes' is neither true nor false"}),
    [](const auto& one) { return one.param.name; });

TEST(Settings, ErrorsNameTheFlagAndTheFile) {
  Values values;
  const std::vector<const char*> argv{"p", "--wait-time", "1"};
  const auto flag = read(3, argv.data(), {"p", "about", "1"}, table(values));
  ASSERT_FALSE(flag);
  EXPECT_TRUE(flag.error().text.starts_with("--wait-time: '1' is not")) << flag.error().text;
  const std::vector<const char*> missing{"p", "--config", "/nowhere/conf.yaml"};
  const auto file = read(3, missing.data(), {"p", "about", "1"}, table(values));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kNotFound);
  EXPECT_NE(file.error().text.find("/nowhere/conf.yaml"), std::string::npos);
}

}  // namespace
}  // namespace pinion::settings
