#include "nri-plugin/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pinion::nri {
namespace {

using Table = std::map<std::string, std::string>;

Result<std::optional<Launch>> read(const Table& table) {
  return read_launch([&table](const char* name) {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, FromTheRuntimesEnvironment) {
  const auto launch =
      read({{"NRI_PLUGIN_SOCKET", "3"}, {"NRI_PLUGIN_NAME", "pinion"}, {"NRI_PLUGIN_IDX", "07"}});
  ASSERT_TRUE(launch && *launch);
  EXPECT_EQ(**launch, (Launch{.fd = 3, .name = "pinion", .index = "07"}));
}

TEST(Launch, WithoutASocketItIsNone) {
  const auto launch = read({{"NRI_PLUGIN_NAME", "pinion"}});
  ASSERT_TRUE(launch);
  EXPECT_FALSE(*launch);
}

TEST(Launch, NameAndIndexMayBeAbsent) {
  const auto launch = read({{"NRI_PLUGIN_SOCKET", "12"}});
  ASSERT_TRUE(launch && *launch);
  EXPECT_EQ(**launch, (Launch{.fd = 12, .name = "", .index = ""}));
}

TEST(Launch, SocketMustBeANumber) {
  for (const char* text : {"", "x", "3x", "-1", " 3", "99999999999", "3.0"}) {
    const auto launch = read({{"NRI_PLUGIN_SOCKET", text}});
    ASSERT_FALSE(launch) << text;
    EXPECT_THAT(launch.error().text, testing::HasSubstr("NRI_PLUGIN_SOCKET"));
  }
}

}  // namespace
}  // namespace pinion::nri
