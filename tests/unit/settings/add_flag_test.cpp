// A daemon's setting as an option of another program.
#include "base/settings/add_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::settings {
namespace {

struct Given {
  std::string error;  // empty: none
  int port = 80;
  bool on = false;
};

Given parse(std::vector<std::string> arguments) {
  Given given;
  CLI::App app;
  add_flag(app, number("metricsPort", "A port [80]", given.port, 1, 65535));
  add_flag(app, {.key = {},
                 .help = "A switch",
                 .set = [&given](const std::string& value) -> Status {
                   given.on = value == "true";
                   return {};
                 },
                 .show = {},
                 .flag = "--on"});
  try {
    app.parse(std::move(arguments));  // last one first
  } catch (const CLI::ParseError& error) {
    given.error = error.what();
  }
  return given;
}

TEST(AddFlag, TakesWhatTheDaemonTakes) {
  const Given nothing = parse({});
  EXPECT_EQ(nothing.port, 80);
  EXPECT_FALSE(nothing.on);
  const Given both = parse({"--on", "8080", "--metrics-port"});
  EXPECT_EQ(both.error, "");
  EXPECT_EQ(both.port, 8080);
  EXPECT_TRUE(both.on);
}

TEST(AddFlag, WhatTheDaemonRefusesIsWrongUsage) {
  EXPECT_THAT(parse({"0", "--metrics-port"}).error,
              testing::StartsWith("--metrics-port: '0' is not a number from 1 to 65535"));
}

}  // namespace
}  // namespace pinion::settings
